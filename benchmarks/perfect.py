"""Games as if nothing were hidden: `python benchmarks/perfect.py`.

Alpha-beta on Tic-Tac-Toe beside OpenSpiel's (which is Python on C++ states; it has none in C++), in the same run, on one core; how
long decisions in Phantom Tic-Tac-Toe take, at every turn of random games; what a world of Schnapsen takes, early and late.
Compiling is not counted.
"""

from __future__ import annotations

import random
import time

import numpy as np
import pyspiel
from open_spiel.python.algorithms import minimax as theirs
from rich.console import Console
from rich.table import Table

from unseen import Position, load, make_agent
from unseen.perfect.minimax import ALL, Minimax
from unseen.perfect.solver import Solver
from unseen.position import random_walk

console = Console(width=130)
ROUNDS, WORLDS, LEAST = 20, 20, 50
GAMES = 200


def our_search(errors: int) -> tuple[float, float]:
    """Seconds and positions of a search of all Tic-Tac-Toe from its start, which shares nothing with those before it."""
    game = load("phantom_ttt")
    solver, starts = Solver(game, Minimax(errors=errors), 0, 32.0), game.new_states(WORLDS)
    for start in starts:
        game.start(start)
    seeds, best, seen = np.arange(WORLDS).astype(np.uint64) << np.uint64(32), np.inf, 0
    for _ in range(ROUNDS + 1):
        solver.forget()
        nodes, began = solver.nodes, time.perf_counter()
        solver.evaluate(starts, seeds, np.arange(9))
        best, seen = min(best, time.perf_counter() - began), solver.nodes - nodes
    return best / WORLDS, seen / WORLDS


def their_search() -> tuple[float, int]:
    """The same of OpenSpiel; it stops at the value of the start, where ours has those of all first moves."""
    game, plain, counted = pyspiel.load_game("tic_tac_toe"), theirs._alpha_beta, [0]

    def counting(*args, **options):
        counted[0] += 1
        return plain(*args, **options)

    theirs._alpha_beta = counting
    theirs.alpha_beta_search(game)
    theirs._alpha_beta = plain
    best = np.inf
    for _ in range(ROUNDS // 2):
        began = time.perf_counter()
        theirs.alpha_beta_search(game)
        best = min(best, time.perf_counter() - began)
    return best, counted[0]


def searches() -> Table:
    table = Table("search of Tic-Tac-Toe", "ms", "positions", "positions a second", "ratio", "aim", title="alpha-beta, one core")
    seconds, nodes = their_search()
    theirs_rate = nodes / seconds
    table.add_row("OpenSpiel, alpha_beta_search", f"{1e3 * seconds:.1f}", f"{nodes:,}", f"{theirs_rate:,.0f}", "1", "")
    for label, errors, aim in (("alpha-beta", 0, f"{LEAST}"), ("error allowing minimax", ALL, "")):
        seconds, nodes = our_search(errors)
        rate = nodes / seconds
        table.add_row(label, f"{1e3 * seconds:.2f}", f"{nodes:,.0f}", f"{rate:,.0f}", f"{rate / theirs_rate:.0f}", aim)
    return table


def decisions() -> Table:
    table = Table(
        "agent", "turns", "ms, mean", "ms, 99%", "ms, most", "aim", title="decisions in Phantom Tic-Tac-Toe, percepts included"
    )
    game = load("phantom_ttt")
    for name in ("pimc", "ppp", "vmm", "prm"):
        agents, rng, times = [make_agent(name, game) for _ in (0, 1)], random.Random(1), []
        for k in range(GAMES + 1):
            for who in (0, 1):
                agents[who].begin(game, who, 1)
            told = [0, 0]
            for position in random_walk(game, rng):
                who = position.player
                if who >= 0:
                    began = time.perf_counter()
                    for percept in position.seen(who)[told[who] :]:
                        agents[who].observe(percept)
                    agents[who].choose(position.actions)
                    times += [1e3 * (time.perf_counter() - began)] if k else []  # the first game compiles
                    told[who] = len(position.seen(who))
        table.add_row(name, f"{len(times):,}", f"{np.mean(times):.2f}", f"{np.percentile(times, 99):.2f}", f"{max(times):.2f}", "1")
    return table


def schnapsen() -> Table:
    table = Table(
        "agent", "tricks played", "worlds that fit", "positions a world", "ms a world", title="Schnapsen: one world, laid open"
    )
    game = load("schnapsen")
    for name in ("pimc(worlds=3, nodes=1000000000)", "ppp(worlds=3, nodes=1000000000)"):
        for tricks in range(5):
            rows = []
            for seed in range(6):
                position = lead_after(game, tricks, random.Random(seed))
                agent = make_agent(name, game)
                agent.begin(game, position.player, 1)
                for percept in position.seen(position.player):
                    agent.observe(percept)
                found = agent.explain()
                rows.append(
                    (found.worlds, agent._solvers[position.player].nodes / found.looked_at, found.seconds / found.looked_at)
                )
            worlds, nodes, seconds = np.mean(rows[1:], axis=0)
            table.add_row(name.partition("(")[0], f"{tricks}", f"{worlds:,.0f}", f"{nodes:,.0f}", f"{1e3 * seconds:.1f}")
    return table


def lead_after(game, tricks: int, rng: random.Random) -> Position:
    """A position of a random deal in which a player leads after so many tricks, the talon being open."""
    while True:
        position = Position(game)
        while not position.is_terminal:
            s = position.state
            if position.player >= 0 and s.led < 0 and int(s.gone).bit_count() == 2 * tricks and s.closed < 0:
                return position
            weights = position.chance_probabilities if position.is_chance else None
            position.apply(rng.choices(position.actions, weights)[0])


if __name__ == "__main__":
    for make in (searches, decisions, schnapsen):
        console.print(make())
