"""Games as if nothing were hidden: `python benchmarks/perfect.py`.

Alpha-beta on Tic-Tac-Toe and late positions of Connect Four beside OpenSpiel's (which is Python on C++ states; it has none in C++),
in the same run, on one core; ours remembers states and has the values of all moves at the end, theirs does neither. How long
decisions in Phantom Tic-Tac-Toe take, at every turn of random games; what a world of Schnapsen takes, early and late. Compiling is
not counted.
"""

from __future__ import annotations

import random
import time

import numpy as np
import pyspiel
from open_spiel.python.algorithms import minimax as theirs
from rich.console import Console
from rich.table import Table

from unseen import PUBLIC, TERMINAL, Game, Position, load, make_agent
from unseen.compiling.bits import bit_count
from unseen.perfect.minimax import ALL, Minimax
from unseen.perfect.solver import Solver
from unseen.position import random_walk

console = Console(width=130)
ROUNDS, LEAST = 20, 50
GAMES = 200
COLUMNS, ROWS = 7, 6
STRIDE = ROWS + 1
FULL = sum((1 << ROWS) - 1 << STRIDE * column for column in range(COLUMNS))
PLIES = 26


class ConnectFour(Game):
    """Four in a row on an upright board, which is a number with seven bits for each column; the seventh is always 0."""

    state = np.dtype([("mine", "i8"), ("marks", "i8")])  # of who is to move; of both
    num_actions = COLUMNS
    max_length = COLUMNS * ROWS

    def start(self, s):
        s.mine = 0
        s.marks = 0

    def is_won(self, s):
        """Whether who has just moved has four in a row."""
        theirs = s.mine ^ s.marks
        pairs = theirs & theirs >> 1
        line = pairs & pairs >> 2
        for step in range(ROWS, ROWS + 3):
            pairs = theirs & theirs >> step
            line |= pairs & pairs >> 2 * step
        return line != 0

    def player(self, s):
        return TERMINAL if s.marks == FULL or self.is_won(s) else bit_count(s.marks) & 1

    def actions(self, s, out):
        n = 0
        for column in range(COLUMNS):
            if not s.marks >> (STRIDE * column + ROWS - 1) & 1:
                out[n] = column
                n += 1
        return n

    def apply(self, s, a, tell):
        tell[PUBLIC] = a + 1
        s.mine ^= s.marks
        s.marks |= s.marks + (1 << STRIDE * a)

    def utility(self, s, who):
        if not self.is_won(s):
            return 0.0
        return -1.0 if who == bit_count(s.marks) & 1 else 1.0


def our_search(position: Position, errors: int = 0) -> tuple[float, float, int]:
    """The value of a position, and the seconds and states of a search for those of all moves, which remembers nothing before."""
    game, world = position.game, position.game.new_states(1)
    position.state.write(world)
    solver, best, seen = Solver(game, Minimax(errors=errors), position.player, 32.0), np.inf, 0
    for _ in range(ROUNDS + 1):
        solver.forget()
        nodes, began = solver.nodes, time.perf_counter()
        found, _ = solver.evaluate(world, np.zeros(1, np.uint64), np.array(position.actions))
        best, seen = min(best, time.perf_counter() - began), solver.nodes - nodes
    return float(found.values[0, :, 0].max()), best, seen


def their_search(name: str, moves: list[int]) -> tuple[float, float, int]:
    """The same of OpenSpiel; it stops at the value of the position."""
    game, plain, counted = pyspiel.load_game(name), theirs._alpha_beta, [0]
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(move)

    def counting(*args, **options):
        counted[0] += 1
        return plain(*args, **options)

    def search() -> float:
        return theirs.alpha_beta_search(game, state=state, maximum_depth=99)[0]

    theirs._alpha_beta = counting
    value = search()
    theirs._alpha_beta = plain
    best = np.inf
    for _ in range(ROUNDS // 2):
        began = time.perf_counter()
        search()
        best = min(best, time.perf_counter() - began)
    return value * (-1) ** state.current_player(), best, counted[0]


def connect_four_moves(rng: random.Random) -> list[int]:
    """A random game of Connect Four as far as it goes on for a while."""
    while True:
        position = Position(ConnectFour())
        while not position.is_terminal and len(position.history) < PLIES:
            position.apply(rng.choice(position.actions))
        if not position.is_terminal:
            return list(position.history)


def searches() -> Table:
    table = Table(
        "search", "ms", "states", "states a second", "ratio", "aim", "times as fast", title="alpha-beta to the end, one core"
    )
    rng = random.Random(3)
    games = [
        ("tic_tac_toe", load("phantom_ttt"), [[]]),
        ("connect_four", ConnectFour(), [connect_four_moves(rng) for _ in range(8)]),
    ]
    for name, game, starts in games:
        rows = {label: np.zeros(2) for label in ("OpenSpiel", "alpha-beta", "error allowing minimax")}
        for moves in starts:
            position = Position(game, moves)
            value, *rows_theirs = their_search(name, moves)
            rows["OpenSpiel"] += rows_theirs
            for label, errors in (("alpha-beta", 0), ("error allowing minimax", ALL)):
                mine, *rows_ours = our_search(position, errors)
                assert mine == value
                rows[label] += rows_ours
        slow, looked_at = rows["OpenSpiel"]
        for label, (seconds, nodes) in rows.items():
            rate, aim = nodes / seconds * slow / looked_at, f"{LEAST}" if label == "alpha-beta" else ""
            table.add_row(
                f"{name}, {label}", f"{1e3 * seconds:.2f}", f"{nodes:,.0f}", f"{nodes / seconds:,.0f}", f"{rate:.0f}", aim,
                f"{slow / seconds:.0f}",
            )  # fmt: skip
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
