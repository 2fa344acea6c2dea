"""Whether a game is open: both players know all but the move that is being made at the same time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

from unseen.belief.belief import Belief
from unseen.errors import UnseenError
from unseen.game import PUBLIC, Game
from unseen.position import Percept, Position, history_text

GAMES = 8
"""So many random games are looked at."""
OUT_OF_TURN = "moves are not those of player 1 and then of player 2"
MOVES = 400
"""At most so many joint moves are compared after a history."""


def check_open(game: Game, what: str, instead: str = "") -> None:
    """Raise if `game` hides something, so that `what` cannot be done; `instead` says what can."""
    hidden = what_is_hidden(game)
    if hidden:
        raise UnseenError(
            f"{game.spec}: {what} is for games whose players choose at the same time and know all else, but here {hidden}{instead}."
        )


@lru_cache(maxsize=64)
def what_is_hidden(game: Game) -> str:
    """What a game hides besides the move being made, or "" if some random games show nothing of the kind."""
    if not game.simultaneous:
        return "the players do not choose at the same time (the class does not say simultaneous = True)"
    rng = random.Random(0)
    for _ in range(GAMES):
        position = Position(game)
        while not position.is_terminal and len(position.history) <= game.max_length:
            where = history_text(game, position.history)
            if position.player == 1 or (position.player == 0 and position.child(position.actions[0]).player != 1):
                return f"{OUT_OF_TURN} after history {where}"
            moves = _some_moves(position, rng)
            found = _hidden_after(position, moves)
            if found:
                return f"{found} after history {where}"
            for action in rng.choice(moves):
                position.apply(action)
    return ""


def _some_moves(position: Position, rng: random.Random) -> list[tuple[int, ...]]:
    """What can happen next, or a part of it: outcomes of chance, or joint moves."""
    if position.is_chance:
        return [(a,) for a in rng.sample(position.actions, min(len(position.actions), MOVES))]
    first, second = position.actions, position.child(position.actions[0]).actions
    if len(first) * len(second) <= MOVES:
        return list(product(first, second))
    return [(rng.choice(first), rng.choice(second)) for _ in range(MOVES)]


def _hidden_after(position: Position, moves: list[tuple[int, ...]]) -> str:
    """What players are not told of the next move, or are told in private or too early."""
    told: dict[tuple[int, ...], tuple[tuple[int, ...], object]] = {}
    for move in moves:
        after = position.copy()
        for half, action in enumerate(move):
            after.apply(action)
            if half + 1 < len(move) and any(after.seen(who) != position.seen(who) for who in (1, PUBLIC)):
                return "player 2 is told something of the other's move before its own"
        if after.player == 1:
            return OUT_OF_TURN
        news = [after.seen(who)[len(position.seen(who)) :] for who in (0, 1)]
        for who, percepts in enumerate(news):
            if any(percept.private for percept in percepts):
                return f"player {who + 1} is told something in private"
        public = tuple(percept.public for percept in news[0] if percept.public)
        state = after.state.values()
        other, before = told.setdefault(public, (move, state))
        if before != state:
            return f"nobody is told which of the moves {list(other)} and {list(move)} was made"
    return ""


def open_history(game: Game, seat: int, seen: Sequence[Percept]) -> tuple[int, ...]:
    """The history of an open game at which both players choose, as player `seat`, who has `seen` this, knows it.

    If several lead to the same state, it is one of them.
    """
    history = next(Belief(game, seat, seen, to_move=seat).histories())
    return history[: len(history) - seat]  # the second player does not know the first one's choice
