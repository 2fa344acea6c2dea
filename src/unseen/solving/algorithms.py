"""One string names a solver: `cfr+`, `dcfr(alternating=false)`, `outcome_sampling(epsilon=0.6)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.loading import nearest, parse
from unseen.options import Parameter, Value, read_all, with_defaults
from unseen.solving.minimisers import MINIMISERS, Minimiser
from unseen.solving.solvers import (
    ChanceSampling,
    ExternalSampling,
    OutcomeSampling,
    SamplingSolver,
    SequenceSolver,
    Solver,
    VanillaCFR,
)

BOTH_IN_TURN = "both players in turn, over the whole game"


@dataclass(frozen=True)
class Algorithm:
    """What there is to know of an algorithm before it is run."""

    text: str
    source: str
    iteration: str
    solver: type[SamplingSolver] | None = None
    """What it is made of, if it does not work on the sequence form."""
    defaults: Mapping[str, Value] = field(default_factory=dict)
    """Its options, where they differ from the plainest member of its family."""

    @property
    def options(self) -> dict[str, Parameter]:
        return with_defaults((self.solver or Minimiser).parameters, self.defaults)


def _family(name: str, text: str, source: str) -> Algorithm:
    return Algorithm(text, source, BOTH_IN_TURN, defaults=MINIMISERS[name])


MCCFR = "M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, Monte Carlo sampling for regret minimization in extensive games, 2009"
ALGORITHMS = {
    "cfr": _family(
        "cfr", "Counterfactual regret minimisation: regret matching at every information set; the average strategy converges.",
        "M. Zinkevich, M. Johanson, M. Bowling and C. Piccione, Regret minimization in games with incomplete information, 2007",
    ),
    "cfr+": _family(
        "cfr+", "Regrets never below zero, and an average in which iteration t counts t times.",
        "O. Tammelin, Solving large imperfect information games using CFR+, 2014",
    ),
    "linear_cfr": _family(
        "linear_cfr", "Iteration t counts t times, in the regrets and in the average.",
        "N. Brown and T. Sandholm, Solving imperfect-information games via discounted regret minimization, 2019",
    ),
    "dcfr": _family(
        "dcfr", "Old regrets are discounted, negative ones more. A good first choice.",
        "N. Brown and T. Sandholm, Solving imperfect-information games via discounted regret minimization, 2019",
    ),
    "pcfr+": _family(
        "pcfr+", "CFR+ that expects the next regrets to be like the last.",
        "G. Farina, C. Kroer and T. Sandholm, Faster game solving via predictive Blackwell approachability, 2021",
    ),
    "sapcfr+": _family(
        "sapcfr+", "The same, with a third of that expectation. Often the fastest where great precision is wanted.",
        "SAPCFR+: L. Meng, T. Yang, Y. Zhang, Z. Ge and Y. Gao, Faster game solving via asymmetry of step sizes, 2026 (its "
        "alpha is 2, so a third of the last regrets is added)",
    ),
    "vanilla_cfr": Algorithm(
        "CFR by walking the game, without a stored tree. Pruning leaves out what the opponent's behaviour never does, which "
        "changes nothing but the work.", MCCFR, "one walk, for one player",
        VanillaCFR,
    ),
    "chance_sampling": Algorithm(
        "CFR that draws one outcome at each chance node.", MCCFR, "one walk, for one player", ChanceSampling,
    ),
    "external_sampling": Algorithm(
        "All of one player's actions, one of everybody else's: the opponent's is drawn once for each of its information sets.",
        MCCFR, "one walk, for one player", ExternalSampling,
    ),
    "outcome_sampling": Algorithm(
        "One play of the game at a time; the player that is updated explores.", MCCFR, "one play, for one player", OutcomeSampling,
    ),
}  # fmt: skip


def names() -> list[str]:
    """All algorithms."""
    return list(ALGORITHMS)


def _look_up(spec: str) -> tuple[Algorithm, dict[str, Any]]:
    """The algorithm that `spec` names, and its options."""
    name, given = parse(spec, "algorithm")
    if name not in ALGORITHMS:
        near = nearest(name, names())
        hint = f"did you mean {near!r}? " if near else ""
        raise UnseenError(f"algorithm {name!r} is unknown; {hint}The algorithms are: {', '.join(names())}.")
    return ALGORITHMS[name], read_all(name, ALGORITHMS[name].options, given, "option")


def needs_form(spec: str) -> bool:
    """Whether the algorithm works on the sequence form, so that the game must be enumerated; else it keeps a table of sets."""
    return _look_up(spec)[0].solver is None


def make_solver(spec: str, game: Game, form: SequenceForm | None, seed: int = 0) -> Solver:
    """The solver that `spec` names, at its beginning."""
    algorithm, options = _look_up(spec)
    if algorithm.solver is not None:
        return algorithm.solver(game, seed, **options)
    if form is None:
        raise UnseenError(f"{spec} works on the sequence form, so it needs the game enumerated.")
    return SequenceSolver(form, Minimiser(**options))
