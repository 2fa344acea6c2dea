"""A game in progress, for people and for Python code: step through it by hand, see what each player has seen.

The rules run here as plain Python, so a breakpoint in a rule stops there, nothing needs to be compiled, and an exception in a rule
is reported with the history at which it was raised.
"""

from __future__ import annotations

import hashlib
import inspect
import random
import traceback
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any, NamedTuple, NoReturn

import numpy as np

from unseen import engine, html
from unseen.compiling import as_python
from unseen.errors import GameFault, UnseenError
from unseen.game import CHANCE, MAX_TOKEN, PUBLIC, TERMINAL, Game, cut
from unseen.loading import load

FINGERPRINT_PLAYOUTS = 100
TRIAL_GAMES = 10
TRIAL_POSITIONS = 1000
"""At least so many games are played before compiled code takes a game, and more while there are fewer positions."""
_TRIED: set[Game] = set()


MOVERS = {CHANCE: "chance to move", TERMINAL: "over", 0: "player 1 to move", 1: "player 2 to move"}
MOST_SHOWN = 20
"""Actions of a position that a notebook lists."""


class Percept(NamedTuple):
    """What one step told one viewer: 1 + its own action if it moved, the public token and its private token; 0 is nothing."""

    own: int
    public: int
    private: int


class Position:
    """A `history` of a `game`, which may be given by name, with the state it leads to.

    `position.apply(a)` plays on, `position.child(a)` leaves this one alone; `player`, `actions`, `seen(who)` and `render(who)` say
    where it stands.
    """

    def __init__(self, game: Game | str, history: Iterable[int] = ()) -> None:
        self.game = game = load(game)
        self.history: tuple[int, ...] = ()
        self.state = game.new_state()
        self._seen: tuple[list[Percept], list[Percept], list[Percept]] = ([], [], [])
        self._call("start", self.state)
        self.player = self._read_player()
        self._actions: list[int] | None = None
        if not isinstance(history, Iterable):
            raise UnseenError(f"history is {history!r}, but must be a list of actions.")
        for action in history:
            self.apply(action)

    # Where it stands ------------------------------------------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        return self.player == TERMINAL

    @property
    def is_chance(self) -> bool:
        return self.player == CHANCE

    @property
    def actions(self) -> list[int]:
        """The legal actions (or chance outcomes), ascending; none at the end of the game."""
        if self._actions is None:
            self._actions = [] if self.is_terminal else self._read_actions()
        return list(self._actions)

    @property
    def chance_probabilities(self) -> list[float]:
        """The probability of each chance outcome in `actions`."""
        if not self.is_chance:
            raise UnseenError(f"{self}: it is not chance's move.")
        n = len(self.actions)
        chances = [self._call("chance", self.state, a, n) for a in self.actions]
        if not all(isinstance(p, (int, float, np.number)) and p >= 0.0 for p in chances):
            self._fault(f"chance gives the probabilities {chances}, which must be numbers and not negative")
        if not abs(sum(chances) - 1.0) <= 1e-9:
            self._fault(f"chance gives probabilities that sum to {sum(chances)}, not to 1")
        return [float(p) for p in chances]

    @property
    def utilities(self) -> tuple[float, float]:
        """The payoffs of both players at the end of the game."""
        if not self.is_terminal:
            raise UnseenError(f"{self}: the game is not over, so it has no payoffs yet.")
        return self._payoffs()

    def _payoffs(self) -> tuple[float, float]:
        """What `utility` says here, also before the end if the payoffs are settled."""
        payoffs = [self._call("utility", self.state, who) for who in (0, 1)]
        if not all(isinstance(u, (int, float, np.number)) and isfinite(u) for u in payoffs) or abs(sum(payoffs)) > 1e-9:
            self._fault(f"utility gives the payoffs {payoffs}, which must be finite numbers that sum to zero")
        return payoffs[0] + 0.0, payoffs[1] + 0.0  # not -0.0

    def seen(self, who: int) -> tuple[Percept, ...]:
        """The action-observation history of `who`: player 0, player 1 or PUBLIC."""
        if who not in (0, 1, PUBLIC):
            raise UnseenError(f"who is {who!r}, but must be 0, 1 or PUBLIC ({PUBLIC}).")
        return tuple(self._seen[who])

    def key(self, who: int) -> int:
        """The 64-bit key of what `who` has seen."""
        return history_key(who, self.seen(who))

    @property
    def infoset(self) -> int:
        """The key of the information set of the player to move."""
        if self.player < 0:
            raise UnseenError(f"{self}: no player is to move, so there is no information set.")
        return self.key(self.player)

    # Moving on --------------------------------------------------------------------------------------------------------------

    def apply(self, action: int) -> Position:
        """Play `action` here. Returns this position."""
        if action not in self.actions:
            legal = ", ".join(map(str, self.actions)) or "none, the game is over"
            raise UnseenError(f"{self}: action {action!r} is not legal; the legal actions are: {legal}.")
        if len(self.history) >= self.game.max_length:
            self._fault(f"apply: the game is not over after max_length = {self.game.max_length} moves")
        tell = np.zeros(3, object)  # so that a token that is not a whole number stays what it is
        mover = self.player
        self._call("apply", self.state, int(action), tell)
        self.history += (int(action),)
        self._actions = None
        told = list(tell)
        if not all(is_token(token) for token in told):
            self._fault(f"apply told {told}, but tokens must be whole numbers from 0 to {MAX_TOKEN}")
        for viewer in (0, 1, PUBLIC):
            percept = percept_of(viewer, mover, int(action), told)
            if any(percept):
                self._seen[viewer].append(percept)
        self.player = self._read_player()
        return self

    def copy(self) -> Position:
        """A position of its own with the same history."""
        other = object.__new__(Position)
        other.game, other.history, other.player, other._actions = self.game, self.history, self.player, self._actions
        other.state = self.state.copy()
        other._seen = (list(self._seen[0]), list(self._seen[1]), list(self._seen[2]))
        return other

    def child(self, action: int) -> Position:
        """The position after `action`, leaving this one as it is."""
        return self.copy().apply(action)

    # Words ------------------------------------------------------------------------------------------------------------------

    def describe(self, action: int) -> str:
        """The game's word for `action` here."""
        return str(self._call("describe_action", self.state, action))

    @property
    def action_names(self) -> dict[int, str]:
        """The legal actions with their descriptions."""
        return {a: self.describe(a) for a in self.actions}

    def render(self, who: int) -> str:
        """What `who` (0, 1 or PUBLIC) sees here, for people."""
        text = self._call("render", self.state, who)
        if text is not None:
            return str(text)
        return "seen: " + (" ".join("/".join(map(str, p)) for p in self._seen[who]) or "nothing")

    def __str__(self) -> str:
        return f"{self.game.spec}: {' '.join(map(str, self.history))}" if self.history else self.game.spec

    def __repr__(self) -> str:
        return f"<Position {self}, {MOVERS[self.player]}>"

    def _repr_html_(self) -> str:
        """The position for notebooks: what each player sees, and what can be played."""
        try:
            rows: dict[str, Any] = {f"player {who + 1} sees": self.render(who) for who in (0, 1)}
            rows["next"] = MOVERS[self.player]
            if self.is_terminal:
                rows["payoffs"] = " ".join(f"{u:+zg}" for u in self.utilities)
            else:
                names = [f"{a} {self.describe(a)}" for a in self.actions[:MOST_SHOWN]]
                more = len(self.actions) - len(names)
                rows["actions"] = ", ".join(names) + (f", and {more:,} more" if more else "")
        except UnseenError as error:  # a fault of the game should not hide where it shows
            rows = {"next": MOVERS[self.player], "fault": error}
        return html.table(str(self), rows)

    @classmethod
    def from_text(cls, text: str) -> Position:
        """The position whose `str(position)` is `text`."""
        spec, _, moves = text.rpartition(":")
        if not spec or spec.endswith(".py"):  # no moves; the colon, if any, is the one before a class name
            spec, moves = text, ""
        try:
            history = [int(word) for word in moves.split()]
        except ValueError:
            raise UnseenError(f"position {text!r}: after the game and a colon come action numbers, not {moves!r}.") from None
        return cls(load(spec), history)

    # Calling the rules --------------------------------------------------------------------------------------------------------

    def _call(self, rule: str, *args: Any) -> Any:
        try:
            return getattr(self.game, rule)(*args)
        except UnseenError:
            raise
        except (Exception, SystemExit) as error:
            self._fault(rule_exception(self.game, rule, error), error)

    def _fault(self, what: str, cause: BaseException | None = None) -> NoReturn:
        where = history_text(self.game, self.history)
        raise GameFault(f"{type(self.game).__name__}.{what}, at history {where}.") from cause

    def _read_player(self) -> int:
        player = self._call("player", self.state)
        if not is_whole(player) or player not in (0, 1, CHANCE, TERMINAL):
            self._fault(f"player returned {player!r}, not 0, 1, CHANCE or TERMINAL")
        return int(player)

    def _read_actions(self) -> list[int]:
        out = np.zeros(self.game.width, np.int64)
        n = self._call("actions", self.state, out)
        if not is_whole(n) or not 1 <= n <= len(out):
            self._fault(f"actions returned {n!r}, but must offer from 1 to {len(out)} actions")
        actions: list[int] = out[:n].tolist()
        bound = self.game.num_outcomes if self.is_chance else self.game.num_actions
        if not (actions[0] >= 0 and actions[-1] < bound and all(a < b for a, b in pairwise(actions))):
            self._fault(f"actions offers {actions}, which must be ascending and from 0 to {bound - 1}")
        return actions


