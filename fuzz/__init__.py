"""Fuzzers: what a hostile or unlucky user could do, thousands of times, from a seed. `python -m fuzz` runs all of them.

A fuzzer is a module here with `run(minutes, seed)`, which returns how often it tried and what went wrong, by name, in a dictionary:
`tried` first, then counts that should all be 0. It prints each finding as it is made.
"""
