"""Agents that look at every world they believe in as if nothing were hidden, and act on the average.

What is wrong with that has two names. *MAX's strategy fusion*: the agent believes that it will be able to act differently in worlds
that it will not be able to tell apart; vector minimax mends that. *MIN's*: it believes the same of its opponent; presumed payoffs
allow for the errors of an opponent that knows less than everything. F. Wisser, "Evaluating the performance of Presumed Payoff
Perfect Information Monte Carlo sampling against optimal strategies" (2016).
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Agent, Budget, Kind
from unseen.belief.worlds import WEIGHTS, Turn, Worlds
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.options import Declared, Value, parameter
from unseen.perfect.knowledge import UNKNOWN, KnowledgeEstimate
from unseen.perfect.minimax import ALL, EXPECTED, SHUFFLED, Minimax, Valuation
from unseen.perfect.mixing import MIXINGS
from unseen.perfect.solver import Found, Solver
from unseen.perfect.vectors import PayoffReduction, VectorMinimax, VectorSolver
from unseen.position import Percept, random_walk
from unseen.show.results import Result

if TYPE_CHECKING:
    from rich.table import Table

Floats = NDArray[np.float64]
NODES = 4_000_000
"""Positions to look at for a move, unless something else is said."""
REDRAWS = 3
"""How often worlds are drawn anew when none of those drawn is left."""
SEATS = ("first", "second", "both")
CHANCES = ("expected", "fixed", "shuffled", "game")
"""In the order of minimax.EXPECTED, BY_STATE and SHUFFLED; `game`: the last for a game that says so, otherwise the first."""


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """Why an agent chooses as it does: for each action some numbers, of which earlier ones decide first."""

    agent: str
    actions: dict[int, str]
    """The legal actions, and what the game calls them."""
    columns: dict[str, Floats]
    """Numbers by name, (c,) each, NaN for an action that cannot succeed in any of the worlds."""
    chances: Floats
    """The probability of each action, (c,)."""
    looked_at: int
    """In so many worlds."""
    worlds: int
    """Of so many that fit what was seen."""
    seconds: float

    @property
    def title(self) -> str:
        return f"{self.agent}, {self.looked_at:,} of {self.worlds:,} worlds, {1000 * self.seconds:.1f} ms"

    @property
    def summary(self) -> str:
        best = [name for name, chance in zip(self.actions.values(), self.chances, strict=True) if chance > 0.0]
        return " or ".join(best)

    def as_dict(self) -> dict[str, Any]:
        return {
            "agent": self.agent, "worlds": self.worlds, "looked_at": self.looked_at, "seconds": self.seconds,
            "actions": [
                {"action": a, "name": name, "probability": float(self.chances[i]),
                 **{c: None if np.isnan(x[i]) else float(x[i]) for c, x in self.columns.items()}}
                for i, (a, name) in enumerate(self.actions.items())
            ],
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        shown = {a: ", ".join(f"{c} {x[i]:z.3f}" for c, x in self.columns.items()) for i, a in enumerate(self.actions)}
        return {name: f"{self.chances[i]:.3f}  ({shown[a]})" for i, (a, name) in enumerate(self.actions.items())}

    def table(self) -> Table:
        from rich.table import Table

        table = Table("action", *self.columns, "probability", title=self.title)
        for i, name in enumerate(self.actions.values()):
            numbers = ("-" if np.isnan(x[i]) else f"{x[i]:z.3f}" for x in self.columns.values())
            table.add_row(name, *numbers, f"{self.chances[i]:.3f}" if self.chances[i] else "")
        return table


class Drawn(NamedTuple):
    """A priority sample of worlds (N. Duffield, C. Lund and M. Thorup, 2007), as far as one looks.

    Of `w` worlds, each with its weight over a random number from (0, 1] as priority, those with the highest come first. If `n` of
    them are looked at, each counts its weight, but at least the priority of the one after them: so sums over all worlds are right
    on average, and worlds of equal weights count alike.
    """

    order: NDArray[np.int64]  # (k,) the worlds to be looked at, in this order
    seeds: NDArray[np.uint64]  # (k,) of chance to come
    least: NDArray[np.float64]  # (k + 1,) what each counts at least if so many are looked at


class WorldsAgent(Declared, Agent):
    """What these agents share: the worlds they believe in, a solver of open games, and ties that are broken evenly."""

    worlds: int = parameter(100, minimum=1, help="worlds to look at for a move, drawn by what they count if there are more")
    seconds: float = parameter(0.0, minimum=0.0, help="look at worlds only as long as this; 0: no limit")
    nodes: int = parameter(
        0,
        minimum=0,
        help="begin with no further world once so many positions were looked at; 0: 4,000,000, if there are no seconds",
    )
    weights: int = parameter(
        "chance", choices=WEIGHTS,
        help="what a world counts: the probability of its chance outcomes, the sum of it over its histories, or one",
    )  # fmt: skip
    chance: int = parameter(
        "game", choices=CHANCES,
        help="chance to come: its mean; fixed for each world and state, or as an order of outcomes; as the game says",
    )  # fmt: skip
    memory: float = parameter(32.0, minimum=0.001, maximum=1e5, help="megabytes for values of states")
    indifference: float = parameter(1e-9, minimum=0.0, help="differences of values that do not count")
    valuation: ClassVar[type[Valuation]] = Minimax
    by_worth: ClassVar[bool] = False
    solver: ClassVar[type[Solver]] = Solver

    def __init__(self, made_for: Game, name: str, **options: Value) -> None:
        super().__init__(**options)
        if made_for.simultaneous:
            raise UnseenError(f"agent {name!r}: it is for games in which players move in turn, and in {made_for.spec} they do not.")
        self.made_for, self.name = made_for, name
        if CHANCES[self.chance] == "game":
            self.chance = SHUFFLED if made_for.predetermined else EXPECTED
        self._starts: dict[int, Worlds] = {}
        self._solvers: dict[int, Solver] = {}

    def compile(self) -> None:
        """By its first decision in a random game."""
        for position in random_walk(self.made_for, random.Random(0)):
            if position.player in (0, 1) and len(position.actions) > 1:
                self.begin(self.made_for, position.player, 0)
                for percept in position.seen(position.player):
                    self.observe(percept)
                self.choose(position.actions)
                return

    def thinks(self, budget: Budget | None) -> str:
        seconds = self.seconds or (budget.seconds if budget else 0.0)
        return f", up to {self.worlds:,} worlds" + (f" and {seconds:g} seconds" if seconds else "") + " a move"

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        if game != self.made_for:
            raise UnseenError(f"{self.name} was made for {self.made_for.spec}, not for {game.spec}.")
        super().begin(game, seat, seed, budget)
        self.limit = self.seconds or (budget.seconds if budget else 0.0)
        if seat not in self._starts:
            try:
                self._solvers[seat] = self.solver(game, self.valuation(**self.valuing), seat, self.memory)
            except MemoryError:
                raise UnseenError(f"{self.name}: there is no room for a table of memory={self.memory:g} megabytes.") from None
            self._starts[seat] = Worlds(game, seat, WEIGHTS[self.weights], seed=seed)
        start = self._starts[seat]
        self.believed = self.start(seed) if start.is_sample else start.with_seed(seed)
        self.considered: tuple[int, Explanation] | None = None

    @property
    def valuing(self) -> dict[str, Any]:
        """The parameters of its valuation."""
        return {"fixes_chance": self.chance, "by_worth": self.by_worth}

    def start(self, seed: int) -> Worlds:
        """The worlds at the start of the game, drawn by a seed if there are too many."""
        return Worlds(self.game, self.seat, WEIGHTS[self.weights], seed=seed)

    def observe(self, percept: Percept) -> None:
        super().observe(percept)
        self.believed = self.believed.after(percept)
        for _ in range(REDRAWS):  # a sample of too many may contradict what was seen since: others may not
            if not self.believed.is_sample or self.believed.count:
                break
            self.believed = self.start(self.rng.getrandbits(32)).after_all(self.seen)

    def fork(self, seed: int) -> Agent:
        other = super().fork(seed)
        assert isinstance(other, WorldsAgent)
        other.believed = self.believed.with_seed(seed)
        return other

    @property
    def is_certain(self) -> bool:
        """Whether its choice here depends on nothing but what was seen: it looks at all worlds, and draws nothing."""
        is_whole = not self.believed.is_sample and len(self.believed.turn.states) <= self.worlds
        return not self.limit and self.chance == EXPECTED and is_whole

    @property
    def question(self) -> bytes:
        """What its choice here depends on: equal questions have equal answers, if it is certain."""
        return self.believed.turn.text

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        if len(actions) == 1:
            return {actions[0]: 1.0}
        chances = self.consider(actions).chances
        return {a: p for a, p in zip(actions, chances.tolist(), strict=True) if p > 0.0}

    def explain(self) -> Explanation:
        """The numbers behind its choice, now that it is this agent's turn; those of the choice itself, if it has made it."""
        if self.considered is not None and self.considered[0] == len(self.seen):
            return self.considered[1]
        worlds, out = self.believed.closed_turn.states, np.zeros(self.game.width, np.int64)
        if not len(worlds):
            raise UnseenError(f"{self.name}: there is nothing to explain, as it is not its turn.")
        return self.consider(out[: self.game.actions(self.game.as_plain(worlds[0]), out)].tolist())

    def consider(self, actions: Sequence[int]) -> Explanation:
        """Look at the worlds, and choose."""
        began = time.perf_counter()
        turn = self.believed.turn
        if not len(turn.states) and self.believed.is_sample:  # of the worlds that fit none is known
            none, even = np.full(len(actions), np.nan), np.full(len(actions), 1.0 / len(actions))
            names = {int(a): str(a) for a in actions}
            return Explanation(self.name, names, dict.fromkeys(self.decides, none), even, 0, 0, time.perf_counter() - began)
        if not len(turn.states):
            raise UnseenError(f"{self.name}: no state of {self.game.spec} fits what was seen.")
        columns, looked_at = self.judge(turn, self.draw(turn), np.asarray(actions, np.int64), began)
        best = np.isfinite(columns[self.decides[0]])
        if not best.any():  # nothing is known of any of them
            best[:] = True
        else:
            for name in self.decides:  # lexicographic order, with a threshold
                best &= columns[name] >= columns[name][best].max() - self.indifference
        world = self.game.as_plain(turn.states[0])
        names = {int(a): self.game.describe_action(world, int(a)) for a in actions}
        chances = self.mix(columns, best)
        found = Explanation(self.name, names, columns, chances, looked_at, len(turn.states), time.perf_counter() - began)
        self.considered = len(self.seen), found
        return found

    decides: ClassVar[tuple[str, ...]]
    """The columns that decide, the first one first."""

    def mix(self, columns: dict[str, Floats], best: NDArray[np.bool_]) -> Floats:
        """The probabilities of the actions, of which some are `best`."""
        chances: Floats = best / best.sum()
        return chances

    def draw(self, turn: Turn) -> Drawn:
        """The worlds to be looked at: by priority sampling, so those that count more come sooner, and worlds that count alike in
        random order."""
        n = len(turn.states)
        if self.is_certain:
            return Drawn(np.arange(n), np.zeros(n, np.uint64), np.zeros(n + 1))
        self._solvers[self.seat].forget()
        rng = np.random.default_rng(self.rng.getrandbits(64))
        order, looks = rng.permutation(n), min(n, self.worlds)
        seeds = rng.integers(1, 2**63, looks).astype(np.uint64) if self.chance != EXPECTED else np.zeros(looks, np.uint64)
        priority = turn.weights[order] / np.sort(1.0 - rng.random(n))
        first = np.argsort(-priority, kind="stable")[: looks + 1]
        return Drawn(order[first[:looks]], seeds, np.append(priority[first], 0.0)[: looks + 1])

    def judge(
        self, turn: Turn, drawn: Drawn, actions: NDArray[np.int64], began: float
    ) -> tuple[dict[str, Floats], int]:  # fmt: skip
        """The columns of the explanation, and how many worlds were looked at."""
        deadline = began + self.limit if self.limit else np.inf
        nodes = 0 if self.is_certain else self.nodes or (0 if self.limit else NODES)
        solver, weights = self._solvers[self.seat], np.maximum(turn.weights[drawn.order], drawn.least[-1])
        found, n = solver.evaluate(turn.states[drawn.order], drawn.seeds, actions, deadline, nodes, weights)
        # Rounded, so that no choice depends on the order in which errors were added up.
        found = Found(np.round(found.values[:n], 12), found.legal[:n], found.known[:n])
        return self.columns(found, np.maximum(turn.weights[drawn.order[:n]], drawn.least[n]), actions), n

    def columns(self, found: Found, weights: Floats, actions: NDArray[np.int64]) -> dict[str, Floats]:
        raise NotImplementedError


