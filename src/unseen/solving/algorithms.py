"""One string names a solver: `cfr+`, `dcfr(alternating=false)`, `outcome_sampling(epsilon=0.6)`."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, nan
from typing import Any

from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.loading import nearest, parse
from unseen.solving.minimisers import MINIMISERS, Minimiser
from unseen.solving.solvers import OutcomeSampling, SequenceSolver, Solver, Traversal
from unseen.solving.traversal import Plan

FAMILY = {
    "alpha": (inf, "positive regrets of before are multiplied with s^alpha / (s^alpha + 1), s = t - 1"),
    "beta": (inf, "the same for negative ones"),
    "gamma": (0.0, "iteration t counts t^gamma in the average"),
    "prediction": (0.0, "how many times the last regrets are added to the sum that the next behaviour is made from"),
    "floor": (False, "whether negative sums of regrets become 0"),
    "alternating": (True, "whether the second player answers to the first one's new plan, or both to the old ones"),
}
"""The options of the regret family, with the defaults of its plainest member."""
BOTH_IN_TURN = "both players in turn, over the whole game"
LARGEST_OPTION = 20
"""Powers of iteration numbers beyond this would leave the range of numbers."""
WORDS = {"averaging": ("stochastic", "lazy")}
"""What an option that is a word can be."""


@dataclass(frozen=True)
class Algorithm:
    """What there is to know of an algorithm before it is run."""

    text: str
    source: str
    iteration: str
    needs_form: bool = False
    """Whether it works on the sequence form, so that the game must be enumerated; else it keeps a table of the sets it has met."""
    options: dict[str, tuple[Any, str]] = field(default_factory=dict)
    """The default and the meaning of each option."""


def _family(name: str, text: str, source: str) -> Algorithm:
    options = {key: (MINIMISERS[name].get(key, default), meaning) for key, (default, meaning) in FAMILY.items()}
    return Algorithm(text, source, BOTH_IN_TURN, needs_form=True, options=options)


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
    "damped_pcfr+": _family(
        "damped_pcfr+", "The same, trusting a third of that expectation. Often the fastest where great precision is wanted.",
        "after G. Farina, C. Kroer and T. Sandholm, Faster game solving via predictive Blackwell approachability, 2021",
    ),
    "vanilla_cfr": Algorithm(
        "CFR by walking the game, without a stored tree. Pruning leaves out what the opponent's behaviour never does, which "
        "changes nothing but the work.", MCCFR, "one walk, for one player",
        options={"pruning": (True, "whether to leave out what the opponent never does")},
    ),
    "chance_sampling": Algorithm(
        "CFR that draws one outcome at each chance node.", MCCFR, "one walk, for one player",
    ),
    "external_sampling": Algorithm(
        "All of one player's actions, one of everybody else's: the opponent's is drawn once for each of its information sets.",
        MCCFR, "one walk, for one player",
    ),
    "outcome_sampling": Algorithm(
        "One play of the game at a time; the player that is updated explores.", MCCFR, "one play, for one player",
        options={
            "epsilon": (0.6, "the probability of an even choice, for the player that is updated"),
            "averaging": ("stochastic", "how the average strategy is added up: stochastic (right on average) or lazy (exact)"),
        },
    ),
}  # fmt: skip


def names() -> list[str]:
    """All algorithms."""
    return list(ALGORITHMS)


def _look_up(spec: str) -> tuple[str, dict[str, Any]]:
    """The name and the options that `spec` gives."""
    name, given = parse(spec, "algorithm")
    if name not in ALGORITHMS:
        near = nearest(name, names())
        hint = f"did you mean {near!r}? " if near else ""
        raise UnseenError(f"algorithm {name!r} is unknown; {hint}The algorithms are: {', '.join(names())}.")
    return name, {key: _read(name, key, value) for key, value in given.items()}


def needs_form(spec: str) -> bool:
    """Whether the algorithm works on the sequence form."""
    return ALGORITHMS[_look_up(spec)[0]].needs_form


def make_solver(spec: str, game: Game, form: SequenceForm | None, seed: int = 0) -> Solver:
    """The solver that `spec` names, at its beginning."""
    name, options = _look_up(spec)
    if ALGORITHMS[name].needs_form:
        if form is None:
            raise UnseenError(f"{name} works on the sequence form, so it needs the game enumerated.")
        return SequenceSolver(form, Minimiser(**(MINIMISERS[name] | options)))
    if name == "outcome_sampling":
        return OutcomeSampling(game, seed, **options)
    is_vanilla = name == "vanilla_cfr"
    prunes = is_vanilla and options.get("pruning", True)
    return Traversal(game, Plan(not is_vanilla, name == "external_sampling", prunes), seed)


def _read(algorithm: str, key: str, value: Any) -> Any:
    """The value of an option: a number, a word, or true or false, as its default is."""
    known = ALGORITHMS[algorithm].options
    if key not in known:
        raise UnseenError(f"{algorithm}: there is no option {key!r}; the options are: {', '.join(known) or 'none'}.")
    default = known[key][0]
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise UnseenError(f"{algorithm}: {key} is {value!r}, but must be true or false.")
    if isinstance(default, str):
        if value in WORDS[key]:
            return value
        raise UnseenError(f"{algorithm}: {key} is {value!r}, but must be one of {', '.join(WORDS[key])}.")
    most = inf if key in ("alpha", "beta") else LARGEST_OPTION
    try:
        number = nan if isinstance(value, bool) else float(value)
    except ValueError:
        number = nan
    if not -LARGEST_OPTION <= number <= most:
        raise UnseenError(f"{algorithm}: {key} is {value!r}, but must be a number from -{LARGEST_OPTION} to {most}.")
    return number
