"""The demonstration behind `make demo`: a game of one's own, poker solved, what wins and what is safe, a game too large."""

from __future__ import annotations

import time
from pathlib import Path

from bluff import Bluff
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

import unseen
from unseen.show.figures import save_picture
from unseen.testing import check_game

POKER = "leduc_poker"
LARGE = "liars_dice(dice1=2, dice2=2)"
PLAYERS = {
    "solved(until=0.0001)": "solved beforehand",
    "vr_oos(simulations=10000)": "search (OOS), 10,000 simulations",
    "ismcts(simulations=10000)": "search (ISMCTS), 10,000 simulations",
    "pimc": "search, cards open (PIMC)",
    "random": "uniform",
}
SEARCH = "ismcts(simulations={})"
GAMES, LARGE_GAMES, BUDGET = 200, 200, 5000
OUT = Path("demo")
console = Console(highlight=False)


def say(*lines: str) -> None:
    for line in lines:
        console.print(f"   {line}", soft_wrap=True)


def chapter(number: int, title: str) -> None:
    console.print(f"\n[bold]{number}. {title}[/bold]", soft_wrap=True)


def a_game_of_ones_own() -> None:
    chapter(1, "A game is a Python class: examples/bluff.py.")
    with console.status("checking it, at every history, in plain Python and compiled..."):
        report = check_game(Bluff())
    found = unseen.solve_exactly(Bluff())
    bluffs = found.strategy[unseen.Position(Bluff(), [0])][1]
    say(
        "One player sees a coin and may raise; the other, who does not, folds or calls.",
        f"Checked for slips and leaks at all {report.histories} histories, compiled, solved: its value is",
        f"{found.value:.4f}, in theory 1/3. With the losing coin the first player bluffs {bluffs:.0%} of the time.",
        "Every algorithm below takes a game of your own just as well.",
    )


def poker_solved() -> None:
    chapter(2, "Small enough to solve: Leduc poker, 936 information sets.")
    with console.status("enumerating the game, and solving it..."):
        solved = unseen.solve(POKER, "sapcfr+", until=1e-4)
    say(
        "An information set is a situation that a player can tell from others.",
        f"After {solved.last.seconds:.2f} seconds even an opponent who knows the strategy wins at most",
        f"{solved.exploitability:.5f} chips a game from it, both seats added: its exploitability, computed exactly.",
    )
    save_picture(solved.figure(), OUT / "solved.png")
    solved.strategy.save(OUT / "leduc.strategy")


def what_wins_and_what_is_safe() -> None:
    chapter(3, f"What wins, and what is safe? Five players of Leduc poker, {GAMES} games a pair.")
    with console.status(f"{GAMES} games a pair, and exact best responses to every player..."):
        found = unseen.tournament(POKER, list(PLAYERS), GAMES, exploitability=True, progress=False)
    standings, ratings = found.overall, found.overall.ratings
    known = standings.exploitability or {}
    table = Table("player", "chips a game, 95%", "can be exploited for", box=SIMPLE)
    for i in standings.order:
        name = standings.names[i]
        table.add_row(PLAYERS[name], ratings.text(i) if ratings else "", f"{known[name]:.3f}")
    console.print(table)
    say(
        "Players whose intervals overlap may be equally strong here. The right column is what an",
        "opponent who adapts would win from each: exact, for players that search, too.",
        "Where a game can be solved, that is best; searches are for those that cannot:",
    )


def a_game_too_large_to_solve() -> None:
    chapter(4, "Too large to solve here: Liar's Dice, two dice each, 352 million information sets.")
    table = Table("simulations a move", "games won against uniform play, 95%", "ms a move", box=SIMPLE)
    for simulations in (BUDGET // 100, BUDGET):
        with console.status(f"{LARGE_GAMES} games with {simulations:,} simulations a move..."):
            found = unseen.match(LARGE, SEARCH.format(simulations), "random", LARGE_GAMES, paired=True, progress=False)
        rate, low, high = found.rate
        mine = [turn.seconds for k, game in enumerate(found.games) for turn in game.turns if turn.seat == k % 2]
        table.add_row(f"{simulations:,}", f"{rate:.0%} ({low:.0%} to {high:.0%})", f"{1000 * sum(mine) / len(mine):.1f}")
    console.print(table)
    say("This search (ISMCTS) prepares nothing: it simulates when it is its turn.")


def what_next() -> None:
    chapter(5, "What next?")
    for line, why in (
        ("play leduc_poker --against demo/leduc.strategy", "h gives a hint"),
        ("check examples/bluff.py:Bluff", "for a game of your own"),
        (f"measure {POKER} 'vr_oos(simulations=10000)'", "what more thought brings"),
        ("games", "what comes with the library"),
    ):
        say(f".venv/bin/unseen {line:48} {why}")


def main() -> None:
    began = time.perf_counter()
    OUT.mkdir(exist_ok=True)
    a_game_of_ones_own()
    poker_solved()
    what_wins_and_what_is_safe()
    a_game_too_large_to_solve()
    what_next()
    console.print(f"\nThat took {time.perf_counter() - began:.0f} seconds, most of it compiling, which is done once.")


if __name__ == "__main__":
    main()
