"""The errors that people see: one sentence each, naming the argument, its value and what is allowed."""

from __future__ import annotations

from typing import Any


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


class AgentFault(UnseenError):
    """An agent raised an exception, answered with what is no strategy, or took too long; the message names it and the history.

    `fault` is the same as data, `details` the agent's traceback.
    """

    def __init__(self, sentence: str, details: str = "", fault: Any = None) -> None:
        super().__init__(sentence)
        self.details, self.fault = details, fault
