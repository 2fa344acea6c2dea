"""The errors that people see: one sentence each, naming the argument, its value and what is allowed."""

from __future__ import annotations


class UnseenError(ValueError):
    """Something a user asked for cannot be done as asked. The command line prints it and exits with code 2."""


class RuleError(UnseenError):
    """A rule of a game does not compile or raised an exception. `details` is what the compiler said."""

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details


class GameFault(UnseenError):
    """A game breaks the protocol; the message names the history at which it shows."""


class StrategyFileError(UnseenError):
    """A strategy file is corrupt, foreign or belongs to another game."""


class BeliefTooLarge(UnseenError):
    """A belief has more states than its cap, so that only checking tokens one by one is possible."""
