"""The one strategy type: a probability for each action at each information set, keyed by what the player has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen import html
from unseen.arguments import checked
from unseen.enumeration.symmetry import Images
from unseen.enumeration.whole import enumerate_game, example_histories
from unseen.errors import StrategyFileError, UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.position import Position, history_text
from unseen.run.progress import Progress
from unseen.run.reading import reading
from unseen.show.figures import check_picture, save_picture
from unseen.tabular import strategy_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

SUM_TOLERANCE = 1e-6


class Strategy:
    """A tabular behaviour strategy for one or both players of a game. `j` information sets, `c` cells (actions at them).

    At an information set that is not in the table it chooses evenly, so an empty table is the uniform strategy, and the table
    of a search that never saw some part of the game is still a strategy for all of it.

    `uniform`, `random`, `from_function` and `load` make one. From columns: `game`, or what names it; for each information set its
    key in `keys`, whose it is in `player` and how many actions it has in `count`, shapes (j,); then, set by set, its legal
    `actions`, ascending, and the `probability` of each, shapes (c,).
    """

    def __init__(
        self, game: Game | str, *, keys: ArrayLike = (), player: ArrayLike = (), count: ArrayLike = (),
        actions: ArrayLike = (), probability: ArrayLike = (),
    ) -> None:  # fmt: skip
        self.game = load(game)
        self.keys: NDArray[np.uint64] = np.asarray(keys, np.uint64)  # (j,)
        self.player: NDArray[np.int8] = np.asarray(player, np.int8)  # (j,) whose set it is
        self.count: NDArray[np.int64] = np.asarray(count, np.int64)  # (j,) how many actions it has
        self.actions: NDArray[np.int32] = np.asarray(actions, np.int32)  # (c,)
        self.probability: NDArray[np.float64] = np.asarray(probability, np.float64)  # (c,)
        self.first: NDArray[np.int64] = np.cumsum(self.count) - self.count  # (j,) the cell of its first action
        self._order = np.argsort(self.keys, kind="stable")
        self._sorted = self.keys[self._order]
        self._check()

    # Making one --------------------------------------------------------------------------------------------------------------

    @classmethod
    def uniform(cls, game: Game | str) -> Strategy:
        """The strategy for `game` that chooses evenly everywhere, with an empty table."""
        return cls(game)

    @classmethod
    @checked
    def random(cls, game: Game | str, seed: int = 0, progress: Progress | bool | None = None) -> Strategy:
        """A strategy drawn from the flat Dirichlet distribution at each information set, by `seed`.

        Enumerates `game`; `progress` is None for a bar if a person is watching, True, False, or a function of the count.
        """
        found = enumerate_game(load(game), progress=progress)
        weights = np.random.default_rng(seed).standard_exponential(len(found.sets.actions))
        return cls._normalised(found.game, found.keys, found.sets.player, found.sets.n_actions, found.sets.actions, weights)

    @classmethod
    @checked
    def from_function(
        cls, game: Game | str, choose: Callable[[Position], Mapping[int, float]], progress: Progress | bool | None = None
    ) -> Strategy:
        """The strategy for `game` that a Python function describes; `progress` as in `random`.

        `choose(position)` is called once for each information set, with one position in it, and returns weights by action;
        actions that it leaves out get none. It must look only at what the player to move has seen.
        """
        game = load(game)
        found, histories = example_histories(game, progress)
        weights = np.zeros(len(found.sets.actions))
        for j, history in enumerate(histories):
            position = Position(game, history)
            chosen, actions = choose(position), position.actions
            if not isinstance(chosen, Mapping):
                raise UnseenError(
                    f"the function returned {chosen!r}, but must return weights by action, such as {{0: 0.5, 1: 0.5}}."
                )
            are_numbers = all(isinstance(weight, Real) for weight in chosen.values())
            total = sum(chosen.values()) if are_numbers else 0.0
            if not set(chosen) <= set(actions) or not total > 0.0 or min(chosen.values()) < 0.0:
                where = history_text(game, history)
                raise UnseenError(
                    f"the function gave the weights {chosen} at history {where}; they must be numbers for actions in {actions}, "
                    "not negative, with a sum above 0."
                )
            for k, action in enumerate(actions):
                weights[found.sets.cell[j] + k] = chosen.get(action, 0.0)
        return cls._normalised(game, found.keys, found.sets.player, found.sets.n_actions, found.sets.actions, weights)

    @classmethod
    def of_images(cls, game: Game, images: Images, player: NDArray[np.int8], probability: NDArray[np.float64]) -> Strategy:
        """The strategy for `game` that plays alike at all `images` of the sets of a reduced walk, whose cells have a `player` and
        a `probability`, shapes (c,)."""
        first_cell = images.cell[np.cumsum(images.n_actions) - images.n_actions]
        return cls(
            game, keys=images.key, player=player[first_cell], count=images.n_actions, actions=images.action,
            probability=probability[images.cell] * images.share,
        )  # fmt: skip

    @classmethod
    def _normalised(
        cls, game: Game, keys: NDArray[np.uint64], player: NDArray[np.int8], count: NDArray[np.int32],
        actions: NDArray[np.int32], weights: NDArray[np.float64],
    ) -> Strategy:  # fmt: skip
        first = np.cumsum(count) - count
        totals = np.add.reduceat(weights, first) if len(first) else np.zeros(0)
        return cls(game, keys=keys, player=player, count=count, actions=actions, probability=weights / np.repeat(totals, count))

    # Asking it ---------------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of information sets in the table."""
        return len(self.keys)

    def __iter__(self) -> Iterator[int]:
        """The key of each information set in the table; `strategy[key]` is what it does there."""
        return iter(self.keys.tolist())

    def __contains__(self, place: object) -> bool:
        """Whether the table has the information set of a position, or with a key."""
        key = place.infoset if isinstance(place, Position) else place
        return isinstance(key, (int, np.integer)) and 0 <= int(key) < 2**64 and self._row(int(key)) >= 0

    def __getitem__(self, place: Position | int) -> dict[int, float]:
        """The probability of each legal action at a position of a player, or at an information set of the table, by its key."""
        if isinstance(place, Position):
            self.check_game(place.game)
            return self.at(place.infoset, place.actions)
        if place not in self:
            raise UnseenError(f"{place!r} is neither a position nor the key of an information set in the table.")
        return self._mix(self._row(int(place)))

    def _mix(self, at: int) -> dict[int, float]:
        """The probability of each action at the information set in a row of the table."""
        cells = slice(self.first[at], self.first[at] + self.count[at])
        return dict(zip(self.actions[cells].tolist(), self.probability[cells].tolist(), strict=True))

    def _row(self, key: int) -> int:
        return int(self.find(np.array([key], np.uint64))[0])

    def at(self, key: int, actions: Sequence[int]) -> dict[int, float]:
        """The same at the information set with this `key`, at which `actions` are the legal ones."""
        at = self._row(key)
        if at < 0:
            return {action: 1.0 / len(actions) for action in actions}
        cells = slice(self.first[at], self.first[at] + self.count[at])
        if not np.array_equal(self.actions[cells], actions):
            raise UnseenError(
                f"the strategy has the actions {self.actions[cells].tolist()} at an information set of {self.game.spec} that has "
                f"{list(actions)}."
            )
        return self._mix(at)

    def find(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The row of each of the `keys`, shape (n,), in the table; -1 for those that are not there."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        place = np.minimum(np.searchsorted(self._sorted, keys), len(self.keys) - 1)
        return np.where(self._sorted[place] == keys, self._order[place], -1)

    def check_game(self, game: Game) -> None:
        """Raise if this strategy is for another game than `game`."""
        if self.game != game:
            raise UnseenError(f"the strategy is for {self.game.spec}, not for {game.spec}.")

    # Files -------------------------------------------------------------------------------------------------------------------

    @checked
    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the strategy to the file `path`; see docs/strategy-format.md. The old file stays whole until the new one is.

        A file that is not a strategy is replaced only with `force`.
        """
        strategy_file.write(Path(path), self.game, self._columns(), force)

    @classmethod
    @checked
    def load(cls, path: str | Path, game: Game | str | None = None) -> Strategy:
        """Read a strategy from the file `path`, refusing one that is damaged or made for another game than `game`.

        Without `game` the file's own word for it is used, which must be a game of the library: no file can make us run code.
        """
        game = load(game) if game is not None else None
        with reading(f"strategy file {path}", StrategyFileError):
            game, columns = strategy_file.read(Path(path), game)
            return cls(game, **columns)

    # For people --------------------------------------------------------------------------------------------------------------

    @checked
    def table(self, rows: int = 40) -> Table:
        """The first `rows` information sets as a table for `rich.print`."""
        from unseen.show import strategies

        return strategies.strategy_table(self, strategies.situations(self), rows)

    @checked
    def figure(self, panels: int = 12) -> Figure:
        """A picture of up to `panels` situations, as a Matplotlib figure."""
        from unseen.show import strategies

        return strategies.strategy_figure(self, strategies.situations(self), panels)

    @checked
    def draw(self, path: str | Path, panels: int = 12, force: bool = False) -> None:
        """Save that picture, of up to `panels` situations, to the file `path` (.png, .svg or .pdf).

        A file that is not a picture of this library is replaced only with `force`.
        """
        check_picture(Path(path), force)
        save_picture(self.figure(panels), Path(path), force)

    def __repr__(self) -> str:
        return f"<Strategy for {self.game.spec}: {self._extent}>"

    def _repr_html_(self) -> str:
        """The strategy for notebooks: how much of it there is. Nothing is walked or compiled for it."""
        rows: dict[str, Any] = {"what it has": self._extent}
        if len(self):
            mixes = np.maximum.reduceat(self.probability, self.first) < 1.0
            rows["where it mixes"] = f"{int(mixes.sum()):,}, {mixes.mean():.0%}"
        return html.table(f"strategy for {self.game.spec}", rows | {"to see it": ".table() or .figure()"})

    @property
    def _extent(self) -> str:
        """How many information sets each player has in the table, in words."""
        if not len(self):
            return "uniform everywhere"
        second = int(np.count_nonzero(self.player))
        return f"{len(self):,} information sets, {len(self) - second:,} of player 1 and {second:,} of player 2"

    def _columns(self) -> dict[str, NDArray[np.generic]]:
        return {name: getattr(self, name) for name in strategy_file.COLUMNS}

    def _check(self) -> None:
        lengths = (len(self.player), len(self.count))
        cells = int(self.count.sum())
        if lengths != (len(self.keys),) * 2 or len(self.actions) != cells or len(self.probability) != cells:
            raise UnseenError("the columns of the strategy do not fit together.")
        if len(self.keys) and (self.count.min() < 1 or (self._sorted[1:] == self._sorted[:-1]).any()):
            raise UnseenError("an information set of the strategy has no actions or is there twice.")
        if not np.isin(self.player, (0, 1)).all():
            raise UnseenError("an information set of the strategy is that of a player who is neither 0 nor 1.")
        if not cells:
            return
        ascends = np.diff(self.actions, prepend=-1) > 0
        ascends[self.first] = True
        if self.actions.min() < 0 or self.actions.max() >= self.game.num_actions or not ascends.all():
            raise UnseenError(
                f"the actions of the strategy must be numbers from 0 to {self.game.num_actions - 1}, ascending at each set."
            )
        sums = np.add.reduceat(self.probability, self.first)
        if not (self.probability >= 0.0).all() or not (np.abs(sums - 1.0) < SUM_TOLERANCE).all():
            raise UnseenError("the probabilities of the strategy are not distributions.")
