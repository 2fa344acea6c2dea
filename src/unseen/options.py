"""One way to declare an option: a default, bounds or choices, and a word of help, said once."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from unseen.errors import UnseenError


class Parameter:
    """A whole number, yes or no, or one of several words that a game is made with: its default, bounds and a word of help.

    Rules see a word as its place among the `choices`. Agents have such parameters too, and theirs may be any number.
    """

    def __init__(
        self, default: int | bool | float | str, minimum: float | None = None, maximum: float | None = None, help: str = "",
        choices: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.default = default
        self.minimum = minimum
        self.maximum = maximum
        self.help = help
        self.choices = choices

    @property
    def kind(self) -> type:
        """The type that rules see."""
        return int if self.choices else type(self.default)

    @property
    def allowed(self) -> str:
        """What the parameter may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        number = "a number" if self.kind is float else "a whole number"
        if self.minimum is None and self.maximum is None:
            return number
        if self.maximum is None:
            return f"{number}, at least {self.minimum}"
        if self.minimum is None:
            return f"{number}, at most {self.maximum}"
        return f"{number} from {self.minimum} to {self.maximum}"

    def with_default(self, default: int | bool | float | str) -> Parameter:
        """The same parameter with another default."""
        return Parameter(default, self.minimum, self.maximum, self.help, self.choices)

    def read(self, owner: str, name: str, value: Any) -> Any:
        """`value` as rules see this parameter, or an error that says what is allowed."""
        if self.choices and value in self.choices:
            return self.choices.index(value)
        if self.kind is float and not isinstance(value, bool):
            with contextlib.suppress(TypeError, ValueError):
                value = float(value)
        is_bool, is_whole = isinstance(value, (bool, np.bool_)), isinstance(value, (int, np.integer))
        if self.kind is float:
            fits_kind = isinstance(value, float)
        else:
            fits_kind = (is_bool or (is_whole and value in (0, 1))) if self.kind is bool else (is_whole and not is_bool)
        if fits_kind and not self.choices:
            number = self.kind(value)
            least = -(2**63) if self.minimum is None else self.minimum
            most = 2**63 - 1 if self.maximum is None else self.maximum
            if least <= number <= most:
                return number
        raise UnseenError(f"{owner}: parameter {name} is {value!r}, but must be {self.allowed}.")

    def shown(self, value: Any) -> Any:
        """A value that rules see, for people."""
        return self.choices[value] if self.choices else value


def parameter(
    default: int | bool | str, *, minimum: int | None = None, maximum: int | None = None, help: str = "",
    choices: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    """Declare a parameter with bounds: `cards: int = parameter(3, minimum=2, maximum=500, help="cards in the deck")`.

    Or with named values: `order: Any = parameter("shuffled", choices=("sorted", "shuffled"))`; rules see `self.order` as 0 or 1.
    """
    return Parameter(default, minimum, maximum, help, choices)
