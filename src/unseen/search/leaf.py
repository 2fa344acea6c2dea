"""How a simulation ends where the tree does: a playout policy, or an evaluation in place of a playout.

A policy is told what the mover knows, never the state: the key of its information set, and, if it asks for them, the percepts
that it has had. Some answer in compiled code; others wait for an answer from outside, many simulations at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import Compiled, kernel, piece
from unseen.engine import is_mover, is_proper, next_key, pick, random, random_action, random_index, step
from unseen.errors import UnseenError
from unseen.game import CHANCE, TERMINAL, Game
from unseen.networks.encoding import Layout
from unseen.networks.network import REMEMBERED, Compact, Network, compact, respond, worths
from unseen.search.flights import ANSWERED, IN_THE_AIR, Flights, note_percepts
from unseen.search.rules import Rule
from unseen.tabular.strategy import Strategy
from unseen.tabular.table import NOWHERE, Keeps, cells, fill_table, find, grown, n_actions

OVER, MUST_WAIT, BROKEN = 0, 1, -2
"""How far a simulation has come: to its end; to where it needs an answer; the game broke the protocol."""


class Leaf(Compiled):
    """What all leaves have. `known` is a table that the compiled part may look things up in."""

    is_even: ClassVar[bool] = False
    """Whether all actions are as likely: then `draw` is not asked."""
    needs_keys: ClassVar[bool] = False
    """Whether `draw` looks at keys: if not, playouts do not make any."""
    needs_percepts: ClassVar[bool] = False
    """Whether it is told what the mover has seen."""
    waits: ClassVar[bool] = False
    """Whether answers come from outside."""
    evaluates: ClassVar[bool] = False
    """Whether an answer is the value to the mover, and ends the simulation; otherwise, it is a distribution of the next action."""

    def table(self, game: Game) -> Any:
        """What `draw` looks things up in."""
        return ()

    def has_seen(self, flight, seen, root, before):
        """A simulation begins at a root, where players have had the percepts `before`; both shapes are (2, l, 3)."""

    def saw(self, flight, seen, mover, a, tell):
        """Both players saw what they saw of `mover` playing `a`."""

    def begin_set(self, game, s, rule, known, table, w, who, key, flight, seen, out, n):
        """The set `w` of `who`, with `n` actions in `out`, is new to the tree: what it begins with. The rest is as for `draw`."""

    def draw(self, game, s, known, who, key, flight, seen, answer, out, n, rng):
        """The index of the action that the mover `who` takes, among the `n` in `out`, at the set with this key.

        `seen`, shape (2, l, 3), has the percepts, if the leaf needs them, and `flight` how many; `answer` what was answered from
        outside, shape (w,). The state is for the game's own rules only. An index that is none means that the game is broken.
        """
        return random_index(n, rng)


class UniformPlayout(Leaf):
    """Chooses evenly."""

    is_even = True


class RolloutPlayout(Leaf):
    """Asks the game's own `rollout` rule."""

    def draw(self, game, s, known, who, key, flight, seen, answer, out, n, rng):
        return game.rollout(s, out, n, random(rng))


class Probabilities(Keeps):
    """A strategy in a table."""

    for_action = ("probabilities",)


class StrategyPlayout(Leaf):
    """Follows a tabular strategy: evenly at sets that are not in it."""

    needs_keys = True

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def table(self, game: Game) -> Any:
        strategy = self.strategy
        strategy.check_game(game)
        table = grown(Probabilities.new_table(), len(strategy), len(strategy.actions))
        fill_table(table, strategy.keys, strategy.player, strategy.first, strategy.count, strategy.actions, strategy.probability)
        return table

    def draw(self, game, s, known, who, key, flight, seen, answer, out, n, rng):
        w = find(known, key)
        if w == NOWHERE:
            return random_index(n, rng)
        return pick(known.floats, cells(w, n, 0), n, 1.0, rng) if n_actions(known.halves, w) == n else -1


class Questions(NamedTuple):
    """What simulations in flight want to know: `q` of them, all at a player's move."""

    flight: NDArray[np.int64]  # (q,) which simulation asks
    player: NDArray[np.int64]  # (q,) who is to move
    keys: NDArray[np.uint64]  # (q,) of the mover's information set
    n_actions: NDArray[np.int64]  # (q,)
    actions: NDArray[np.int64]  # (q, w) the legal ones, -1 after them
    seen: NDArray[np.int64]  # (q, l, 3) the mover's percepts, zeros after them
    seen_length: NDArray[np.int64]  # (q,)
    states: NDArray[Any]  # (q,) where they stand: for the game's own `encode`, and for nothing else


Answerer = Callable[[Questions], NDArray[np.float64]]


class Seeing(Leaf):
    """A leaf that knows the percepts of both players, and their keys."""

    needs_keys = True
    needs_percepts = True

    def has_seen(self, flight, seen, root, before):
        flight.seen0 = root.seen0
        flight.seen1 = root.seen1
        for viewer in range(2):
            for t in range(root.seen0 if viewer == 0 else root.seen1):
                for part in range(3):
                    seen[viewer, t, part] = before[viewer, t, part]

    def saw(self, flight, seen, mover, a, tell):
        note_percepts(flight, seen, mover, a, tell)


