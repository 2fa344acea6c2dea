"""Tournaments: many agents, every one against every one, in pairs of games with the same chance and the seats changed.

The games are numbered, round by round, so that whenever it is stopped all have met about as often. Game number k depends on the
seed and on k alone: any of them can be played again, and workers, kills and resumption change nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked
from unseen.arena.matches import check_pairs, forfeits_text
from unseen.arena.names import check_agent, make_agent, prepared
from unseen.arena.ratings import PAYOFFS, WINS
from unseen.arena.records import Check, Record, Row
from unseen.arena.referee import Played, play
from unseen.arena.sprt import SPRT
from unseen.arena.standings import Standings, numbered
from unseen.arena.tournament_page import write_pages
from unseen.errors import UnseenError
from unseen.game import Game
from unseen.loading import load
from unseen.run.progress import InterruptsHeld, LiveTable
from unseen.run.workers import Workers, run_all
from unseen.show.results import Result
from unseen.version import __version__

if TYPE_CHECKING:
    from rich.table import Table

SEATS = 2
TIMED = "seconds", "moves", "simulations"
MOST = 1e18
"""No number in a record is as large."""
SMALL = 5_000_000
"""Histories of a game that is enumerated without being asked for."""
AFFORDABLE = 30.0
"""Seconds of thought, at all information sets together, for which an agent's exploitability is computed without being asked for."""
RATED_BY = {
    WINS: "wins (400 points are odds of ten to one)",
    PAYOFFS: "payoffs, as some games pay more than others: what an agent gets a game, its opponents counting alike",
}
Watch = Callable[["Tournament"], None]


@dataclass(frozen=True)
class Schedule:
    """Who plays whom: in each round, in each of the games, each pair of agents twice."""

    games: tuple[Game, ...]
    agents: tuple[str, ...]
    """What names them, in the order of their labels."""
    pairs: tuple[tuple[int, int], ...]
    rounds: int
    seed: int
    budget: Budget | None
    limit: float | None
    forfeits: bool = False
    """Whether an agent at fault loses the game; otherwise its fault ends the tournament."""

    @property
    def tasks(self) -> int:
        """Pairs of games."""
        return self.rounds * len(self.games) * len(self.pairs)

    def place(self, task: int) -> tuple[int, int, int, int]:
        """The round, the game and the two agents of a pair of games."""
        rest, pair = divmod(task, len(self.pairs))
        turn, game = divmod(rest, len(self.games))
        return turn, game, *self.pairs[pair]


class Tables:
    """Plays pairs of games. Agents are made when they are first needed, and stay."""

    def __init__(self, schedule: Schedule, made: dict[tuple[int, int], Agent]) -> None:
        self.schedule, self.made, self.asked = schedule, made, dict[tuple[int, int], Asked]()

    def agent(self, game: int, number: int) -> Asked:
        place, name = (game, number), self.schedule.agents[number]
        if place not in self.asked:
            self.asked[place] = Asked(self.made.get(place) or make_agent(name, self.schedule.games[game]), name)
        return self.asked[place]

    def __call__(self, task: int) -> list[tuple[Played, list[int]]]:
        """Both games of a pair, with the simulations that were made in each seat."""
        schedule, (turn, game, *pair) = self.schedule, self.schedule.place(task)
        found = []
        for swapped in range(SEATS):
            agents = [self.agent(game, number) for number in (pair[::-1] if swapped else pair)]
            place = (schedule.seed, game, *pair, turn)
            seed, budget = (*place, swapped), schedule.budget
            played = play(schedule.games[game], agents, seed, budget, schedule.limit, place, schedule.forfeits)
            found.append((played, [agent.simulations_made for agent in agents]))
        return found


