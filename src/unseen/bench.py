"""How fast this machine runs a game, beside OpenSpiel in the same process if it is installed and has the game."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from unseen.enumeration.infosets import new_recall, new_sets
from unseen.enumeration.walk import COUNT, DONE, new_sink
from unseen.enumeration.walker import Walker
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.loading import registered
from unseen.random_play import playouts


def _goofspiel(g: Any) -> str | None:
    s = g.settings
    order = "random" if s["order"] == "shuffled" else s["order"]
    inner = f"imp_info={not g.bids_seen},num_cards={g.cards},points_order={order},returns_type={s['payoff']}"
    return _turn_based(f"goofspiel({inner})") if g.lowest == 1 else None


def _turn_based(inner: str) -> str:
    return f"turn_based_simultaneous_game(game={inner})"


PEERS: dict[str, Callable[[Any], str | None]] = {
    "blotto": lambda g: _turn_based(f"blotto(coins={g.soldiers},fields={g.fields})"),
    "goofspiel": _goofspiel,
    "ii_goofspiel": _goofspiel,
    "kuhn_poker": lambda g: "kuhn_poker" if g.cards == 3 else None,
    "latent_ttt": lambda g: "latent_ttt" if g.hidden_lines and g.hidden_end else None,
    "leduc_poker": lambda g: "leduc_poker" if (g.ranks, g.suits, g.suits_seen) == (3, 2, True) else None,
    "liars_dice": lambda g: f"liars_dice(numdice={g.dice1},dice_sides={g.faces})" if g.dice1 == g.dice2 and not g.rounds else None,
    "oshi_zumo": lambda g: (
        _turn_based(f"oshi_zumo(alesia={g.alesia},coins={g.coins},horizon={g.horizon},min_bid={g.min_bid},size={g.size})")
        if g.min_bid <= g.coins
        else None
    ),
    "pd_goofspiel": _goofspiel,
    "phantom_ttt": lambda g: f"phantom_ttt(gameversion={'abrupt' if g.abrupt else 'classical'},obstype=reveal-nothing)",
    "wl_goofspiel": _goofspiel,
}
"""The OpenSpiel name of a game, where it has the same one."""


def spiel_name(game: Game) -> str | None:
    """What OpenSpiel calls this game, if it has it."""
    is_ours = game.name in PEERS and type(game) is registered(game.name)
    return PEERS[game.name](game) if is_ours else None


MIN_SECONDS = 0.3
LARGE = 5_000_000
"""Histories beyond which a game is not walked to the end here."""


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
    """Measure random playouts and enumeration; if the game is not large, also the sequence form and exploitability."""
    peer = open_spiel(game)
    rows = bench_playouts(game, peer, seed)
    histories, took = walk_for_a_while(game)
    rows.append(Measurement("enumeration, one thread", "histories/s", histories / took))
    if histories < LARGE:
        build = seconds(lambda: SequenceForm(game))
        form = SequenceForm(game)
        uniform = form.uniform()
        theirs = peer.exploitability() if peer else None
        evaluate = seconds(lambda: form.evaluate(uniform))
        rows.append(Measurement("build the sequence form", "seconds", build))
        rows.append(Measurement("exploitability of uniform play", "seconds", evaluate, theirs))
        rows.append(Measurement("the same, building included", "seconds", build + evaluate, theirs))
    return rows


def bench_playouts(game: Game, peer: OpenSpiel | None, seed: int = 0) -> list[Measurement]:
    """Random playouts beside OpenSpiel's, driven from Python, and beside the simulations of its outcome sampling in C++."""
    games = 20_000
    rate = games / seconds(lambda: playouts(game, games, seed))
    rows = [Measurement("random playouts", "games/s", rate, peer.playouts() if peer else None)]
    if peer:
        rows.append(Measurement("the same, beside C++ outcome sampling's simulations", "games/s", rate, peer.outcome_sampling()))
    return rows


def walk_for_a_while(game: Game) -> tuple[int, float]:
    """Histories walked, all of them unless the game is large, and the seconds it took."""

    def work() -> int:
        walker = Walker(game, new_recall(), new_sets(), new_sink(COUNT))
        while walker.go_on() != DONE and walker.histories < LARGE:
            pass
        return walker.histories

    return work(), seconds(work)


def as_table(title: str, measured: list[Measurement]) -> Table:
    """Measurements for people."""
    table = Table("what", "unit", "unseen", "OpenSpiel", "times faster", title=title)
    if all(m.theirs is None for m in measured):
        table.caption = "for the comparison: pip install open_spiel (it does not have every game)"
    for m in measured:
        ours, theirs = (f"{x:,.0f}" if x is not None and x >= 1000 else f"{x:.3g}" if x else "-" for x in (m.ours, m.theirs))
        table.add_row(
            m.what, m.unit, ours, theirs, f"{m.ratio:,.2g}" if m.ratio and m.ratio < 10 else f"{m.ratio:,.0f}" if m.ratio else "-"
        )
    return table


class OpenSpiel:
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

    def outcome_sampling(self, iterations: int = 2000) -> float:
        """Simulations a second of its outcome sampling in C++; an iteration has two, one to update each player."""
        solver = self.spiel.OutcomeSamplingMCCFRSolver(self.game)

        def run() -> None:
            for _ in range(iterations):
                solver.run_iteration()

        return 2 * iterations / seconds(run)

    def exploitability(self) -> float:
        """Seconds for its C++ exploitability of the uniform policy."""
        policy = self.spiel.UniformRandomPolicy(self.game)
        return once(lambda: self.spiel.exploitability(self.game, policy))


def open_spiel(game: Game) -> OpenSpiel | None:
    name = spiel_name(game)
    if name is None:
        return None
    try:
        import pyspiel
    except ImportError:
        return None
    return OpenSpiel(pyspiel, name)
