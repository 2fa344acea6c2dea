"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass, field

from unseen.game import Game
from unseen.testing.survey import Surveyed


@dataclass(frozen=True)
class Fault:
    """One way in which a game breaks the protocol, with the shortest history at which it was seen."""

    check: str
    message: str
    history: tuple[int, ...]
    where: str
    details: str = ""
    """More lines, for example the compiler's."""

    def __str__(self) -> str:
        return f"{self.message}." if self.check == "compile" else f"{self.message}, at history {self.where}."


@dataclass
class Report:
    """What was checked and what was found, the shortest histories first."""

    game: Game
    histories: int = 0
    exhaustive: bool = False
    """Whether every history of the game was visited."""
    playouts: int = 0
    longest: int = 0
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is no fault but may be a mistake."""
    surveyed: Surveyed | None = None
    """What the survey in compiled code saw; None if there was none."""

    @property
    def ok(self) -> bool:
        return not self.faults
