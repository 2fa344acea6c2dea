"""One way to declare an option: its default, bounds or choices and a word of help, said once, on the class that it is an option of.

Games, search rules, minimisers, solvers, searches and agents are `Declared`::

    class Exp3(Rule):
        gamma: float = parameter(0.1, above=0.0, maximum=1.0, help="the even part of every choice")

Instances are made from keyword arguments, which are checked; compiled methods read them as `self.gamma`. A word is a number to
compiled code: its place among the `choices`. A subclass gives another default by assigning it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from unseen.errors import UnseenError

Value = int | bool | float | str


class Parameter:
    """A number, yes or no, one of several words, or any (for agents only): its default, bounds and a word of help."""

    def __init__(
        self, default: Value, minimum: float | None = None, maximum: float | None = None, help: str = "",
        choices: tuple[str, ...] = (), above: float | None = None, words: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.default = default
        self.minimum = minimum
        self.maximum = maximum
        self.above = above
        """The number that it must be more than; instead of `minimum`."""
        self.help = help
        self.choices = choices
        self.words = words
        """Words that it may be instead of a number from `minimum` to `maximum`; not for compiled code."""

    @property
    def kind(self) -> type:
        """The type that compiled code sees."""
        return int if self.choices else float if self.words else type(self.default)

    @property
    def allowed(self) -> str:
        """What the parameter may be, in words."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "a word or a path"
        number = "a number" if self.kind is float else "a whole number"
        if self.words:
            number = f"{', '.join(self.words)}, or {number}"
        if self.above is not None:
            return f"{number} above {self.above:g}" + (f" and up to {self.maximum:g}" if self.maximum is not None else "")
        if self.minimum is None and self.maximum is None:
            return number
        if self.maximum is None:
            return f"{number}, at least {self.minimum:g}"
        if self.minimum is None:
            return f"{number}, at most {self.maximum:g}"
        return f"{number} from {self.minimum:g} to {self.maximum:g}"

    def with_default(self, default: Value) -> Parameter:
        """The same parameter with another default."""
        return Parameter(default, self.minimum, self.maximum, self.help, self.choices, self.above, self.words)

    def read(self, owner: str, name: str, value: Any) -> Any:
        """`value` as compiled code sees this parameter, or an error that says what is allowed."""
        if self.choices and value in self.choices:
            return self.choices.index(value)
        if value in self.words or (self.kind is str and isinstance(value, str)):
            return value
        if self.kind is float and not isinstance(value, bool):
            with contextlib.suppress(TypeError, ValueError):
                value = float(value)
        is_bool, is_whole = isinstance(value, (bool, np.bool_)), isinstance(value, (int, np.integer))
        if self.kind is float:
            fits_kind = isinstance(value, float)
        else:
            fits_kind = (is_bool or (is_whole and value in (0, 1))) if self.kind is bool else (is_whole and not is_bool)
        fits_kind = fits_kind and self.kind is not str
        if fits_kind and not self.choices:
            number = self.kind(value)
            least = -(2**63) if self.minimum is None else self.minimum
            most = (np.inf if self.kind is float else 2**63 - 1) if self.maximum is None else self.maximum
            if least <= number <= most and (self.above is None or number > self.above):
                return number
        raise UnseenError(f"{owner}: parameter {name} is {value!r}, but must be {self.allowed}.")

    def shown(self, value: Any) -> Any:
        """A value that compiled code sees, for people."""
        return self.choices[value] if self.choices else value


def parameter(
    default: Value, *, minimum: float | None = None, maximum: float | None = None, help: str = "", choices: tuple[str, ...] = (),
    above: float | None = None, words: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    """Declare a parameter with bounds: `cards: int = parameter(3, minimum=2, maximum=500, help="cards in the deck")`.

    Or with named values: `order: Any = parameter("shuffled", choices=("sorted", "shuffled"))`; rules see `self.order` as 0 or 1.

    - `default`: its value if nobody gives another, which also says its type: bool, int or float.
    - `minimum`, `maximum`: bounds that it may be equal to; `above`: one that it must exceed.
    - `choices`: the words that it can be, if it is one; `words`: those that it can be instead of a number.
    - `help`: what people read about it.
    """
    return Parameter(default, minimum, maximum, help, choices, above, words)


def with_defaults(declared: Mapping[str, Parameter], changed: Mapping[str, Value]) -> dict[str, Parameter]:
    """The same parameters, some of them with other defaults."""
    return {name: p.with_default(changed[name]) if name in changed else p for name, p in declared.items()}


def read_all(owner: str, declared: Mapping[str, Parameter], given: Mapping[str, Any], word: str = "parameter") -> dict[str, Any]:
    """The value of every parameter, as people write it: what is `given`, which must be declared and allowed, or the default."""
    for name in given:
        if name not in declared:
            is_brief = word == "parameter"
            have = ", ".join(f"{n} (default {p.default})" if is_brief else n for n, p in declared.items()) or "none"
            raise UnseenError(f"{owner}: there is no {word} {name!r}; the {word}s are: {have}.")
    return {name: p.shown(p.read(owner, name, given.get(name, p.default))) for name, p in declared.items()}


class Declared:
    """Base of classes that are made from declared parameters."""

    parameters: ClassVar[dict[str, Parameter]] = {}
    compiled_fields: ClassVar[dict[str, type]] = {}
    """The attributes that compiled methods read, with their types."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited = cls.parameters
        cls.parameters = dict(inherited)
        for name, value in list(vars(cls).items()):
            if isinstance(value, Parameter) or cls.is_shorthand(name, value):
                if name not in inherited and not cls.may_be_called(name):
                    raise UnseenError(
                        f"{cls.__name__}: a parameter cannot be called {name!r}; every such class has an attribute of that name."
                    )
                cls.parameters[name] = value if isinstance(value, Parameter) else Parameter(value)
            elif name in inherited:
                inherited[name].read(cls.__name__, name, value)
                cls.parameters[name] = inherited[name].with_default(value)
        cls.compiled_fields = {name: p.kind for name, p in cls.parameters.items()}

    @classmethod
    def is_shorthand(cls, name: str, value: Any) -> bool:
        """Whether an attribute of the class is a parameter though it is not written as one."""
        return False

    @classmethod
    def may_be_called(cls, name: str) -> bool:
        """Whether a new parameter may have this name: a number that all such classes have may become one, a method may not."""
        taken = [vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)]
        return all(isinstance(value, (bool, int, float)) for value in taken)

    @property
    def label(self) -> str:
        """What to call it in a message."""
        return type(self).__name__

    def __init__(self, **parameters: Value) -> None:
        known = type(self).parameters
        for name, value in read_all(self.label, known, parameters).items():
            self.__dict__[name] = known[name].read(self.label, name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The parameters by name, as people write them."""
        return {name: declared.shown(getattr(self, name)) for name, declared in type(self).parameters.items()}

    @classmethod
    def pick(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of `options` that are parameters of this class."""
        return {name: options[name] for name in cls.parameters if name in options}

    @classmethod
    def made_from(cls, options: Mapping[str, Any]) -> Self:
        """One made from those of `options` that are its parameters."""
        return cls(**cls.pick(options))
