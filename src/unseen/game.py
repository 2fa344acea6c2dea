"""What a game is: a plain Python class with parameters, a NumPy record as state, and six rules.

::

    class Coin(Game):
        '''One player hides a coin, the other guesses.'''

        sides: int = parameter(2, minimum=2, maximum=6, help="sides of the coin")
        state = np.dtype([("moves", "i1"), ("hidden", "i1"), ("guess", "i1")])
        max_length = 2

        @property
        def num_actions(self): return self.sides

        def start(self, s): ...              # write the first state into s
        def player(self, s): ...             # whose move it is: 0, 1, CHANCE or TERMINAL
        def actions(self, s, out): ...       # write the legal actions, ascending, into out; return how many
        def apply(self, s, a, tell): ...     # play a: change s; tell[0], tell[1], tell[PUBLIC] = what each is told (0 = nothing)
        def utility(self, s, who): ...       # at the end: the payoff of player who
        def chance(self, s, a, n): ...       # only if outcomes are not equally likely: the probability of a, one of n

The rules run as plain Python (in a `Position`, in a debugger) and are compiled when an algorithm takes the game. They may call
further methods of the class and functions marked `@unseen.piece`; they read parameters as `self.sides`.

A player's *information* is what it was told: the engine appends its own actions and the tokens it gets to its
action-observation history, and an information set is the set of histories at which it has seen the same. Tokens are
positive integers that mean whatever the game likes; 0 is silence. The state should hold only what the future depends on, so that
two ways to the same future give equal records.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unseen import html
from unseen.compiling import JIT_DISABLED, Compiled
from unseen.errors import UnseenError
from unseen.options import Declared, Value

CHANCE = -1
TERMINAL = -2
PUBLIC = 2
"""The viewer that sees public tokens only; also the place of the public token in `tell`."""

MAX_TOKEN = 2**31 - 1
DECLARED = {"num_actions": (1, 1 << 24), "num_outcomes": (0, 1 << 24), "max_length": (1, 1 << 24)}
"""The numbers that a class declares, and the least and the most that each may be."""
_NOT_PARAMETERS = ("num_actions", "num_outcomes", "max_length", "simultaneous", "name", "is_tried", "encoding_size")


class PlainState:
    """A state for plain Python: an attribute for each field of the record, a Python number or an array of 64-bit ones.

    Compiled code computes in 64 bits and cuts off only when it stores; NumPy scalars would overflow while computing. Here
    nothing is cut off, so that a value too large for its field shows as a difference between plain and compiled rules.
    """

    __slots__: tuple[str, ...] = ()
    dtype: ClassVar[np.dtype[Any]]

    def __init__(self) -> None:
        for name in self.__slots__:
            shape, kind = self.dtype[name].shape, _wide(self.dtype[name].base)
            setattr(self, name, np.zeros(shape, kind) if shape else 0)

    def copy(self) -> PlainState:
        """A state of its own with the same values."""
        other = object.__new__(type(self))
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(other, name, value.copy() if isinstance(value, np.ndarray) else value)
        return other

    def values(self) -> dict[str, Any]:
        """Each field as plain numbers."""
        return {name: np.asarray(getattr(self, name)).tolist() for name in self.__slots__}

    def write(self, record: NDArray[Any]) -> None:
        """Store the values in a record array of length 1, cut to the types of its fields."""
        for name in self.__slots__:
            record[name][0] = cut(getattr(self, name), record.dtype[name].base)

    def read(self, record: Any) -> None:
        """Take the values of a record that compiled code has written."""
        for name in self.__slots__:
            kind = self.dtype[name]
            setattr(self, name, np.array(record[name], _wide(kind.base)) if kind.shape else record[name].item())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.values().items())})"


def cut(value: Any, kind: np.dtype[Any]) -> NDArray[Any]:
    """A value of plain Python as compiled code stores it in a field of type `kind`."""
    array = np.asarray(value)
    if array.dtype == object:  # an integer beyond 64 bits
        array = np.asarray(np.bitwise_and(array, 2**64 - 1), np.uint64)
    return array.astype(kind)


def plain_state_class(owner: str, dtype: np.dtype[Any]) -> type[PlainState]:
    """The `PlainState` with the fields of `dtype`. A misspelt field is an error, as it is in compiled code."""
    return type(f"{owner}State", (PlainState,), {"__slots__": dtype.names, "dtype": dtype})


class Game(Declared, Compiled):
    """A two-player zero-sum game of hidden information. See the module's text for how to write one."""

    name: ClassVar[str] = "game"
    simultaneous: ClassVar[bool] = False
    """True if players 0 and 1 always choose together: 0 moves, then 1, and nobody is told anything in between."""
    uniform_chance: ClassVar[bool] = True
    """Whether all chance outcomes are equally likely, i.e. whether `chance` is not overridden."""
    predetermined: ClassVar[bool] = False
    """Whether chance has chosen before and is only shown later, as with a shuffled pack: outcomes come in an order that is fixed.

    A hint: algorithms that look at a game as if nothing were hidden then look at one order at a time.
    """
    error_horizon: ClassVar[int] = 0
    """In how many moves of players an opponent's errors should count for presumed payoffs; 0: in all. A hint, for long games."""
    lays_open: ClassVar[bool] = False
    """Whether `lay_open` is written."""
    has_knowledge: ClassVar[bool] = False
    """Whether `knowledge` is written."""
    knows_most: ClassVar[bool] = False
    """Whether `most` is written."""
    has_rounds: ClassVar[bool] = False
    """Whether `between_rounds` is written."""
    knows_bits: ClassVar[bool] = False
    """Whether `bits` is written, and `actions` not rewritten since."""
    encodes: ClassVar[bool] = False
    """Whether `encode` is written."""
    plain_state: ClassVar[type[PlainState]]
    """The class of states that the rules see when they run as plain Python."""

    trial: ClassVar[Callable[[Game], None] | None] = None
    """What plays a few games in plain Python, and raises if they show a fault (`position.try_out`)."""
    is_tried: bool = False

    state: ClassVar[np.dtype[Any]]
    if TYPE_CHECKING:  # numbers or properties, as a game likes: to a type checker either may stand in for a property

        @property
        def num_actions(self) -> int:
            """The players' actions are numbers in [0, num_actions)."""
            raise NotImplementedError

        @property
        def max_length(self) -> int:
            """The most moves of a game, those of chance among them."""
            raise NotImplementedError

        @property
        def num_outcomes(self) -> int:
            """Chance outcomes are numbers in [0, num_outcomes)."""
            raise NotImplementedError

        @property
        def encoding_size(self) -> int:
            """How many numbers `encode` writes. None unless a game says so."""
            raise NotImplementedError

        @property
        def chance_fields(self) -> tuple[str, ...]:
            """Fields of the state that are chance's alone, in a game of rounds: an outcome of chance, then a joint move.

            Outcomes and how likely they are go by these fields alone, and nothing but an outcome changes them. The players'
            actions, and what a joint move makes of the other fields once `reduced` has written them, go by the other fields alone;
            what is won may also go by the outcome. A hint: exact values are then computed for all pairs of both at once. None
            unless a game says so.
            """
            raise NotImplementedError

    else:
        num_outcomes, encoding_size, chance_fields = 0, 0, ()
    origin: str | None = None
    """Where the class was loaded from, for a game in a user's own file: `path/to/file.py:ClassName`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        cls.uniform_chance = cls.chance is Game.chance
        cls.lays_open, cls.has_knowledge = cls.lay_open is not Game.lay_open, cls.knowledge is not Game.knowledge
        cls.knows_most, cls.has_rounds = cls.most is not Game.most, cls.between_rounds is not Game.between_rounds
        cls.encodes = cls.encode is not Game.encode
        writer = {rule: next(k for k, base in enumerate(cls.__mro__) if rule in vars(base)) for rule in ("actions", "bits")}
        cls.knows_bits = cls.bits is not Game.bits and writer["bits"] <= writer["actions"]
        if hasattr(cls, "state"):
            cls.plain_state = plain_state_class(cls.__name__, _checked_fields(cls.__name__, cls.state))

    @classmethod
    def is_shorthand(cls, name: str, value: Any) -> bool:
        """A number with an annotation, `cards: int = 3`, is a parameter without bounds."""
        annotation = str(vars(cls).get("__annotations__", {}).get(name, ""))
        is_declared = annotation and "ClassVar" not in annotation and name not in _NOT_PARAMETERS and name not in cls.parameters
        return bool(is_declared) and isinstance(value, int)

    @classmethod
    def may_be_called(cls, name: str) -> bool:
        return not hasattr(Game, name)

    @property
    def label(self) -> str:
        return self.name

    def __init__(self, **parameters: Value) -> None:
        super().__init__(**parameters)
        for required in ("state", "num_actions", "max_length"):
            if not hasattr(self, required):
                raise UnseenError(f"{type(self).__name__}: the class does not define {required}.")
        if not isinstance(self.encoding_size, int) or isinstance(self.encoding_size, bool):
            raise UnseenError(f"{type(self).__name__}: encoding_size is {self.encoding_size!r}, but must be a whole number.")
        if self.encodes != (self.encoding_size > 0):
            said = f"encoding_size is {self.encoding_size!r}, but encode() is {'' if self.encodes else 'not '}written"
            raise UnseenError(f"{type(self).__name__}: {said}; a game has both or neither.")
        self.checks_indices = not type(self).__module__.startswith("unseen.games.")  # those of the library are known to be sound
        try:
            self.validate()
        except UnseenError:
            raise
        except Exception as error:
            *_, (frame, line) = traceback.walk_tb(error.__traceback__)
            where = f"{frame.f_code.co_filename}, line {line}"
            raise UnseenError(f"{self.name}: validate() raised {type(error).__name__} in {where}: {error}.") from error
        for name, (least, most) in DECLARED.items():
            if not isinstance(value := getattr(self, name), (int, np.integer)) or not least <= value <= most:
                said = f"{name} is {value!r}, but must be a whole number from {least} to {most:,}"
                raise UnseenError(f"{type(self).__name__}: {said}.")

    def enter(self) -> None:
        """Play trial games before compiled code takes the game for the first time."""
        if not self.is_tried and Game.trial is not None:
            Game.trial(self)
            self.is_tried = True

    # The rules, which subclasses write ------------------------------------------------------------------------------------

    def start(self, s: Any) -> None:
        """Write the first state into the record `s`: every field."""
        raise NotImplementedError

    def player(self, s: Any) -> int:
        """Whose move it is in `s`: 0, 1, CHANCE or TERMINAL."""
        raise NotImplementedError

    def actions(self, s: Any, out: Any) -> int:
        """Write the legal actions (or chance outcomes) of `s`, ascending, into `out`; return how many there are."""
        raise NotImplementedError

    def chance(self, s: Any, a: int, n: int) -> float:
        """The probability of outcome `a`, one of `n`, at the chance node `s`. All alike unless a game says otherwise."""
        return 1.0 / n

    def apply(self, s: Any, a: int, tell: Any) -> None:
        """Play `a` in `s`, changing `s`. Set `tell[0]`, `tell[1]`, `tell[PUBLIC]` to what each is told; they come as zeros."""
        raise NotImplementedError

    def utility(self, s: Any, who: int) -> float:
        """The payoff of player `who` at the end `s`."""
        raise NotImplementedError

    def rollout(self, s: Any, out: Any, n: int, u: float) -> int:
        """A cheap move for playouts: the index of one of the `n` actions in `out`, given a random number `u` in [0, 1).

        It must go by what the player to move knows. Evenly, unless a game says otherwise.
        """
        return int(u * n)

    def bits(self, s: Any) -> int:
        """The legal actions (or outcomes) of `s` as the bits of a number, 1 << a for action `a`: what `actions` lists.

        A hint, for games with up to 63 actions that keep them so: random playouts then need no list. Not used unless it is written.
        """
        return 0

    def encode(self, s: Any, who: int, out: Any) -> None:
        """Write what player `who`, who is to move in `s`, knows into `out`, shape (encoding_size,), which comes as zeros.

        A hint for networks, which learn faster from numbers around 0 and 1 that mean something. It must go by what the player
        knows: the same wherever it has seen the same. Not used unless it is written.
        """

    def settled(self, s: Any) -> bool:
        """Whether the payoffs at `s`, an unfinished game, are the same whatever is still played; `utility` must know them.

        A hint: streamed and reduced forms stop there. False unless a game says otherwise.
        """
        return False

    def reduced(self, s: Any) -> tuple[float, float]:
        """Rewrite `s`, where players 0 and 1 are about to choose together or chance is, to the simplest state with the same future.

        Returns what the first player has got already, to be added, and 1.0, or -1.0 if the players have changed places:
        the value of `s` is the first number plus the second times the value of what was written. There must be as many actions in
        the new state; the first of the one is as good as the first of the other, and so on. A hint: exact values of simultaneous
        games are computed once for all states that become the same. Nothing is changed unless a game says otherwise.
        """
        return 0.0, 1.0

    def most(self, s: Any, who: int) -> float:
        """The most that player `who` can still get in `s`, an unfinished game.

        A hint: a search stops looking where this has been found. In a game of several rounds it must also bound `ahead` and
        `worth`. No bound unless a game says otherwise.
        """
        return np.inf

    def lay_open(self, s: Any) -> None:
        """Rewrite `s` to the state it would be if both players had seen everything: what they know of each other is filled in.

        The same player is to move, with no other actions than it had (it may have fewer: those that cannot succeed), and the game
        goes on to the same payoffs. A hint for algorithms that look at a game as if nothing were hidden. Two states that differ
        only in what players know become one. Nothing is changed unless a game says otherwise.
        """

    def knowledge(self, s: Any, who: int) -> float:
        """An estimate of how much the other player knows of what `who` hides in `s`, just after a move of `who`: 0 nothing, 1 all.

        `s` is laid open. A hint for presumed payoffs; not used unless it is written.
        """
        return 0.0

    def between_rounds(self, s: Any) -> bool:
        """Whether a round has just ended in `s`, an unfinished game of several, and the next begins with nothing known.

        A hint for algorithms that look no further than to the end of a round; `ahead` and `worth` must then be written, too.
        """
        return False

    def ahead(self, s: Any, who: int) -> float:
        """How much `who` is ahead, in what rounds pay, between two rounds or at the end `s`."""
        return self.utility(s, who)

    def worth(self, s: Any, who: int) -> float:
        """An estimate of what `who` will get in the end, between two rounds; its payoff at the end `s`."""
        return self.utility(s, who)

    # Plain Python, never compiled: names and pictures for people -------------------------------------------------------------

    def validate(self) -> None:
        """Raise `UnseenError` if the parameters do not go together. Bounds of single parameters are checked already."""

    def symmetries(self) -> list[list[int]]:
        """Renamings of the players' actions under which the game stays the same: a group of permutations, the identity first.

        Renaming all actions of a history must give a history with the same players, chances, tokens (but for those of the last
        move) and payoffs. A hint: `SequenceForm(game, reduced=True)` then keeps to one history of each kind, and networks play
        all images of what they see alike.
        """
        return [list(range(self.num_actions))]

    def describe_action(self, s: Any, a: int) -> str:
        """A word for action `a` in state `s`."""
        return str(a)

    def render(self, s: Any, who: int) -> str | None:
        """What `who` (0, 1 or PUBLIC) sees of `s`, for people. None: the engine shows the tokens instead."""
        return None

    # What every game can do ------------------------------------------------------------------------------------------------

    @property
    def spec(self) -> str:
        """The string that `unseen.load` turns into this game again."""
        inside = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return (self.origin or self.name) + (f"({inside})" if inside else "")

    @property
    def width(self) -> int:
        """The largest number of actions or outcomes that a history can offer: the length of `out`."""
        return max(self.num_actions, self.num_outcomes)

    def new_state(self) -> PlainState:
        """A blank state for plain Python."""
        return self.plain_state()

    def as_plain(self, record: Any) -> PlainState:
        """A state of compiled code, one of `new_states`, for plain Python."""
        state = self.new_state()
        state.read(record)
        return state

    def new_states(self, count: int) -> NDArray[Any]:
        """`count` blank states for kernels: an array of records, shape (count,)."""
        return np.zeros(count, _widened(self.state) if JIT_DISABLED else self.state).view(np.recarray)

    def rule_arguments(self) -> dict[str, tuple[Any, ...]]:
        s, numbers = self.new_states(1)[0], np.zeros(max(3, self.width), np.int64)
        return {
            "start": (s,), "player": (s,), "actions": (s, numbers), "bits": (s,), "chance": (s, 0, 1),
            "apply": (s, 0, numbers), "utility": (s, 0), "settled": (s,), "reduced": (s,),
            "encode": (s, 0, np.zeros(max(self.encoding_size, 1), np.float32)),
            "most": (s, 0), "lay_open": (s,), "knowledge": (s, 0), "between_rounds": (s,), "ahead": (s, 0), "worth": (s, 0),
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<{self.spec}>"

    def _repr_html_(self) -> str:
        """The game for notebooks: what it is, its parameters and bounds."""
        said = (type(self).__doc__ or "").strip().splitlines()
        rows = {"what it is": said[0] if said else "", **self.settings, "actions of players": self.num_actions}
        rows |= {"outcomes of chance": self.num_outcomes} if self.num_outcomes else {}
        return html.table(self.spec, rows | {"most moves": self.max_length})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.settings == other.settings

    def __hash__(self) -> int:
        return hash((type(self), *self.settings.values()))


def _checked_fields(owner: str, dtype: Any) -> np.dtype[Any]:
    """`dtype`, if it is a record whose fields can be read as attributes."""
    if not isinstance(dtype, np.dtype) or dtype.names is None:
        raise UnseenError(f"{owner}: state is {dtype!r}, but must be a NumPy record type, np.dtype([(name, type), ...]).")
    for name in dtype.names:
        is_taken = hasattr(np.record, name) or hasattr(PlainState, name)
        kind = dtype[name].base.kind
        if is_taken or kind not in "iufb" or (kind == "b" and dtype[name].shape):
            reason = "states have an attribute of that name" if is_taken else "it must hold numbers (for yes or no use i1)"
            raise UnseenError(f"{owner}: state field {name!r} cannot be used: {reason}; choose another{' name' * is_taken}.")
    return dtype


def _widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same fields with small integers as 64-bit ones, so that NumPy computes with them as compiled code does."""
    return np.dtype([(name, _wide(dtype[name].base), dtype[name].shape) for name in dtype.names or ()])


def _wide(kind: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.int64) if kind.kind in "iu" and kind.itemsize < 8 else kind