def is_whole(value: object) -> bool:
    """Whether a rule returned a whole number."""
    return isinstance(value, (int, np.integer))


def is_token(value: object) -> bool:
    """Whether a value can be told to a player."""
    return isinstance(value, (int, np.integer)) and 0 <= int(value) <= MAX_TOKEN


def rule_exception(game: Game, rule: str, error: BaseException) -> str:
    """What to say of an exception that a rule raised: where in the file, and what may be behind it."""
    lines = [n for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == inspect.getfile(type(game))]
    where = f" in line {lines[-1]}" if lines else ""
    hint = ""
    if rule == "actions" and isinstance(error, IndexError):
        hint = f" (out has room for {game.width} actions: the larger of num_actions and num_outcomes)"
    return f"{rule} raised {type(error).__name__}{where}: {error}{hint}"


def percept_of(viewer: int, mover: int, action: int, told: Sequence[int]) -> Percept:
    """What `viewer` perceives when `mover` plays `action` and the game tells `told` (by player, and PUBLIC)."""
    return Percept(action + 1 if viewer == mover else 0, int(told[PUBLIC]), int(told[viewer]) if viewer != PUBLIC else 0)


def history_key(viewer: int, percepts: Iterable[Percept]) -> int:
    """The key of an action-observation history: the same number that compiled code computes."""
    key = as_python(engine.root_key)(viewer)
    for own, public, private in percepts:
        key = as_python(engine.extend_key)(key, own, public, private)
    return int(key)


