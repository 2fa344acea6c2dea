"""How fast this machine runs a game, beside OpenSpiel in the same process if it is installed and has the game."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from unseen.engine import playouts
from unseen.enumeration import enumerate_game
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.loading import registered

PEERS: dict[str, Callable[[Any], str | None]] = {
    "kuhn_poker": lambda g: "kuhn_poker" if g.cards == 3 else None,
    "leduc_poker": lambda g: "leduc_poker" if (g.ranks, g.suits, g.suits_seen) == (3, 2, True) else None,
    "liars_dice": lambda g: f"liars_dice(numdice={g.dice1},dice_sides={g.faces})" if g.dice1 == g.dice2 else None,
}
"""The OpenSpiel name of a game, where it has the same one."""
MIN_SECONDS = 0.3


@dataclass(frozen=True)
class Measurement:
    """One thing measured: our figure, OpenSpiel's, and how many times better ours is."""

    what: str
    unit: str
    ours: float
    theirs: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster we are."""
        if self.theirs is None:
            return None
        return self.theirs / self.ours if self.unit == "seconds" else self.ours / self.theirs


def seconds(work: Callable[[], Any], least: float = MIN_SECONDS) -> float:
    """The shortest time of several runs, of at least `least` seconds in all. The first run, which may compile, is not counted."""
    work()
    best, total = float("inf"), 0.0
    while total < least:
        began = time.perf_counter()
        work()
        took = time.perf_counter() - began
        best, total = min(best, took), total + took
    return best


def once(work: Callable[[], Any]) -> float:
    """The time of a single run."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def bench(game: Game, seed: int = 0) -> list[Measurement]:
    """Measure random playouts, enumeration, building the sequence form, and the exploitability of uniform play."""
    peer = _open_spiel(game)
    games = 20_000
    rate = games / seconds(lambda: playouts(game, games, seed))
    rows = [Measurement("random playouts", "games/s", rate, peer.playouts() if peer else None)]
    histories = enumerate_game(game).histories
    rows.append(Measurement("enumeration", "histories/s", histories / seconds(lambda: enumerate_game(game))))
    build = seconds(lambda: SequenceForm(game))
    form = SequenceForm(game)
    uniform = form.uniform()
    theirs = peer.exploitability() if peer else None
    evaluate = seconds(lambda: form.evaluate(uniform))
    rows.append(Measurement("build the sequence form", "seconds", build))
    rows.append(Measurement("exploitability of uniform play", "seconds", evaluate, theirs))
    rows.append(Measurement("the same, building included", "seconds", build + evaluate, theirs))
    return rows


def as_table(title: str, measured: list[Measurement]) -> Table:
    """Measurements for people."""
    table = Table("what", "unit", "unseen", "OpenSpiel", "times faster", title=title)
    for m in measured:
        ours, theirs = (f"{x:,.0f}" if x is not None and x >= 1000 else f"{x:.3g}" if x else "-" for x in (m.ours, m.theirs))
        table.add_row(
            m.what, m.unit, ours, theirs, f"{m.ratio:,.2g}" if m.ratio and m.ratio < 10 else f"{m.ratio:,.0f}" if m.ratio else "-"
        )
    return table


class _OpenSpiel:
    """The same work done by OpenSpiel."""

    def __init__(self, spiel: Any, name: str) -> None:
        self.spiel, self.game = spiel, spiel.load_game(name)

    def playouts(self, games: int = 300) -> float:
        """Random playouts a second, driven from Python."""
        import random

        rng = random.Random(0)

        def play() -> None:
            for _ in range(games):
                state = self.game.new_initial_state()
                while not state.is_terminal():
                    state.apply_action(rng.choice(state.legal_actions()))

        return games / seconds(play)

    def exploitability(self) -> float:
        """Seconds for its C++ exploitability of the uniform policy."""
        policy = self.spiel.UniformRandomPolicy(self.game)
        return once(lambda: self.spiel.exploitability(self.game, policy))


def _open_spiel(game: Game) -> _OpenSpiel | None:
    is_ours = game.name in PEERS and type(game) is registered(game.name)
    name = PEERS[game.name](game) if is_ours else None
    if name is None:
        return None
    try:
        import pyspiel
    except ImportError:
        return None
    return _OpenSpiel(pyspiel, name)
