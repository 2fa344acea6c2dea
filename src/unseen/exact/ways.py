"""Which sequence form of a game fits: stored, streamed or reduced, by the game's hints and an estimate of its size.

The one place that decides it, for all commands and functions that make a form from a game. A form that is stored serves everything,
so a game that is small, or without hints, is stored if there is memory for that. A large game that has symmetries, or knows when
its payoffs are settled, is reduced; what has no room is streamed. What no walk can get through is refused at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import NamedTuple

from unseen.enumeration.walker import MEMORY_SHARE, Enumeration, machine_memory
from unseen.enumeration.whole import LARGE, enumerate_game
from unseen.errors import UnseenError
from unseen.exact.sequence_form import Asymmetric, SequenceForm, reduction_for
from unseen.exact.size import Size, glance
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import Progress
from unseen.tabular.strategy import Strategy

BYTES_PER_ENTRY = 48
"""For each terminal history: 16 bytes kept, and as much again twice while the array that holds them grows."""
HOPELESS = 1e12
"""Histories that no walk gets through in a day."""


class Way(NamedTuple):
    """How a sequence form is held: `SequenceForm(game, streamed, reduced=reduced)`."""

    streamed: bool
    reduced: bool


STORED, STREAMED, REDUCED, REDUCED_STREAMED = Way(False, False), Way(True, False), Way(False, True), Way(True, True)


def choose_way(
    game: Game, *, streamed: bool | None = None, reduced: bool | None = None, symmetric: bool = True, memory: int | None = None
) -> Way:
    """The way that fits. Either of `streamed` and `reduced`, if it is not None, is what a person has asked for.

    `symmetric`: whether the strategies that the form is to hold respect the game's symmetries. `memory`: the most bytes to use.
    """
    if streamed is not None or reduced is not None:
        return Way(bool(streamed), bool(reduced))
    if is_tiny(game):
        return STORED
    size, symmetries = glance(game), len(game.symmetries())
    has_hints = type(game).settled is not Game.settled or symmetries > 1
    if size.histories.mean <= LARGE or not has_hints:
        check_size(size, size.histories.mean)
        return STORED if fits(size, memory) else STREAMED
    can_reduce = symmetric or symmetries == 1
    walk = size.unsettled.mean / (symmetries if can_reduce else 1)
    check_size(size, walk)
    if not can_reduce:
        return STREAMED
    return REDUCED if fits(size, memory, walk / size.histories.mean) else REDUCED_STREAMED


def is_tiny(game: Game) -> bool:
    """Whether a game is small whatever its rules are: it offers few choices, few times."""
    return game.max_length * log(max(game.width, 2)) < log(LARGE) - 1


def fits(size: Size, memory: int | None, part: float = 1.0) -> bool:
    """Whether a `part` of the payoffs of a game of this `size` can be stored in `memory` bytes, or in what the machine has."""
    room = MEMORY_SHARE * machine_memory() if memory is None else memory
    return size.terminals.mean * part * BYTES_PER_ENTRY < room


def check_size(size: Size, histories: float) -> None:
    """Raise if a walk over so many `histories` of a game of this `size` is hopeless."""
    if histories > HOPELESS:
        raise UnseenError(
            f"{size.sentence}, too many for anything that walks the whole game; what samples or "
            "searches does without: match, play, tournament, compare --games, and solve --no-evaluate with a sampling algorithm."
        )


def form_for(
    game: SequenceForm | Game | str, strategies: Iterable[Strategy] = (), *, streamed: bool | None = None,
    reduced: bool | None = None, symmetric: bool = True, memory: int | None = None, progress: Progress | bool | None = None,
) -> SequenceForm:  # fmt: skip
    """The sequence form of a game in the way that fits, for these `strategies`; a form that is one already stays as it is.

    `streamed`, `reduced`, `symmetric` and `memory` are as for `choose_way`, `progress` as for `SequenceForm`.
    """
    if isinstance(game, SequenceForm):
        return game
    game = load(game)
    way = choose_way(game, streamed=streamed, reduced=reduced, symmetric=symmetric, memory=memory)
    form = SequenceForm(game, way.streamed, progress, memory, way.reduced)
    if way.reduced and reduced is None:
        try:
            for strategy in strategies:
                form.behaviours(strategy)
        except Asymmetric:
            way = choose_way(game, symmetric=False, memory=memory)
            form = SequenceForm(game, way.streamed, progress, memory, way.reduced)
    return form


def walked_form(game: Game, progress: Progress | bool | None = None) -> tuple[Enumeration, SequenceForm]:
    """A game enumerated, for agents to be asked at all its information sets, and the form on them, in the way that fits."""
    way = choose_way(game, symmetric=False)
    walked = enumerate_game(game, store=not way.streamed, progress=progress, reduced=reduction_for(game, *way))
    return walked, SequenceForm(game, way.streamed, progress, reduced=way.reduced, found=walked)


def stored_form(game: SequenceForm | Game | str, *, memory: int | None = None) -> SequenceForm:
    """The form with all payoffs stored, for what needs them so; refused at once if there is no room for them."""
    if isinstance(game, SequenceForm):
        return game
    game = load(game)
    if is_tiny(game) or fits(glance(game), memory):
        return SequenceForm(game, memory=memory)
    raise UnseenError(
        f"{glance(game).sentence}, too many for the linear program, which needs all payoffs stored; "
        "`unseen solve` (unseen.solve) comes as close as asked for."
    )


def exploitability(
    game: SequenceForm | Game | str, strategy: Strategy, *, streamed: bool | None = None, reduced: bool | None = None
) -> float:
    """The exact exploitability of `strategy`: the sum of both players' best-response values against it.

    `game` is the game or, to save building it again, its sequence form. The form is made in the way that fits; `streamed` walks
    the game instead of storing its payoffs, `reduced` leaves out mirror images and settled endings (see `SequenceForm`), and
    False for both stores all. For more than the sum: `SequenceForm.evaluate`.
    """
    return form_for(game, [strategy], streamed=streamed, reduced=reduced).evaluate(strategy).exploitability


def best_response(
    game: SequenceForm | Game | str, player: int, strategy: Strategy, *, streamed: bool | None = None, reduced: bool | None = None
) -> Strategy:
    """The profile in which `player` (0 or 1) plays a best response to the other's part of `strategy`, which stays as it is.

    `game`, `streamed` and `reduced` are as for `exploitability`.
    """
    return form_for(game, [strategy], streamed=streamed, reduced=reduced).best_response(player, strategy)[1]
