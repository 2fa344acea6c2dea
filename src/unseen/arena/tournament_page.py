"""The page of a tournament, in Markdown and HTML: ratings, cross tables, likelihoods of superiority, a heat map, a rating plot."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from unseen.arena.ratings import PAYOFFS, WINS
from unseen.arena.standings import Standings
from unseen.run.files import write_atomically
from unseen.show.figures import save_picture
from unseen.show.markdown import html_table, table

EXPLAINED = (
    "Games come in pairs with the same chance and the seats changed, which the 95% intervals allow for. *Nash* is the share of an "
    "agent in the equilibrium of largest entropy of the game in which agents are named, *vs Nash* what it gets there; *ms* and "
    "*sims* are milliseconds and simulations a move, *exploitable* what best responses to the whole strategy get, in sum."
)
RATED = {
    WINS: (
        "Ratings are by wins: maximum likelihood, with draws and an advantage of moving first; 400 points are odds of ten to one. "
        "*mean* is the payoff of a game."
    ),
    PAYOFFS: (
        "Some games pay more than others, so agents are rated by *payoff*: what they get a game, each opponent counting alike. "
        "*wins* is the share of games won, a draw counting half."
    ),
}
STYLE = (
    "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:1em 0}"
    "td,th{border:1px solid #ccc;padding:.3em .6em}"
)
Section = tuple[str, list[str], list[list[str]]]


def write_pages(folder: Path, title: str, parts: list[Standings], lines: list[str]) -> None:
    """Write `page.md`, `page.html` and their pictures to a folder: some `lines`, then standings, over all games first."""
    intro = [lines[0], EXPLAINED, *lines[1:]]
    markdown, html = [f"# Tournament: {title}", *intro], [f"<h1>Tournament: {escape(title)}</h1>"]
    html += map(_paragraph, intro)
    for k, standings in enumerate(parts):
        if len(parts) > 1:
            about = "All games" if k == 0 else standings.title
            markdown.append(f"## {about}")
            html.append(f"<h2>{escape(about)}</h2>")
        markdown.append(RATED[standings.rated_by])
        html.append(_paragraph(RATED[standings.rated_by]))
        for name, figure in (("ratings", standings.rating_plot()), ("payoffs", standings.heat_map())):
            file = folder / f"{name}_{k}.png"
            save_picture(figure, file, force=True)
            markdown.append(f"![{name}]({file.name})")
            html.append(f'<img alt="{name}" src="data:image/png;base64,{base64.b64encode(file.read_bytes()).decode()}">')
        for heading, head, rows in sections(standings):
            markdown += [f"### {heading}", table(head, rows)]
            html += [f"<h3>{escape(heading)}</h3>", html_table(head, rows)]
    write_atomically(folder / "page.md", ["\n\n".join([*markdown, ""]).encode()])
    page = f"<!doctype html><meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>" + "\n".join(html)
    write_atomically(folder / "page.html", [page.encode()])


def _paragraph(text: str) -> str:
    return f"<p>{escape(text).replace('*', '')}</p>"


def sections(standings: Standings) -> list[Section]:
    """The tables about some games."""
    return [
        ("Ratings", *standings.rating_rows()),
        ("Mean payoff of the agent that moves first, wins / draws / losses", *standings.cross_rows()),
        ("Likelihood that the agent of the row is stronger", *standings.superiority_rows()),
    ]