@dataclass(repr=False)
class Tournament(Result):
    """The games that have been played, and what they say."""

    schedule: Schedule
    names: list[str]
    record: Record
    anchor: tuple[str, float] | None = None
    sprt: SPRT | None = None
    stopped: bool = False
    """Whether Ctrl-C ended it."""
    exploitability: list[dict[str, float]] = field(default_factory=list)
    """For each game, of the agents of which it is known."""

    @property
    def games(self) -> tuple[Game, ...]:
        return self.schedule.games

    @property
    def title(self) -> str:
        return ", ".join(game.spec for game in self.games)

    @property
    def summary(self) -> str:
        played = f"{len(self.record.games):,} games"
        ratings = self.overall.ratings
        if ratings is None:
            return played
        best = self.overall.order[0]
        return f"{played}, {self.names[best]} first with {ratings.text(best)}"

    def forfeited(self, rows: Sequence[Row]) -> list[int]:
        """How many of these games each agent has lost by a fault."""
        return [sum(row.get("forfeited_by") == name for row in rows) for name in self.names]

    def standings(self, game: int | None = None) -> Standings:
        """What the games say; those of one of several games, by number. Over several games a payoff is 1, 0 or -1."""
        rows = np.array([self.schedule.place(k // SEATS)[1] for k in range(len(self.record.games))], np.int64)
        mine = np.flatnonzero(rows == game) if game is not None else np.arange(len(rows))
        place = {name: k for k, name in enumerate(self.names)}
        games, times = [self.record.games[k] for k in mine], [self.record.times[k] for k in mine]
        payoff = np.array([row["payoff"] for row in games], float)
        if game is None and len(self.games) > 1:
            payoff = np.sign(payoff)
        is_one = game is not None or len(self.games) == 1
        return Standings(
            self.title if game is None else self.games[game].spec, self.names,
            first=np.array([place[row["first"]] for row in games], np.int64),
            second=np.array([place[row["second"]] for row in games], np.int64),
            payoff=payoff, group=mine // SEATS,
            seconds=np.array([row["seconds"] for row in times], np.float64).reshape(-1, SEATS),
            moves=np.array([row["moves"] for row in times], np.int64).reshape(-1, SEATS),
            simulations=np.array([row["simulations"] for row in times], np.int64).reshape(-1, SEATS),
            anchor=self.anchor, forfeits=np.array(self.forfeited(games)),
            exploitability=self.exploitability[game or 0] if self.exploitability and is_one else None,
        )  # fmt: skip

    @property
    def overall(self) -> Standings:
        """Standings over all games, as they are now."""
        return self.standings()

    def as_dict(self) -> dict[str, Any]:
        found = {
            "games": [game.spec for game in self.games], "agents": self.names, "played": len(self.record.games),
            "stopped": self.stopped, "repaired": self.record.repaired,
            "faults": [row["fault"] for row in self.record.games if row["fault"]], **self.overall.as_dict(),
        }  # fmt: skip
        if self.sprt is not None:
            found["sprt"] = self.sprt.as_dict()
        if len(self.games) > 1:
            found["by_game"] = {game.spec: self.standings(k).as_dict() for k, game in enumerate(self.games)}
        return found

    def rows(self) -> dict[str, Any]:
        standings, rows = self.overall, dict[str, Any]()
        if (ratings := standings.ratings) is not None:
            for i in standings.order:
                low, high = (ratings.shown(ends[i]) for ends in (ratings.low, ratings.high))
                rows[self.names[i]] = f"{ratings.shown(ratings.rating[i])}   (95%: {low} to {high})"
            rows["moving first is worth"] = ratings.advantage_text
        rows["games played"] = len(self.record.games)
        return rows | self.notes()

    def notes(self) -> dict[str, Any]:
        """What else there is to be said."""
        rows: dict[str, Any] = {"rated by": RATED_BY[self.overall.rated_by]} if self.record.games else {}
        for name in self.names:
            faults = [row["fault"] for row in self.record.games if row.get("forfeited_by") == name]
            if faults:
                rows[f"games forfeited by {name}"] = forfeits_text(faults)
        if (ratings := self.overall.ratings) is not None and ratings.is_held:
            rows["held back"] = "the games set no bound to some ratings, as of who has never lost; a weak prior does"
        if self.sprt is not None:
            rows["sequential test"] = str(self.sprt) + (", by wins" if self.overall.has_stakes else "")
        if self.record.repaired:
            rows["repaired"] = self.record.repaired
        if self.stopped:
            rows["stopped"] = "by Ctrl-C"
        return rows

    def table(self) -> Table:
        """The ratings as a table for `rich.print`."""
        return ratings_table(self.overall, "; ".join(f"{name}: {value}" for name, value in self.notes().items()))

    def replay(self, number: int) -> Played:
        """Game `number`, played again."""
        if not 0 <= number < SEATS * self.schedule.tasks:
            raise UnseenError(f"number is {number}, but must be one from 0 to {SEATS * self.schedule.tasks - 1}.")
        return Tables(self.schedule, {})(number // SEATS)[number % SEATS][0]

    def heat_map(self) -> Any:
        """The mean payoffs of all pairs as a Matplotlib figure."""
        return self.overall.heat_map()

    def figure(self) -> Any:
        """The ratings with their intervals as a Matplotlib figure."""
        return self.overall.rating_plot()


def ratings_table(standings: Standings, caption: str = "") -> Table:
    """The ratings for a terminal: the columns that fit there; the page has all."""
    from rich.table import Table
    from rich.text import Text

    head, rows = standings.rating_rows()
    table = Table(title=Text(standings.title), caption=Text(caption) if caption else None)
    columns = [k for k, name in enumerate(head) if name not in ("sims", "vs Nash")]
    for k in columns:  # where there is little room, names of agents take several lines
        table.add_column(head[k], no_wrap=k > 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[k]) for k in columns))
    return table


def tournament(
    game: Game | str | Sequence[Game | str], agents: Sequence[str], games: int = 100, *, out: Path | str | None = None,
    resume: bool = False, gauntlet: bool = False, seed: int = 0, workers: Workers = None, budget: Budget | None = None,
    limit: float | None = None, forfeits: bool = False, anchor: tuple[str, float] | None = None,
    sprt: tuple[float, float] | None = None, exploitability: bool | None = None, watch: Watch | None = None,
    progress: bool | None = None,
) -> Tournament:  # fmt: skip
    """Let agents play every one against every one. Ctrl-C ends it and keeps the games that were played.

    An agent that raises an exception, answers with what is no strategy or takes too long ends it with an `AgentFault`, unless
    there are `forfeits`; the record keeps the games played before.

    - `game`: a game, or several: games, or what names them.
    - `agents`: what names them; the second of the same name is called number 2.
    - `games`: for each pair in each game; an even number, since seats are changed after each.
    - `out`: a folder for the record of all games, and a page with what they say; `resume` goes on with one, perhaps to more games.
    - `gauntlet`: only the first agent plays, against all others.
    - `seed`: of all random choices. Game number k depends on it and on k alone.
    - `workers`: processes to use; otherwise one a core. The result does not depend on it.
    - `budget`: what agents that do not say themselves may spend on a move.
    - `limit`: the most seconds that an agent may take for a move; more are a fault.
    - `forfeits`: whether an agent at fault loses the game, and the tournament goes on. The standings say how often. A tournament
      that a fault has ended can be resumed with them.
    - `anchor`: an agent and its rating; otherwise ratings by wins have a mean of 0, and those by payoffs are what was paid.
    - `sprt`: for two agents: stop when it is decided by which of two differences of ratings the first one is stronger.
    - `exploitability`: whether to compute, for each agent and game, what its whole strategy can be exploited for; None: where the
      game is small and the agent fast.
    - `watch`: a function that is called after each pair of games.
    - `progress`: None shows a live table if a person is watching, True always, False never.
    """
    loaded = tuple(map(load, [game] if isinstance(game, (Game, str)) else game))
    names = numbered(agents)
    if len(agents) < 2:
        raise UnseenError(f"a tournament needs at least two agents; there {'is one' if agents else 'are none'}.")
    if not loaded or games < 1:
        raise UnseenError(f"games is {games}, but must be at least {SEATS}, of at least one game.")
    check_pairs(games)
    if sprt is not None and (len(agents) != 2 or len(loaded) != 1):
        raise UnseenError("sprt is a question about two agents in one game.")
    if anchor is not None and anchor[0] not in names:
        raise UnseenError(f"the anchor is {anchor[0]!r}, but must be one of the agents: {', '.join(names)}.")
    for each in loaded:
        for name in agents:
            check_agent(name, each)
    pairs = tuple((i, j) for i in range(len(agents)) for j in range(i + 1, len(agents)) if i == 0 or not gauntlet)
    schedule = Schedule(loaded, tuple(agents), pairs, games // SEATS, seed, budget, limit, forfeits)
    question = SPRT(*sprt) if sprt else None
    with Record(Path(out) if out is not None else None, settings_of(schedule, names), resume, is_right(schedule, names)) as record:
        result = Tournament(schedule, names, record, anchor, question)
        run(result, workers, watch, progress)
        try:
            if exploitability is not False and not result.stopped:
                places = range(len(loaded))
                result.exploitability = [exploitabilities(result, k, workers, progress, bool(exploitability)) for k in places]
        except KeyboardInterrupt:
            result.stopped = True
        except UnseenError:
            if exploitability:  # otherwise nobody has asked for it
                raise
        write(result)
    return result


def write(result: Tournament) -> None:
    """Write the pages of a tournament that is kept in a folder."""
    record = result.record
    if record.folder is not None:
        parts = [result.overall, *(result.standings(k) for k in range(len(result.games)) if len(result.games) > 1)]
        about = f"{len(record.games):,} games, seed {result.schedule.seed}."
        write_pages(record.folder, result.title, parts, [about, *(f"{name}: {note}" for name, note in result.notes().items())])


def settings_of(schedule: Schedule, names: Sequence[str]) -> dict[str, Any]:
    """What must be the same for a tournament to go on."""
    budget = schedule.budget
    return {
        "version": __version__, "games": [game.spec for game in schedule.games], "agents": list(names),
        "pairs": [list(pair) for pair in schedule.pairs], "rounds": schedule.rounds, "seed": schedule.seed,
        "budget": [budget.simulations, budget.seconds] if budget else None, "limit": schedule.limit,
    }  # fmt: skip


def is_right(schedule: Schedule, names: Sequence[str]) -> Check:
    """Whether lines of a record can be those of a game of this schedule."""

    def check(game: Row, times: Row) -> bool:
        _, number, *pair = schedule.place(game["number"] // SEATS)
        seats = [names[k] for k in (pair[::-1] if game["number"] % SEATS else pair)]
        numbers = [game.get("payoff"), *(x for name in TIMED for x in _listed(times.get(name)))]
        return (
            [game.get("game"), game.get("first"), game.get("second")] == [schedule.games[number].spec, *seats]
            and "history" in game and isinstance(game.get("fault", 0), (str, type(None))) and len(numbers) == 1 + SEATS * len(TIMED)
            and all(isinstance(x, (int, float)) and abs(x) < MOST for x in numbers)
        )  # fmt: skip

    return check


def _listed(numbers: Any) -> list[Any]:
    return numbers if isinstance(numbers, list) and len(numbers) == SEATS else []


def run(result: Tournament, workers: Workers, watch: Watch | None, progress: bool | None) -> None:
    """Play what has not been played."""
    schedule, record = result.schedule, result.record
    first, began = len(record.games) // SEATS, time.monotonic()
    if result.sprt is not None:
        result.sprt = result.sprt.after(scores(result, record.games))
    if first >= schedule.tasks or is_decided(result):
        return
    try:
        with LiveTable(progress, lambda: live_table(result, began, first)) as show:
            made, tasks = solved_once(result), range(first, schedule.tasks)
            for task, played in zip(tasks, run_all(Tables, (schedule, made), tasks, workers), strict=False):
                with InterruptsHeld() as interrupts:  # a pair is noted everywhere or nowhere
                    record.add(*rows_of(result, task, played))
                show()
                if watch is not None:
                    watch(result)
                if result.sprt is not None:
                    result.sprt = result.sprt.after(scores(result, record.games[-SEATS:]))
                if interrupts.count:
                    raise KeyboardInterrupt
                if is_decided(result):
                    return
    except KeyboardInterrupt:
        result.stopped = True


def rows_of(result: Tournament, task: int, played: Sequence[tuple[Played, list[int]]]) -> tuple[list[Row], list[Row]]:
    """A pair of games as lines of the record."""
    _, game, *pair = result.schedule.place(task)
    games, times = [], []
    for swapped, (one, simulations) in enumerate(played):
        seats = pair[::-1] if swapped else pair
        number = SEATS * task + swapped
        games.append({
            "number": number, "game": result.games[game].spec, "first": result.names[seats[0]], "second": result.names[seats[1]],
            "payoff": one.payoffs[0], "history": list(one.history), "fault": str(one.fault) if one.fault else None,
            "forfeited_by": result.names[seats[one.fault.seat]] if one.fault else None,
        })  # fmt: skip
        turns = [[turn.seconds for turn in one.turns if turn.seat == seat] for seat in range(SEATS)]
        times.append({
            "number": number, "seconds": [round(sum(each), 6) for each in turns], "moves": [len(each) for each in turns],
            "simulations": simulations,
        })  # fmt: skip
    return games, times


def scores(result: Tournament, games: Sequence[Row]) -> list[float]:
    """What the first agent has scored in some games: 1, 1/2 or 0."""
    signs = [np.sign(row["payoff"]) * (1 if row["first"] == result.names[0] else -1) for row in games]
    return [0.5 * (1.0 + float(sign)) for sign in signs]


def is_decided(result: Tournament) -> bool:
    return result.sprt is not None and result.sprt.accepted is not None


def live_table(result: Tournament, began: float, first: int) -> Table:
    """The ratings so far, and how far it has come since it `began` with pair number `first`."""
    played, seconds = len(result.record.games), time.monotonic() - began
    rate = (played - SEATS * first) / seconds if seconds else 0.0
    far = f"{played:,} of {SEATS * result.schedule.tasks:,} games, {rate:,.1f} games/s, {seconds:,.0f} s"
    return ratings_table(result.overall, far)


def solved_once(result: Tournament) -> dict[tuple[int, int], Agent]:
    """Agents that have solved the game, by game and number: made here, once, and sent to all workers."""
    places = [(game, number) for game in range(len(result.games)) for number in range(len(result.names))]
    made = {place: prepared(result.schedule.agents[place[1]], result.games[place[0]]) for place in places}
    return {place: agent for place, agent in made.items() if isinstance(agent, Agent)}


def exploitabilities(result: Tournament, number: int, workers: Workers, progress: bool | None, everyone: bool) -> dict[str, float]:
    """What the whole strategies of agents can be exploited for in game `number`; unless it must be known of `everyone`, only where
    the game is small and an agent fast."""
    from unseen.arena.comparison import strategy_of
    from unseen.enumeration.whole import enumerate_game, enumerate_small
    from unseen.exact.sequence_form import SequenceForm

    game, schedule, found = result.games[number], result.schedule, dict[str, float]()
    walked = enumerate_game(game, store=True, progress=progress) if everyone else enumerate_small(game, SMALL, store=True)
    if walked is None:
        return found
    form, (seconds, _) = SequenceForm(game, found=walked), result.standings(number).thought
    for k, (name, spec) in enumerate(zip(result.names, schedule.agents, strict=True)):
        is_fast = seconds[k] * sum(form.infosets) <= AFFORDABLE and ".py:" not in spec  # a user's own agent may do anything
        if everyone or is_fast:
            strategy = strategy_of(game, spec, schedule.seed, workers, progress, budget=schedule.budget, form=form, walked=walked)
            found[name] = form.evaluate(strategy).exploitability
    return found
