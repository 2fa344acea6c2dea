"""Offline solvers: the counterfactual regret family on the sequence form, and its sampling relatives on the game itself."""
