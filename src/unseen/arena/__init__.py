"""Agents, the referee, matches, and the honest measure of a searching player."""