class NetworkPlayout(Seeing):
    """Plays by a network, which is asked where the simulation is, in compiled code."""

    def __init__(self, network: Network, remembered: int = REMEMBERED) -> None:
        self.network, self.remembered = network, remembered

    def table(self, game: Game) -> tuple[Layout, Compact]:
        if game != self.network.game:
            raise UnseenError(f"the network is for {self.network.game.spec}, not for {game.spec}.")
        return self.network.encoding.layout, compact(self.network, self.remembered)

    def draw(self, game, s, known, who, key, flight, seen, answer, out, n, rng):
        if n == 1:
            return 0
        layout, net = known
        length = flight.seen0 if who == 0 else flight.seen1
        first = respond(game, s, who, key, seen[who], length, out, n, layout, net)
        return pick(net.answers, first, n, 1.0, rng)


class NetworkGuide(NetworkPlayout):
    """The same, and where the tree has no information yet choices begin with what the network says: as regrets, times `prior`.

    If it says what actions are worth, baselines begin with that.
    """

    compiled_fields = {"prior": float}

    def __init__(self, network: Network, prior: float, remembered: int = REMEMBERED) -> None:
        super().__init__(network, remembered)
        self.prior = prior

    def begin_set(self, game, s, rule, known, table, w, who, key, flight, seen, out, n):
        layout, net = known
        length = flight.seen0 if who == 0 else flight.seen1
        first = respond(game, s, who, key, seen[who], length, out, n, layout, net)
        for k in range(n):
            rule.expect(table, w, n, k, self.prior * net.answers[first + k])
            if net.worth > 0:
                worth = net.answers[worths(net, first) + k]
                rule.expect_value(table, w, n, k, worth if who == 0 else -worth)


def leaf_of(network: Network, prior: float, rule: Rule) -> NetworkPlayout:
    """Playouts by a network, of which a search by `rule` also takes what it says of new sets, if it can use that."""
    return NetworkGuide(network, prior) if prior or (network.knows_values and rule.baseline) else NetworkPlayout(network)


class OutsidePolicy(Seeing):
    """A playout policy that is a Python function, asked about many simulations at a time.

    `answer(questions)` returns the probabilities of the legal actions, shape (q, w); what is beyond an information set's number of
    actions is not looked at. They need not sum to one.
    """

    waits = True

    def __init__(self, answer: Answerer, in_flight: int = 64) -> None:
        self.answer, self.in_flight = answer, in_flight

    def draw(self, game, s, known, who, key, flight, seen, answer, out, n, rng):
        total = 0.0
        for k in range(n):
            total += max(answer[k], 0.0)
        return pick(answer, 0, n, total, rng) if total > 0.0 else random_index(n, rng)


class OutsideValue(OutsidePolicy):
    """An evaluation that is a Python function: `answer(questions)` returns the value to the mover, shape (q, 1)."""

    evaluates = True


def questions(game: Game, flights: Flights, waiting: NDArray[np.int64]) -> Questions:
    """What the flights `waiting` want to know."""
    flight = flights.flight[waiting]
    actions, n_actions = np.zeros((len(waiting), game.width), np.int64), np.zeros(len(waiting), np.int64)
    list_actions(game, flights.states, waiting, actions, n_actions)
    actions[np.arange(game.width) >= n_actions[:, None]] = -1
    length = np.where(flight.player == 0, flight.seen0, flight.seen1)
    seen = flights.seen[waiting, flight.player]
    seen[np.arange(seen.shape[1]) >= length[:, None]] = 0
    keys = np.where(flight.player == 0, flight.key0, flight.key1)
    return Questions(waiting, flight.player.copy(), keys, n_actions, actions, seen, length, flights.states[waiting])


@kernel
def list_actions(game, states, flights, actions, n_actions):
    """The legal actions where these flights stand."""
    for q in range(len(flights)):
        n_actions[q] = min(game.actions(states[flights[q]], actions[q]), actions.shape[1])


@piece
def play_out(game, leaf, known, flights, f, work):
    """Go on from where flight `f` stands to the end. Returns OVER, MUST_WAIT or BROKEN."""
    s, flight, answer = flights.states[f], flights.flight[f], flights.answer[f]
    steps, p = flight.steps, game.player(s)
    key0, key1 = flight.key0, flight.key1
    while p != TERMINAL:
        if steps == flights.choices.shape[1]:
            return BROKEN
        if p == CHANCE or leaf.is_even:
            a = random_action(game, s, p, work.out, work.rng)
            if a < 0:
                return BROKEN
        else:
            n = game.actions(s, work.out)
            if not is_mover(p) or not is_proper(work.out, n):
                return BROKEN
            if leaf.waits:
                if flight.status != ANSWERED:
                    flight.steps = steps
                    flight.player = p
                    flight.key0 = key0
                    flight.key1 = key1
                    return MUST_WAIT
                flight.status = IN_THE_AIR
            if leaf.evaluates:
                flight.value = answer[0] if p == 0 else -answer[0]
                return OVER
            key = key0 if p == 0 else key1
            k = leaf.draw(game, s, known, p, key, flight, flights.seen[f], answer, work.out, n, work.rng)
            if k < 0 or k >= n:
                return BROKEN
            a = work.out[k]
        step(game, s, a, work.tell)
        steps += 1
        if leaf.needs_keys:
            key0, key1 = next_key(key0, 0, p, a, work.tell), next_key(key1, 1, p, a, work.tell)
        leaf.saw(flight, flights.seen[f], p, a, work.tell)
        p = game.player(s)
    flight.value = game.utility(s, 0)
    return OVER
