"""Six agents rated in Leduc poker, in about a minute: who wins chips, who wins games, and who could be exploited by whom.

Run it: `python examples/leduc_ratings.py`. The page with all tables and pictures is then in the folder `leduc_ratings`.
"""

from pathlib import Path

from rich import print as show

import unseen

AGENTS = ["random", "pimc", "ppp", "ismcts(simulations=2000)", "vr_oos(simulations=2000)", "solved"]


def main(games: int = 400, out: Path = Path("leduc_ratings")) -> unseen.Tournament:
    found = unseen.tournament("leduc_poker", AGENTS, games, anchor=("random", 0.0), out=out, resume=out.exists())
    show(found.table())
    mix, against = found.overall.nash
    for agent, share, payoff in zip(found.names, mix, against, strict=True):
        print(f"{agent:28} {share:4.0%} of the Nash mix of agents, wins {payoff:+.3f} chips a game against it")
    print(f"\nEverything is on the page {out / 'page.html'}.")
    return found


if __name__ == "__main__":
    main()
