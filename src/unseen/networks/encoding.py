"""What a network sees: all that a player has seen, as so many numbers everywhere in a game.

Percepts come in order, each in columns of its own: its player's own action, one column for each; the public and the private token,
a column for each if there are few, else a column for each bit. All of these are 0 or 1, so few are 1, and nothing that a player has
seen is lost (but for tokens larger than any in some random games, which look alike). A game may write numbers of its own
(`Game.encode`), which are used instead, or beside them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.errors import UnseenError
from unseen.game import MAX_TOKEN, Game
from unseen.loading import load
from unseen.position import Percept, random_walk

PARTS = ("percepts", "own", "both")
"""What is encoded: percepts; what the game's own `encode` writes; or first the one, then the other."""
MOST_COLUMNS = 64
"""Different tokens for which each has a column."""
TRIALS = 200
"""Random games that show which tokens there are."""
FINGERPRINT_GAMES = 10
SEAT = 0
"""The column that is 1 for player 1."""
Floats = NDArray[np.float32]


class Layout(NamedTuple):
    """Where things are, for compiled code: first the seat, then the percepts, then the game's own numbers."""

    percepts: int  # columns of the seat and all percepts; 0 if these are not encoded
    a_percept: int  # columns of a percept
    actions: int  # of these, for the own action
    public: int  # and for the public token
    private: int
    public_bits: bool  # whether it has a column for each bit
    private_bits: bool
    own: int  # columns that the game writes


class Encoding:
    """How what a player has seen becomes the input of a network, shape (`length`,).

    - `game`: a game, or what names one.
    - `parts`: `"percepts"`, `"own"` or `"both"`; by default what the game writes, if it does, beside the percepts.
    """

    def __init__(self, game: Game | str, parts: str | None = None) -> None:
        self.game = game = load(game)
        self.parts = parts = parts or ("both" if game.encodes else "percepts")
        if parts not in PARTS:
            raise UnseenError(f"encoding is {parts!r}, but must be one of {', '.join(PARTS)}.")
        if parts != "percepts" and not game.encodes:
            raise UnseenError(f"encoding is {parts!r}, but {game.spec} has no encode() of its own; use percepts.")
        own = game.encoding_size if parts != "percepts" else 0
        if parts == "own":
            self.layout = Layout(0, 0, 0, 0, 0, False, False, own)
        else:
            (public, public_bits), (private, private_bits) = map(columns, largest_tokens(game))
            a_percept = game.num_actions + public + private
            percepts = 1 + game.max_length * a_percept
            self.layout = Layout(percepts, a_percept, game.num_actions, public, private, public_bits, private_bits, own)

    @property
    def length(self) -> int:
        """How many numbers there are."""
        return self.layout.percepts + self.layout.own

    @property
    def most_hot(self) -> int:
        """An upper bound of how many columns of percepts can be 1 at a time."""
        tokens = sum(width if is_bits else min(width, 1) for width, is_bits in zip(self.layout[3:5], self.layout[5:7], strict=True))
        return 1 + self.game.max_length * (1 + tokens)

    def rows(
        self, players: NDArray[np.int64], seen: NDArray[np.int64], lengths: NDArray[np.int64], states: NDArray[Any] | None = None
    ) -> Floats:
        """The input for `q` information sets, shape (q, length).

        `players` has shape (q,); `seen` their percepts, (q, l, 3), of which there are `lengths`, (q,); `states` some state in each
        set, (q,), if the game's own rule is used.
        """
        own, tokens = seen[:, :, 0], seen[:, :, 1:]
        if ((lengths < 0) | (lengths > min(seen.shape[1], self.game.max_length))).any():
            raise UnseenError(f"a player of {self.game.spec} has up to {self.game.max_length} percepts, not {lengths.max()}.")
        if ((own < 0) | (own > self.game.num_actions)).any() or ((tokens < 0) | (tokens > MAX_TOKEN)).any():
            raise UnseenError(f"a percept of {self.game.spec} has 1 + an action, or 0, and two tokens from 0 to {MAX_TOKEN}.")
        if states is None:
            if self.layout.own:
                raise UnseenError("the game's own encode() needs states.")
            states = self.game.new_states(1)
        out = np.zeros((len(players), self.length), np.float32)
        encode_rows(self.game, self.layout, players, seen, lengths, states, np.zeros(self.most_hot, np.int64), out)
        return out

    def row(self, player: int, seen: Sequence[Percept], state: NDArray[Any] | None = None) -> Floats:
        """The input for one information set, shape (length,): that of a `player` that has `seen` some percepts.

        `state`, shape (1,), is some state in it, if the game's own rule is used.
        """
        percepts = np.array(seen, np.int64).reshape(1, -1, 3)
        found: Floats = self.rows(np.array([player]), percepts, np.array([len(seen)]), state)[0]
        return found

    @property
    def fingerprint(self) -> str:
        """A digest of what it makes of the turns of some random games: another one if the game encodes otherwise."""
        found, rng, state = hashlib.sha256(repr((self.parts, self.layout)).encode()), random.Random(0), self.game.new_states(1)
        for _ in range(FINGERPRINT_GAMES):
            for position in random_walk(self.game, rng):
                if position.player in (0, 1):
                    position.state.write(state)
                    found.update(self.row(position.player, position.seen(position.player), state).tobytes())
        return found.hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and (self.game, self.parts, self.layout) == (other.game, other.parts, other.layout)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Encoding of {self.game.spec}: {self.parts}, {self.length:,} numbers>"


