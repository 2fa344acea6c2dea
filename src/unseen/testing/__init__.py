"""The conformance kit: is this class a proper game? `check_game(game)` says what is wrong and where it shows first."""

from unseen.testing.conformance import check_game, find_faults
from unseen.testing.report import Fault, Report

__all__ = ["Fault", "Report", "check_game", "find_faults"]
