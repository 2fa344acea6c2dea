"""Who could be where: every history that fits what one viewer has seen, without a line of code in the game.

A `Belief` asks the trellis: how many histories there are, which worlds they lead to, how likely chance makes these, which moves
stay on target; and draws from them. When a layer of the trellis would grow past the cap there is none (`belief.exact` is False):
moves can still be checked one percept at a time, and a walk that gets stuck has left the target. The probability of each such walk
is still known.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen import html
from unseen.arguments import checked
from unseen.belief.trellis import Trellis, alive, build, count_histories, draw_history, look_at_edges, share_by_chance
from unseen.engine import random_state, scratch
from unseen.errors import BeliefTooLarge, UnseenError
from unseen.game import PUBLIC, Game
from unseen.loading import load
from unseen.position import Percept, Position

DEFAULT_CAP = 1_000_000
DRAWN_BY = ("once", "chance")
"""What a history or a world counts when one is drawn: one, or the probability of its chance outcomes."""


VIEWERS = {0: "player 1", 1: "player 2", PUBLIC: "the public"}
MOST_SHOWN = 20
"""Percepts that a notebook shows."""


class Belief:
    """All histories that fit what somebody has seen.

    - `game`: a game, or what names one.
    - `viewer`, `seen`: who (0, 1 or PUBLIC), and its percepts in order, as from `position.seen(viewer)`.
    - `to_move`: only histories at which this player moves; None: any.
    - `cap`: the most states in a layer of the trellis. Beyond that there is none, and `exact` is False.
    - `shortest`: leave out histories that go on, in silence, from one that fits already.
    - `until`: when `time.perf_counter()` is this, give the trellis up, as if the cap had been met.
    """

    @checked
    def __init__(
        self, game: Game | str, viewer: int, seen: Iterable[Percept], to_move: int | None = None, cap: int = DEFAULT_CAP,
        shortest: bool = False, until: float = inf,
    ) -> None:  # fmt: skip
        if viewer not in (0, 1, PUBLIC):
            raise UnseenError(f"viewer is {viewer!r}, but must be 0, 1 or PUBLIC ({PUBLIC}).")
        if cap < 1:
            raise UnseenError(f"cap is {cap!r}, but must be at least 1.")
        self.game = game = load(game)
        self.viewer, self.to_move, self.cap = viewer, to_move, cap
        self.seen = tuple(Percept(*percept) for percept in seen)
        built = build(game, viewer, self.seen, to_move, cap, shortest, until)
        self.exact = built is not None
        """Whether there is a trellis, i.e. no layer was larger than the cap."""
        if built is not None:
            self._trellis = alive(built)
            self._ways, self._completions = count_histories(self._trellis)

    @classmethod
    def at(cls, position: Position, viewer: int | None = None, cap: int = DEFAULT_CAP) -> Belief:
        """What `viewer` can believe at `position`; by default the player to move, who knows that it is to move. `cap` as above."""
        if viewer is None and position.player < 0:
            raise UnseenError(f"{position}: no player is to move; say whose belief it is to be (0, 1 or PUBLIC).")
        viewer = position.player if viewer is None else viewer
        to_move = viewer if position.player == viewer else None
        return cls(position.game, viewer, position.seen(viewer), to_move, cap)

    @property
    def trellis(self) -> Trellis:
        if not self.exact:
            raise BeliefTooLarge(
                f"{self.game.spec}: more than {self.cap} states fit what was seen; raise the cap to list or count them."
            )
        return self._trellis

    # For people ------------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Belief of {VIEWERS[self.viewer]} in {self.game.spec}: {self._extent}>"

    def _repr_html_(self) -> str:
        """The belief for notebooks: what was seen, and how many histories are consistent with it."""
        percepts = ["/".join(map(str, percept)) for percept in self.seen]
        shown = " ".join(percepts[:MOST_SHOWN]) + (" ..." if len(percepts) > MOST_SHOWN else "")
        rows = {"seen (own action + 1 / public / private)": shown or "nothing", "consistent with that": self._extent}
        return html.table(f"belief of {VIEWERS[self.viewer]} in {self.game.spec}", rows)

    @property
    def _extent(self) -> str:
        """How many histories there are, in words."""
        return f"{self.count:,} histories" if self.exact else f"more than {self.cap:,} states"

    # Histories -------------------------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """The exact number of histories."""
        return int(self._completions[0]) if len(self.trellis.ends) else 0

    @property
    def shares(self) -> NDArray[np.float64]:
        """For each edge of the trellis the part of its node's histories that go on by it."""
        trellis = self.trellis
        before = np.repeat(self._completions, np.diff(trellis.first))
        shares: NDArray[np.float64] = (self._completions[trellis.child] / before).astype(np.float64)
        return shares  # quotients of Python integers where there are too many histories for floats

    @cached_property
    def _edges(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """For each edge of the trellis the index of its action among the legal ones, and its probability, which is 1 if a player
        moves."""
        trellis = self.trellis
        index, chances = np.zeros(len(trellis.action), np.int64), np.ones(len(trellis.action))
        look_at_edges(self.game, trellis.states, trellis.first, trellis.action, scratch(self.game)[0], index, chances)
        return index, chances

    @property
    def action_index(self) -> NDArray[np.int64]:
        """For each edge of the trellis the index of its action among the legal ones."""
        return self._edges[0]

    @cached_property
    def chance_shares(self) -> NDArray[np.float64]:
        """The same as `shares`, where each history counts the probability of its chance outcomes."""
        trellis = self.trellis
        shares, nodes = np.zeros(len(trellis.action)), len(trellis.ends)
        sums = np.zeros(nodes), np.zeros(nodes, np.int64)
        share_by_chance(trellis.first, trellis.child, trellis.ends, self._edges[1], *sums, shares)
        return shares

    def histories(self) -> Iterator[tuple[int, ...]]:
        """Every history, in lexicographic order."""
        trellis = self.trellis
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())] if len(trellis.ends) else []
        while stack:
            node, history = stack.pop()
            if trellis.ends[node]:
                yield history
            for e in range(trellis.first[node + 1] - 1, trellis.first[node] - 1, -1):
                stack.append((int(trellis.child[e]), (*history, int(trellis.action[e]))))

    def sample_histories(self, n: int, seed: int = 0, weights: str = "once") -> list[tuple[int, ...]]:
        """`n` histories drawn with replacement, by `seed`: uniformly, or with `weights="chance"` in proportion to the probability
        of their chance outcomes."""
        self._check(weights)
        trellis = self._some()
        path, rng = np.zeros(self.game.max_length + 1, np.int64), random_state(seed)
        shares = self.shares if weights == "once" else self.chance_shares
        drawn = []
        for _ in range(n):
            length = draw_history(trellis, shares, path, rng)
            drawn.append(tuple(path[:length].tolist()))
        return drawn

    # Worlds ----------------------------------------------------------------------------------------------------------------

    def worlds(self) -> tuple[NDArray[Any], list[int]]:
        """The distinct states that the histories lead to, and how many lead to each."""
        ends, place, group = self._ends
        counts = [0] * len(place)
        for k, node in zip(group.tolist(), ends.tolist(), strict=True):
            counts[k] += int(self._ways[node])
        return self.trellis.states[ends[place]], counts

    @cached_property
    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The nodes at which histories end; the place among them of the first of each world; and the world of each, a number."""
        trellis = self.trellis
        ends = np.flatnonzero(trellis.ends)
        rows = np.frombuffer(trellis.states[ends].tobytes(), np.dtype((np.void, trellis.states.dtype.itemsize)))
        _, place, group = np.unique(rows, return_index=True, return_inverse=True)
        return ends, place, group

    def posterior(self) -> NDArray[np.float64]:
        """The probability of each of the `worlds()`, as far as chance alone tells: whatever players could have done counts alike.

        In proportion to the total probability of the sequences of chance outcomes that can lead to it, however many orders of the
        players' moves lead there with each of them (see unseen.belief.worlds).
        """
        trellis, chances = self._some(), self._edges[1]
        ends, place, group = self._ends
        if (chances == 1.0).all():
            return np.full(len(place), 1.0 / len(place))
        world = np.full(len(trellis.ends), -1)
        world[ends] = group
        longer: dict[tuple[int, int], int] = {}
        """The number of a sequence of chance outcomes that is one longer than another."""
        likely: dict[tuple[int, int], float] = {}
        """By world and sequence: its probability."""
        layer: dict[tuple[int, int], float] = {(0, 0): 1.0}
        """By node and sequence, of histories of one length: its probability, the greatest if that depends on what players did."""
        while layer:
            after: dict[tuple[int, int], float] = {}
            for (node, sequence), p in layer.items():
                if world[node] >= 0:
                    known = int(world[node]), sequence
                    likely[known] = max(likely.get(known, 0.0), p)
                for e in range(int(trellis.first[node]), int(trellis.first[node + 1])):
                    is_outcome = chances[e] < 1.0  # one that is certain is none
                    new = longer.setdefault((sequence, int(trellis.action[e])), len(longer) + 1) if is_outcome else sequence
                    child = int(trellis.child[e]), new
                    after[child] = max(after.get(child, 0.0), p * float(chances[e]))
            if len(after) > self.cap:
                raise BeliefTooLarge(f"{self.game.spec}: more than {self.cap} sequences of chance outcomes fit what was seen.")
            layer = after
        found = np.zeros(len(place))
        for (k, _), p in likely.items():
            found[k] += p
        total: float = found.sum()
        return found / total if total > 0.0 else np.full(len(found), 1.0 / len(found))

    def sample_worlds(self, n: int, seed: int = 0, weights: str = "once") -> NDArray[Any]:
        """`n` states drawn with replacement from the distinct worlds, by `seed`: uniformly, or with `weights="chance"` by the
        posterior."""
        self._check(weights)
        self._some()
        states, rng = self.worlds()[0], np.random.default_rng(seed)
        if weights == "chance":
            return states[rng.choice(len(states), size=n, p=self.posterior())]
        return states[rng.integers(len(states), size=n)]

    @staticmethod
    def _check(weights: str) -> None:
        if weights not in DRAWN_BY:
            raise UnseenError(f"weights is {weights!r}, but must be one of {', '.join(DRAWN_BY)}.")

    # Staying on target -------------------------------------------------------------------------------------------------------

    def on_target(self, position: Position) -> list[int]:
        """The actions after which `position` can still become one of the histories; all of them once it has been one.

        Without a trellis: the actions after which nothing contradicts what was seen so far.
        """
        if not self.exact:
            return self._matching(position)
        trellis = self.trellis
        node = 0 if len(trellis.ends) else -1
        for action in position.history:
            if node < 0 or trellis.ends[node]:
                break
            edges = slice(trellis.first[node], trellis.first[node + 1])
            taken = np.flatnonzero(trellis.action[edges] == action)
            node = int(trellis.child[edges][taken[0]]) if len(taken) else -1
        if node < 0:
            return []
        if trellis.ends[node]:
            return position.actions
        return [int(a) for a in trellis.action[trellis.first[node] : trellis.first[node + 1]]]

    def try_history(self, rng: python_random.Random) -> tuple[tuple[int, ...], float, bool]:
        """Walk from the start, by moves that stay on target, chosen uniformly with `rng`, to the first history that fits.

        Returns the history, the probability of this walk and whether it arrived: with a trellis it always does; without one a
        walk may get stuck.
        """
        position, probability = Position(self.game), 1.0
        while not self._is_end(position):
            moves = self.on_target(position)
            if not moves:
                return position.history, probability, False
            position.apply(moves[int(rng.random() * len(moves))])
            probability /= len(moves)
        return position.history, probability, True

    def _is_end(self, position: Position) -> bool:
        return position.seen(self.viewer) == self.seen and self.to_move in (None, position.player)

    def _matching(self, position: Position) -> list[int]:
        """The actions whose percept is silence or the next one seen; all of them once the target was reached."""
        before = Position(self.game)
        for action in position.history:
            if self._is_end(before):
                break
            before.apply(action)
        if self._is_end(before):
            return position.actions
        after = ((a, position.child(a).seen(self.viewer)) for a in position.actions)
        return [a for a, seen in after if seen == self.seen[: len(seen)]]

    def _some(self) -> Trellis:
        if not self.count:
            raise UnseenError(f"{self.game.spec}: no history fits what was seen, so there is nothing to draw from.")
        return self.trellis