def history_text(game: Game, history: Sequence[int]) -> str:
    """A history for people: numbers, and words if the game's words work."""
    if not history:
        return "[] (the start)"
    words = []
    state, tell = game.new_state(), np.zeros(3, np.int64)
    try:
        game.start(state)
        for number, action in enumerate(history, 1):
            words.append(str(game.describe_action(state, action)))
            if number < len(history):  # after the last move there may be nothing but the fault
                game.apply(state, action, tell)
    except Exception:  # a fault is being reported already; the numbers must do
        return str(list(history))
    return f"{list(history)} ({', '.join(words)})"


def random_walk(game: Game, rng: random.Random) -> Iterator[Position]:
    """The positions of a game of uniformly random moves, chance included, from the start to the end: one object, moved on."""
    position = Position(game)
    yield position
    while not position.is_terminal:
        actions = position.actions
        position.apply(actions[int(rng.random() * len(actions))])
        yield position


def try_out(game: Game) -> None:
    """Play a few games in plain Python before compiled code takes a game.

    There a wrong index is an exception with a history; in machine code it is a crash or nonsense. Done once for each game; those of
    the library are known to be sound.
    """
    if game in _TRIED or type(game).__module__.startswith("unseen.games."):
        return
    rng = random.Random(0)
    met: dict[tuple[int, tuple[Percept, ...]], Position] = {}
    games = positions = 0
    while games < TRIAL_GAMES or (positions < TRIAL_POSITIONS and games < 10 * TRIAL_GAMES):
        settled: tuple[float, float] | None = None
        before = CHANCE, 0
        for position in random_walk(game, rng):
            _try_state(position)
            if game.simultaneous and (position.player == 1) != (before[0] == 0):
                position._fault("simultaneous is set, but the moves are not those of player 0 and then of player 1")
            if game.simultaneous and position.player == 1 and len(position.seen(1)) > before[1]:
                position._fault("simultaneous is set, but player 1 is told something before it chooses")
            before = position.player, len(position.seen(1))
            if position.player >= 0:
                earlier = met.setdefault((position.player, position.seen(position.player)), position.copy())
                if earlier.actions != position.actions:
                    where = history_text(game, earlier.history)
                    said = f"offers {position.actions}, but {earlier.actions} at {where}, where its player has seen the same"
                    position._fault(f"actions {said}")
            if settled is None and not position.is_terminal and position._call("settled", position.state):
                settled = position._payoffs()
            positions += 1
        games += 1
        utilities = position.utilities
        if settled is not None and not np.allclose(settled, utilities, rtol=1e-9):
            position._fault(f"settled said earlier on this way that the payoffs are {settled}, but they are {utilities}")
        again = Position(game, position.history)
        if again.state.values() != position.state.values() or again._seen != position._seen or again.utilities != utilities:
            position._fault("apply does not do the same each time")
        for image in _some_images(game, rng):
            if (found := broken_image(game, position.history, image, utilities)) is not None:
                raise GameFault(f"{type(game).__name__}.symmetries: {found[0]}, at history {history_text(game, found[1])}.")
    _TRIED.add(game)


