"""Make the pages of games, algorithms and agents from the code, pinned counts and playthroughs: they say what the code does.

Run by `make docs`; a test sees to it that the committed pages are up to date.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import unseen
from unseen.arena.names import AGENTS
from unseen.loading import registered
from unseen.solving.algorithms import ALGORITHMS

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import rooms  # noqa: E402

TESTS = HERE.parent / "tests"
ROOMS_BEGIN, ROOMS_END = "<!-- made from the imports -->", "<!-- up to here -->"
PARTS = ("Rules", "Players see", "Payoffs")


def pages() -> dict[Path, str]:
    """The text of every generated page, by path."""
    counts = json.loads((TESTS / "counts.json").read_text())
    made = {HERE / "games" / f"{name}.md": page(name, counts) for name in unseen.game_names()}
    made[HERE / "games" / "index.md"] = index()
    made |= {HERE / "algorithms" / f"{file_name(name)}.md": algorithm_page(name) for name in ALGORITHMS}
    made[HERE / "algorithms" / "index.md"] = algorithm_index()
    made |= {HERE / "agents" / f"{name}.md": agent_page(name) for name in AGENTS}
    made[HERE / "agents" / "index.md"] = agent_index()
    design = (HERE / "design.md").read_text()
    before, _, rest = design.partition(ROOMS_BEGIN)
    made[HERE / "design.md"] = f"{before}{ROOMS_BEGIN}\n```text\n{rooms.diagram()}\n```\n{ROOMS_END}{rest.partition(ROOMS_END)[2]}"
    return made


def file_name(algorithm: str) -> str:
    return algorithm.replace("+", "_plus")


def algorithm_page(name: str) -> str:
    """One algorithm's page: what it does, an iteration, what it needs, options, how to run it, where it comes from."""
    about = ALGORITHMS[name]
    needs = (
        "The sequence form: the game is enumerated, and its payoffs are stored, streamed or reduced, as suits the game."
        if about.solver is None
        else "A table of the information sets it has met; the game is only enumerated to evaluate the result (`--no-evaluate`)."
    )
    lines = [f"# `{name}`", "", about.text, "", "## An iteration", "", f"{about.iteration[0].upper()}{about.iteration[1:]}.", ""]
    lines += ["## What it keeps", "", needs, "", "## Options", ""]
    if about.options:
        lines += ["| name | default | meaning |", "|---|---|---|"]
        lines += [f"| `{key}` | {str(o.default).lower()} | {o.help} |" for key, o in about.options.items()]
    else:
        lines.append("None.")
    lines += ["", "## Running it", "", "```sh", f"unseen solve leduc_poker --algorithm {name} --seconds 5", "```", ""]
    return "\n".join([*lines, "## Source", "", f"{about.source}.", ""])


def algorithm_index() -> str:
    """The list of algorithms."""
    rows = [f"| [`{name}`]({file_name(name)}.md) | {about.text} |" for name, about in ALGORITHMS.items()]
    return "\n".join(["# Algorithms", "", "| name | what it is |", "|---|---|", *rows, ""])


def agent_page(name: str) -> str:
    """One agent's page: what it does, options, how to use it, where it comes from."""
    kind = AGENTS[name]
    agent = f'"{name}{kind.needs}"' if kind.needs else name
    lines = [f"# `{name}`", "", kind.text, "", "## Options", ""]
    if kind.options:
        lines += ["| name | default | allowed | meaning |", "|---|---|---|---|"]
        lines += [f"| `{key}` | {str(o.default).lower()} | {o.allowed} | {o.help} |" for key, o in kind.options.items()]
    else:
        lines.append("None.")
    lines += [
        "",
        "## Using it",
        "",
        "```sh",
        f"unseen match {kind.games[0]} {agent} random --games 100",
        f"unseen measure {kind.games[1]} {agent}",
    ]
    return "\n".join([*lines, "```", *(["", "## Source", "", f"{kind.source}."] if kind.source else []), ""])


def agent_index() -> str:
    """The list of agents."""
    rows = [f"| [`{name}`]({name}.md) | {kind.text} |" for name, kind in AGENTS.items()]
    after = "The path of a strategy file is an agent, too. [Searching](../searching.md) says how they work."
    return "\n".join(["# Agents", "", "| name | what it is |", "|---|---|", *rows, "", after, ""])


def page(name: str, counts: dict[str, dict]) -> str:
    """One game's page: summary, rules, what players see, payoffs, parameters, size, a game played, where it comes from."""
    cls = registered(name)
    doc = inspect.getdoc(cls) or ""
    summary, *parts = re.split(rf"\n\n(?=(?:{'|'.join(PARTS)}):)", doc)
    lines = [f"# `{name}`", "", summary, ""]
    for part in parts:
        title, _, text = part.partition(":")
        sentence = " ".join(text.split())
        lines += [f"## {title}", "", sentence[:1].upper() + sentence[1:], ""]
    lines += ["## Parameters", ""]
    if cls.parameters:
        lines += ["| name | default | allowed | meaning |", "|---|---|---|---|"]
        lines += [f"| `{n}` | {p.default} | {p.allowed} | {p.help} |" for n, p in cls.parameters.items()]
    else:
        lines.append("None.")
    lines += [
        "",
        "## Size",
        "",
        "| game | histories | terminals | information sets | longest | checked against |",
        "|---|---|---|---|---|---|",
    ]
    for spec, row in counts.items():
        if spec.partition("(")[0] == name:
            sets = " + ".join(f"{n:,}" for n in row["infosets"])
            lines.append(
                f"| `{spec}` | {row['histories']:,} | {row['terminals']:,} | {sets} | {row['max_length']} | {row['source']} |"
            )
    simultaneous = "Both players choose at the same time." if cls.simultaneous else "Players move in turn."
    game = cls()
    outcomes = f"; chance has up to {game.num_outcomes} outcomes" if game.num_outcomes else "; there is no chance"
    lines += ["", f"{simultaneous} There are {game.num_actions} different actions{outcomes}.", ""]
    lines += ["## A game", "", f"`unseen playthrough {name} --seed 1`", "", "```text"]
    lines += [*(TESTS / "playthroughs" / f"{name}.txt").read_text().rstrip().splitlines(), "```", ""]
    lines += ["## Source", ""]
    for paragraph in (sys.modules[cls.__module__].__doc__ or "").strip().split("\n\n")[1:]:
        lines += [paragraph if paragraph.startswith("|") else " ".join(paragraph.split()), ""]
    return "\n".join(lines)


def index() -> str:
    """The list of games."""
    rows = [
        f"| [`{name}`]({name}.md) | {(inspect.getdoc(registered(name)) or '').splitlines()[0]} |" for name in unseen.game_names()
    ]
    return "\n".join(["# Games", "", "| name | what it is |", "|---|---|", *rows, ""])


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
