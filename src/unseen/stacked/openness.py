"""Whether a game is open: both players know all but the move that is being made at the same time."""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import product

from unseen.errors import UnseenError
from unseen.game import Game
from unseen.position import Position, history_text

GAMES = 8
"""So many random games are looked at."""
MOVES = 400
"""At most so many joint moves are compared after a history."""


def check_open(game: Game, what: str) -> None:
    """Raise if `game` hides something, so that `what` cannot be done."""
    hidden = what_is_hidden(game)
    if hidden:
        raise UnseenError(
            f"{game.spec}: {what} is for games whose players choose at the same time and know all else, but here {hidden}."
        )


@lru_cache(maxsize=64)
def what_is_hidden(game: Game) -> str:
    """What a game hides besides the move being made, or "" if some random games show nothing of the kind."""
    if not game.simultaneous:
        return "the players do not choose at the same time (the class does not say simultaneous = True)"
    rng = random.Random(0)
    for _ in range(GAMES):
        position = Position(game)
        while not position.is_terminal:
            moves = _moves(position)
            found = _hidden_after(position, rng.sample(moves, min(len(moves), MOVES)))
            if found:
                return found
            for action in rng.choice(moves):
                position.apply(action)
    return ""


def _moves(position: Position) -> list[tuple[int, ...]]:
    """What can happen next: an outcome of chance, or a joint move."""
    if position.is_chance:
        return [(a,) for a in position.actions]
    return list(product(position.actions, position.child(position.actions[0]).actions))


def _hidden_after(position: Position, moves: list[tuple[int, ...]]) -> str:
    """What players are not told of the next move, or are told in private."""
    where = history_text(position.game, position.history)
    told: dict[tuple[int, ...], tuple[tuple[int, ...], object]] = {}
    for move in moves:
        after = Position.copy(position)
        for action in move:
            after.apply(action)
        news = [after.seen(who)[len(position.seen(who)) :] for who in (0, 1)]
        for who, percepts in enumerate(news):
            if any(percept.private for percept in percepts):
                return f"player {who + 1} is told something in private after history {where}"
        public = tuple(percept.public for percept in news[0] if percept.public)
        state = after.state.values()
        other, before = told.setdefault(public, (move, state))
        if before != state:
            return f"nobody is told which of the moves {list(other)} and {list(move)} was made after history {where}"
    return ""
