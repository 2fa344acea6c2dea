"""The conformance kit: is this class a proper game? `check_game(game)` says what is wrong and where it shows first."""

from unseen.testing.conformance import Fault, Report, check_game, find_faults

__all__ = ["Fault", "Report", "check_game", "find_faults"]
