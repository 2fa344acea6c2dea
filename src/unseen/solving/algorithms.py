"""One string names a solver: `cfr+`, `dcfr(alternating=false)`, `outcome_sampling(epsilon=0.6)`."""

from __future__ import annotations

from typing import Any

from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.loading import nearest, parse
from unseen.solving.minimisers import MINIMISERS, Minimiser
from unseen.solving.solvers import OutcomeSampling, SequenceSolver, Solver, TraversalSampling

SAMPLERS = ("outcome_sampling", "external_sampling", "chance_sampling")
OPTIONS = {"outcome_sampling": ("epsilon",), "external_sampling": (), "chance_sampling": ()}


def names() -> list[str]:
    """All algorithms."""
    return [*MINIMISERS, *SAMPLERS]


def make_solver(spec: str, game: Game, form: SequenceForm, seed: int = 0) -> Solver:
    """The solver that `spec` names, at its beginning."""
    name, given = parse(spec, "algorithm")
    if name not in names():
        near = nearest(name, names())
        hint = f"did you mean {near!r}? " if near else ""
        raise UnseenError(f"algorithm {name!r} is unknown; {hint}The algorithms are: {', '.join(names())}.")
    known = OPTIONS.get(name, tuple(Minimiser.compiled_fields))
    options = {key: _number(name, key, value, known) for key, value in given.items()}
    if name in MINIMISERS:
        return SequenceSolver(form, Minimiser(**(MINIMISERS[name] | options)))
    if name == "outcome_sampling":
        return OutcomeSampling(game, seed, **options)
    return TraversalSampling(game, seed, sample_opponent=name == "external_sampling")


def _number(algorithm: str, key: str, value: Any, known: tuple[str, ...]) -> Any:
    """The value of an option, a number or true or false."""
    if key not in known:
        raise UnseenError(f"{algorithm}: there is no option {key!r}; the options are: {', '.join(known) or 'none'}.")
    if Minimiser.compiled_fields.get(key) is bool:
        if isinstance(value, bool):
            return value
        raise UnseenError(f"{algorithm}: {key} is {value!r}, but must be true or false.")
    try:
        return float(value)
    except ValueError:
        raise UnseenError(f"{algorithm}: {key} is {value!r}, but must be a number.") from None
