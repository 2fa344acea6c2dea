"""A complete log of one random game through the public interface, for people to read and tests to compare."""

from __future__ import annotations

import random
from typing import Any

from unseen.game import PUBLIC, Game
from unseen.position import Position, random_walk

MAX_LISTED = 20
LEGEND = "told: own action + 1 / public token / private token, step by step; 0 is nothing"
VIEWERS = ((0, "player 1"), (1, "player 2"), (PUBLIC, "public"))


def playthrough(game: Game, seed: int = 0) -> dict[str, Any]:
    """One game of uniformly random moves: each position with all that the interface says of it."""
    steps: list[dict[str, Any]] = []
    for position in random_walk(game, random.Random(seed)):
        if steps:
            action = position.history[-1]
            names = {row["action"]: row["name"] for row in steps[-1]["actions"]}
            steps[-1] |= {"action": action, "action_name": names[action]}
        steps.append(_describe(position))
    return {"game": game.spec, "seed": seed, "steps": steps, "utilities": list(position.utilities)}


def _describe(position: Position) -> dict[str, Any]:
    said: dict[str, Any] = {
        "history": list(position.history),
        "player": position.player,
        "sees": {name: position.render(who) for who, name in VIEWERS},
        "seen": {name: [list(percept) for percept in position.seen(who)] for who, name in VIEWERS},
    }
    if position.is_terminal:
        return said
    said["actions"] = [{"action": a, "name": name} for a, name in position.action_names.items()]
    if position.is_chance:
        for row, p in zip(said["actions"], position.chance_probabilities, strict=True):
            row["probability"] = p
    else:
        said["infoset"] = f"{position.infoset:016x}"
    return said


def as_text(log: dict[str, Any]) -> str:
    """A playthrough as lines of text."""
    lines = [f"game: {log['game']}", f"seed: {log['seed']}", LEGEND]
    for step in log["steps"]:
        lines += ["", f"history: {' '.join(map(str, step['history'])) or '(start)'}", f"to move: {_mover(step['player'])}"]
        if "infoset" in step:
            lines.append(f"information set: {step['infoset']}")
        for name in step["sees"]:
            percepts = " ".join("/".join(map(str, p)) for p in step["seen"][name])
            lines.append(f"{name} sees:" + _block(step["sees"][name]))
            lines.append(f"{name} was told: {percepts or '-'}")
        if "actions" in step:
            rows = step["actions"]
            more = f", ... ({len(rows)} in all)" if len(rows) > MAX_LISTED else ""
            lines.append("actions: " + ", ".join(map(_action, rows[:MAX_LISTED])) + more)
            lines.append(f"plays: {step['action']} {step['action_name']}")
    return "\n".join([*lines, "", f"utilities: {log['utilities'][0]:g} {log['utilities'][1]:g}"])


def _block(text: str) -> str:
    """A rendering after its heading: on the same line, or below it if it has several."""
    return f" {text}" if "\n" not in text else "".join(f"\n    {line}" for line in text.splitlines())


def _mover(player: int) -> str:
    return {-1: "chance", -2: "nobody, the game is over"}.get(player, f"player {player + 1}")


def _action(row: dict[str, Any]) -> str:
    return f"{row['action']} {row['name']}" + (f" ({row['probability']:.4g})" if "probability" in row else "")