def mean_of(numbers: Floats, found: Found, weights: Floats) -> Floats:
    """The mean over the worlds in which an action is there, (c,); NaN where it is in none. `numbers`: (n, c), `weights`: (n,)."""
    mass = np.where(np.isnan(numbers), 0.0, found.legal * weights[:, None])
    with np.errstate(invalid="ignore"):
        mean: Floats = (mass * np.nan_to_num(numbers)).sum(axis=0) / mass.sum(axis=0)
    return mean


class StraightPIMC(WorldsAgent):
    """Straight perfect information Monte Carlo sampling: the mean of minimax values."""

    decides = ("ap",)

    def columns(self, found: Found, weights: Floats, actions: NDArray[np.int64]) -> dict[str, Floats]:
        return {"ap": mean_of(found.values[:, :, 0], found, weights)}


class BestVector(StraightPIMC):
    """Vector minimax: the mean of the vector that one plan for all worlds gets."""

    valuation = VectorMinimax
    solver = VectorSolver
    skips_missing: bool = parameter(
        False,
        help="whether worlds in which an action of its own is not there have no part in it, instead of being played on in alone",
    )

    @property
    def valuing(self) -> dict[str, Any]:
        return {**super().valuing, "skips_missing": bool(self.skips_missing)}


class BestReducedVector(BestVector):
    """Payoff-reduction minimax: the same with payoffs reduced."""

    valuation = PayoffReduction


