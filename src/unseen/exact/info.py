"""How large a game is: counts of histories and information sets, M-values, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unseen.enumeration.walker import Enumeration
from unseen.enumeration.whole import enumerate_game
from unseen.errors import UnseenError
from unseen.exact.size import Size, glance
from unseen.exact.treeplex import treeplex
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import Progress
from unseen.show.results import Result, per_player

PATIENCE = 5e9
"""Histories beyond which a game is only walked if that is asked for: some minutes."""


@dataclass(frozen=True, repr=False)
class Info(Result):
    """The size of a game."""

    enumeration: Enumeration

    @property
    def title(self) -> str:
        return self.enumeration.game.spec

    @property
    def m_values(self) -> tuple[float, float]:
        """Each player's M-value (see `Treeplex.m_value`)."""
        return treeplex(self.enumeration, 0).m_value(), treeplex(self.enumeration, 1).m_value()

    def as_dict(self) -> dict[str, Any]:
        found = self.enumeration
        return {
            "game": self.title, "histories": found.histories, "terminals": found.terminals, "infosets": list(found.infosets),
            "max_length": found.longest, "m_values": list(self.m_values), "bytes": found.nbytes, "peak_bytes": found.peak,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        found = self.enumeration
        return {
            "histories (with the start and the ends)": found.histories,
            "information sets": f"{sum(found.infosets):,} = {per_player(found.infosets)}",
            "terminal histories": found.terminals,
            "longest history": found.longest,
            "M-values": per_player(self.m_values, ",.1f"),
            "memory for this": f"{found.nbytes / 1e6:,.1f} MB, on the way at most {found.peak / 1e6:,.1f} MB",
        }


def too_long(game: Game) -> Size | None:
    """The estimated size of a game, if walking all of it would take too long to begin unasked; otherwise None."""
    size = glance(game)
    return size if size.histories.mean > PATIENCE else None


def info(
    game: Game | str, *, full: bool = False, workers: int | None = None, memory: int | None = None,
    progress: Progress | bool | None = None,
) -> Info:  # fmt: skip
    """Count the histories and information sets of `game` by walking all of it.

    A game with billions of histories is refused unless `full` is True; `estimate_size` says at once how large it is. `workers`
    threads walk a large game (otherwise as many as there are cores), in up to `memory` bytes (otherwise 80% of what there is).
    `progress`: None shows a bar if a person is watching, True always, False never; a function is called with the number of
    histories.
    """
    game = load(game)
    if not full and (size := too_long(game)) is not None:
        raise UnseenError(
            f"{size.sentence}, and walking them takes {size.walking_time}; full=True does so anyway, "
            "and unseen.estimate_size estimates how large a game is."
        )
    return Info(enumerate_game(game, workers=workers, memory=memory, progress=progress))