def largest_tokens(game: Game) -> tuple[int, int]:
    """The largest public and private token that a player can have got before its turn, as far as random games show."""
    rng, most = random.Random(0), [0, 0]
    for _ in range(TRIALS):
        for position in random_walk(game, rng):
            if position.player in (0, 1):
                for percept in position.seen(position.player):
                    most = [max(most[0], percept.public), max(most[1], percept.private)]
    return most[0], most[1]


def columns(token: int) -> tuple[int, bool]:
    """How many columns a token needs that is at most so large, and whether they are bits. One more is for any that is larger."""
    if token == 0:
        return 0, False
    return (token + 1, False) if token <= MOST_COLUMNS else (token.bit_length() + 1, True)


@piece
def add_token(token, first, width, is_bits, hot, n):
    """Add the columns of a token, of `width` from `first` on, to the `n` in `hot`; returns how many there are then."""
    if token <= 0 or width == 0:
        return n
    if is_bits:
        for b in range(width - 1):
            if token >> b & 1:
                hot[n] = first + b
                n += 1
        if token >> (width - 1):
            hot[n] = first + width - 1
            n += 1
        return n
    hot[n] = first + min(token, width) - 1
    return n + 1


@piece
def hot_columns(layout, who, seen, length, hot):
    """Write the columns that are 1 where `who` has `seen` so many percepts, shape (l, 3); returns how many columns there are."""
    n = 0
    if layout.percepts == 0:
        return n
    if who == 1:
        hot[n] = SEAT
        n += 1
    for t in range(length):
        at = 1 + t * layout.a_percept
        if seen[t, 0] > 0:
            hot[n] = at + min(seen[t, 0], layout.actions) - 1
            n += 1
        at += layout.actions
        n = add_token(seen[t, 1], at, layout.public, layout.public_bits, hot, n)
        n = add_token(seen[t, 2], at + layout.public, layout.private, layout.private_bits, hot, n)
    return n


@kernel
def encode_rows(game, layout, players, seen, lengths, states, hot, out):
    """Encode information sets, one a row."""
    for q in range(len(players)):
        for k in range(hot_columns(layout, players[q], seen[q], lengths[q], hot)):
            out[q, hot[k]] = 1.0
        if layout.own > 0:
            game.encode(states[q], players[q], out[q, layout.percepts :])