class PresumedPayoff(WorldsAgent):
    """Presumed Payoff PIMC, equations (1) to (4): (pp, ap, tp) in lexicographic order."""

    decides = ("pp", "ap", "tp")
    errors: int = parameter(
        -1, minimum=-1, maximum=ALL, help="errors of the opponent count in so many moves; 0: in all; -1: as the game says"
    )
    knowledge: Any = parameter(
        "rule", minimum=0.0, maximum=1.0, words=("rule", "belief"),
        help="how much the opponent knows of what is hidden from it: by the game's own rule (0.5 if it has none), by beliefs",
    )  # fmt: skip
    mixing: int = parameter("best", choices=tuple(MIXINGS), help="how to choose: evenly among the best, or truly mixed")
    mixes_as: int = parameter("both", choices=SEATS, help="the seat in which it mixes; in the other it plays the best")
    temperature: float = parameter(0.15, above=0.0, help="how much worse an action may be, for mixing=near and mixing=softmax")

    @property
    def valuing(self) -> dict[str, Any]:
        errors = self.made_for.error_horizon if self.errors < 0 else self.errors
        return {**super().valuing, "errors": errors or ALL}

    @cached_property
    def estimate(self) -> KnowledgeEstimate:
        return KnowledgeEstimate(self.made_for)

    @property
    def question(self) -> bytes:
        return repr(self.seen).encode() if self.knowledge == "belief" else super().question

    def columns(self, found: Found, weights: Floats, actions: NDArray[np.int64]) -> dict[str, Floats]:
        m, p, a = np.moveaxis(found.values, -1, 0)
        k = self.known(found, actions)
        self.presumed = np.where(found.legal, m + (1.0 - k) * p * a, np.nan), weights
        numbers = (m + (1.0 - k) * p * a, m, m + p * a, k)
        return {name: mean_of(each, found, weights) for name, each in zip((*self.decides, "k"), numbers, strict=True)}

    def mix(self, columns: dict[str, Floats], best: NDArray[np.bool_]) -> Floats:
        way = MIXINGS[tuple(MIXINGS)[self.mixing]]
        if way is None or self.mixes_as == 1 - self.seat:
            return super().mix(columns, best)
        chances = np.zeros(len(best))
        is_there = np.isfinite(columns[self.decides[0]])
        presumed, weights = self.presumed
        chances[is_there] = way(presumed[:, is_there], weights, self.temperature)
        return chances

    def known(self, found: Found, actions: NDArray[np.int64]) -> Floats:
        """How much MIN knows after each action in each world, (n, c)."""
        if self.knowledge == "belief":
            return np.full_like(found.known, self.estimate.after(self.seat, self.seen, actions.tolist()))
        if self.knowledge == "rule":
            return found.known if self.game.has_knowledge else np.full_like(found.known, UNKNOWN)
        return np.full_like(found.known, self.knowledge)


