"""The errors that people see: one sentence each, naming the argument, its value and what is allowed."""

from __future__ import annotations

import re
from typing import Any

LONGEST_VALUE = 240
"""Characters of a quoted value, and of a word that is not quoted, in a message."""
LONGEST_WORD = 400
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)|\S{401,}""", re.DOTALL)


def shortened(sentence: str) -> str:
    """A message whose quoted values and words are short: of those that are too long the middle is left out."""
    return _QUOTED.sub(_without_middle, sentence)


def _without_middle(found: re.Match[str]) -> str:
    text = found[0]
    most = LONGEST_VALUE if text[0] in "'\"" else LONGEST_WORD
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


class UnseenError(ValueError):
    """Something a user asked for cannot be done as asked. The command line prints it and exits with code 2.

    The sentence may echo what the user wrote: values that are very long are shortened here, for all messages.
    """

    def __str__(self) -> str:
        return shortened(super().__str__())


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


def how_to_get(extra: str) -> str:
    """What brings the packages of an optional part. There is no release yet, so it is a checkout that is installed."""
    more = " (a CPU build of PyTorch is enough)" if extra == "learn" else ""
    return f'in a checkout of Unseen, pip install -e ".[{extra}]" brings it{more}'
