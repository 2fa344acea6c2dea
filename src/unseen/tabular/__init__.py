"""Tables keyed by information set: regrets and averages, regret matching, strategies and their files."""