class PresumedValue(PresumedPayoff):
    """Presumed Value PIMC: the end of a round counts by what it is worth for the rest of the game, instead of by what it pays."""

    by_worth = True
    decides = ("pv", "av", "tv")


def make_of(kind: type[WorldsAgent]) -> Any:
    def make(game: Game, name: str, options: Mapping[str, Any]) -> Agent:
        return kind(game, name, **kind.pick(options))

    return make


WISSER = (
    "F. Wisser, Evaluating the performance of Presumed Payoff Perfect Information Monte Carlo sampling against optimal strategies, "
    "2016"
)
FRANK = "I. Frank and D. Basin, A theoretical and empirical investigation of search in imperfect information games, 2001"
AGENTS: dict[str, Kind] = {
    "pimc": Kind(
        "Straight perfect information Monte Carlo sampling (SP): the action with the best mean, over the worlds that fit, of its "
        "value if nothing were hidden. Fast, and wrong about what will be known later.", WISSER, make_of(StraightPIMC),
        StraightPIMC.parameters,
    ),
    "ppp": Kind(
        "Presumed Payoff PIMC: straight PIMC that allows for errors of an opponent who does not know everything.", WISSER,
        make_of(PresumedPayoff), PresumedPayoff.parameters,
    ),
    "pvp": Kind(
        "Presumed Value PIMC: `ppp` for games of several rounds, in which a round counts by what it is worth for the rest; in a "
        "game of one round both are the same.",
        "F. Wisser, An expert-level card playing agent based on a variant of perfect information Monte Carlo sampling, 2015",
        make_of(PresumedValue), PresumedValue.parameters,
    ),
    "vmm": Kind(
        "Vector minimax: one plan for all worlds that cannot be told apart, against an opponent that knows everything. It looks at "
        "all of the tree, so it is for small games.", FRANK, make_of(BestVector), BestVector.parameters,
    ),
    "prm": Kind(
        "Payoff-reduction minimax: vector minimax after payoffs that only an opponent's mistake would give have been taken away.",
        FRANK,
        make_of(BestReducedVector), BestReducedVector.parameters,
    ),
}  # fmt: skip
