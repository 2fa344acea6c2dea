"""Exact values: the sequence form, best responses, exploitability and equilibria."""