def _try_state(position: Position) -> None:
    """Raise if what compiled code would make of a state is something else."""
    game = position.game
    for name, value in position.state.values().items():
        kind = game.state[name].base
        if kind.kind in "iu" and not np.array_equal(cut(value, kind), value):
            position._fault(f"apply sets field {name!r} to {value}, which does not fit its type {kind}")
    if game.knows_bits and not position.is_terminal and game.bits(position.state) != sum(1 << a for a in position.actions):
        position._fault(f"bits returns {game.bits(position.state)}, but the actions are {position.actions}")
    if game.encodes and position.player >= 0:
        position._call("encode", position.state, position.player, written := np.zeros(game.encoding_size, np.float32))
        if not np.isfinite(written).all():
            position._fault(f"encode writes {written.tolist()}, which must be finite")
    if position.is_chance:
        _ = position.chance_probabilities


def _some_images(game: Game, rng: random.Random) -> list[list[int]]:
    """Up to three renamings of actions under which a game says that it stays the same, if it lists them properly."""
    try:
        images = [[int(a) for a in image] for image in game.symmetries()]
    except Exception:  # whoever uses them will say what is wrong
        return []
    images = [image for image in images if sorted(image) == list(range(game.num_actions)) != image]
    return rng.sample(images, min(len(images), 3))


def broken_image(
    game: Game, history: Sequence[int], image: Sequence[int], utilities: Sequence[float]
) -> tuple[str, tuple[int, ...]] | None:
    """Why the finished `history` whose actions are renamed by `image` has not the same players, tokens and payoffs, and where."""
    here, there = Position(game), Position(game)
    for length, action in enumerate(history):
        renamed = action if here.is_chance else image[action]
        if there.player != here.player or renamed not in there.actions:
            return f"renamed by {list(image)} it is not a proper history", tuple(history[: length + 1])
        if here.is_chance and not np.allclose(here.chance_probabilities, there.chance_probabilities, rtol=1e-9):
            return f"renamed by {list(image)} chance has other probabilities", here.history
        here.apply(action)
        there.apply(renamed)
        told = [[(bool(own), *tokens) for own, *tokens in position.seen(who)] for position in (here, there) for who in (0, 1)]
        if told[:2] != told[2:] and not here.is_terminal:
            return f"renamed by {list(image)} the players are told something else", here.history
    if not there.is_terminal or not np.allclose(there.utilities, utilities, rtol=1e-9):
        return f"renamed by {list(image)} it ends otherwise", tuple(history)
    return None


Game.trial = staticmethod(try_out)


def fingerprint(game: Game | str) -> str:
    """A digest of how `game` behaves: its name, parameters and all that shows in some seeded random games.

    It stays the same when only the text of the rules changes, so strategy files outlive a tidied source. A change of the rules that
    shows in none of those games is not noticed.
    """
    game = load(game)
    digest = hashlib.sha256(repr((game.name, game.settings)).encode())
    rng = random.Random(0)
    for _ in range(FINGERPRINT_PLAYOUTS):
        for position in random_walk(game, rng):
            chance = [round(p, 9) for p in position.chance_probabilities] if position.is_chance else []
            digest.update(repr((position.player, position.actions, chance)).encode())
        digest.update(repr((position.history, position._seen, position.utilities)).encode())
    return digest.hexdigest()[:32]
