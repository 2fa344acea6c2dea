"""How much an opponent knows, for any game: an estimate from what it can believe.

Suppose that the opponent is to move, `n` worlds fit what it has been told, and `b` would fit if it had been told as often, but
could not remember what. Then log b is the information that it might lack, log n what it does lack, and k = 1 - log n / log b the
share that it has: 0 if it was told nothing that tells worlds apart, 1 if it knows which it is. That is for one history; k is the
mean over some histories consistent with what this player has seen, drawn as chance makes them, and over what it can do next. It is
the same for all actions, so that it does not choose between those that differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from unseen.belief.belief import Belief
from unseen.belief.worlds import Worlds
from unseen.errors import BeliefTooLarge
from unseen.game import Game
from unseen.position import Percept, Position

HISTORIES = 8
UNKNOWN = 0.5
"""Where nothing can be said."""


class KnowledgeEstimate:
    """The estimate for one game. It remembers what players can believe."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.worlds = [Worlds(game, who, "once") for who in (0, 1)]
        self.blind = [Worlds(game, who, "once", is_blind=True) for who in (0, 1)]

    def at(self, position: Position, who: int) -> float:
        """How much `who`, who is to move at `position`, knows there."""
        seen = position.seen(who)
        lacks, might_lack = (len(worlds[who].after_all(seen).turn.states) for worlds in (self.worlds, self.blind))
        return 1.0 - log(lacks) / log(might_lack) if might_lack > 1 else 1.0

    def after(self, seat: int, seen: Sequence[Percept], actions: Sequence[int]) -> float:
        """How much the opponent of player `seat`, who has `seen` this, will know after one of its `actions`, on average."""
        try:
            drawn = Belief(self.game, seat, seen, to_move=seat).sample_histories(HISTORIES, weights="chance")
            children = (Position(self.game, history).child(action) for history in drawn for action in actions)
            found = [self.at(child, 1 - seat) for child in children if child.player == 1 - seat]
        except BeliefTooLarge:
            return UNKNOWN
        return sum(found) / len(found) if found else UNKNOWN
