"""Solving as a job: run a solver until it is good enough, watch it converge, and lose nothing on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.enumeration.walker import MEMORY_SHARE, machine_memory
from unseen.errors import UnseenError
from unseen.exact.sequence_form import Evaluation, SequenceForm
from unseen.exact.ways import form_for
from unseen.game import Game
from unseen.loading import load
from unseen.run import checkpoint
from unseen.run.files import check_outputs, write_output
from unseen.run.logs import Run, log_of, marked
from unseen.run.progress import InterruptsHeld, watched
from unseen.run.reading import is_amount, is_count, is_number, reading
from unseen.show.convergence import runs_figure
from unseen.show.results import Result, number, per_player
from unseen.solving.algorithms import make_solver, needs_form
from unseen.solving.solvers import SamplingSolver, Solver
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECONDS_PER_RUN = 0.25
GROWTH = 1.25
"""Evaluations come at iterations that grow by this factor, or later if evaluating would take over a fifth of the time."""
EVALUATION_SHARE = 0.2
LOG = log_of("solve")


@dataclass(frozen=True)
class Point:
    """How far a solver had come at one moment of a run."""

    iterations: int
    seconds: float
    nodes: int
    best_response: tuple[float, float] | None
    """Of both players, their sum and the value of the profile to the first player; None if they were not evaluated."""
    exploitability: float | None
    value: float | None


@dataclass(repr=False)
class Solved(Result):
    """The result of a job: the average strategy and how it converged."""

    strategy: Strategy
    algorithm: str
    points: list[Point] = field(default_factory=list)
    stopped: bool = False
    """Whether Ctrl-C ended it."""
    note: str = ""
    """What else there is to say: that nothing was left to do."""
    trouble: str = ""
    """Why the last checkpoint or line of the log could not be written, if it could not. What was written before is still there."""
    seed: int = 0
    form: str = ""
    """The sequence form that it worked on or was evaluated on (see `Evaluation`), if there was one."""

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def exploitability(self) -> float | None:
        """That of the strategy (sum), if it was evaluated."""
        return self.last.exploitability

    @property
    def value(self) -> float | None:
        """The value of the profile to the first player, if it was evaluated."""
        return self.last.value

    @property
    def title(self) -> str:
        return f"{self.algorithm} on {self.strategy.game.spec}" + " (stopped)" * self.stopped

    @property
    def summary(self) -> str:
        measured = "" if self.exploitability is None else f", exploitability (sum) {self.exploitability:.3g}"
        return f"{self.last.iterations:,} iterations{measured}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.strategy.game.spec, "algorithm": self.algorithm, **asdict(self.last), "stopped": self.stopped,
            "form": self.form or None,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        last = self.last
        rows: dict[str, Any] = {
            "iterations": last.iterations,
            "seconds of solving": f"{last.seconds:.2f}",
            "nodes touched": last.nodes,
        }
        if last.best_response is not None and last.exploitability is not None and last.value is not None:
            rows["best responses"] = per_player(last.best_response, "z.6g")
            rows["exploitability (sum of both)"] = number(last.exploitability)
            rows["value of the profile to the first player"] = number(last.value)
        if self.form:
            rows["sequence form"] = self.form
        return rows

    def figure(self) -> Figure:
        """How it converged: exploitability against nodes, iterations and seconds, as a Matplotlib figure."""
        points = [asdict(point) for point in self.points if point.exploitability is not None]
        return runs_figure([Run(self.strategy.game.spec, self.algorithm, self.seed, points)])


Watcher = Callable[[Point], None]


def solve(
    game: Game | str, algorithm: str = "dcfr", *, iterations: int | None = None, seconds: float | None = None,
    nodes: int | None = None, until: float | None = None, seed: int = 0, streamed: bool | None = None, reduced: bool | None = None,
    evaluate: bool = True, log: Path | str | None = None, save: Path | None = None, save_every: float = 30.0, resume: bool = False,
    watch: Watcher | None = None, progress: bool | None = None, memory: int | None = None, form: SequenceForm | None = None,
    force: bool = False,
) -> Solved:  # fmt: skip
    """Improve a strategy for a game until one of the limits is reached. Ctrl-C ends the job and returns what there is.

    - `game`: a game, or what names one: `"leduc_poker"`, `"path/to/file.py:ClassName"`.
    - `algorithm`: its name, perhaps with options: `"cfr+"`, `"outcome_sampling(epsilon=0.6)"`. `unseen algorithms` lists them.
    - `iterations`, `seconds`, `nodes` (histories visited), `until` (an exploitability): the limits, of which there must be one.
    - `seed`: of all random choices.
    - `streamed`: walk the game instead of storing its payoffs; `reduced`: leave out mirror images and settled endings. Unless one
      of them is given, the sequence form is what fits the game.
    - `evaluate`: compute the exact exploitability on the way. If False, algorithms that sample the game need not enumerate it.
    - `log`: a file that gets a line of JSON for each evaluation; `unseen plot` draws it.
    - `save`: a file in which the state of the solver is kept every `save_every` seconds and at the end; `resume` goes on from
      there.
    - `watch`: a function that is called with each evaluation (a `Point`), also with those from before a job was resumed.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    - `memory`: the most bytes that walking the game may take, and that an algorithm which samples the game may take for its table.
    - `form`: the game's sequence form, if there is one already.
    - `force`: whether `log` may replace a file that is not a log of this function.
    """
    game = load(game)
    limits = {"iterations": iterations, "seconds": seconds, "nodes": nodes, "until": until}
    check(algorithm, limits, evaluate, bool(reduced))
    check_outputs([(log, LOG), (save, checkpoint.KIND)], force)
    if form is None and (evaluate or needs_form(algorithm)):
        is_symmetric = needs_form(algorithm)  # what samples the whole game learns each image for itself
        form = form_for(game, streamed=streamed, reduced=reduced, symmetric=is_symmetric, memory=memory, progress=progress)
    solver = make_solver(algorithm, game, form, seed)
    if isinstance(solver, SamplingSolver):
        solver.memory = int(MEMORY_SHARE * machine_memory()) if memory is None else memory
    solver.prepare()
    with watched(progress, f"{algorithm} on {game.name}", "iterations") as tick:
        lines = _Log(Path(log), game, form, algorithm, seed, force) if log is not None else None
        job = _Job(solver, form if evaluate else None, algorithm, seed, limits, watch, tick, lines, save, save_every)
        if resume and save is not None:
            job.take_up()
        if save is not None:
            job.write()  # now rather than after hours: is there a place for it?
        found = job.run()
        return found if form is None else replace(found, form=form.way)


class _Log:
    """A log of evaluations, written whole each time, so that a reader never sees half of it."""

    def __init__(self, path: Path, game: Game, form: SequenceForm | None, algorithm: str, seed: int, force: bool) -> None:
        self.path, self.lines, self.trouble, self.force = path, list[str](), "", force
        self.about = {"game": game.spec, "form": form.kind if form else None, "algorithm": algorithm, "seed": seed}

    def add(self, point: Point) -> None:
        self.lines.append(marked("solve", self.about | asdict(point)))
        try:
            write_output(self.path, LOG, ["\n".join([*self.lines, ""]).encode()], self.force)
            self.trouble = ""
        except UnseenError as error:  # the work goes on, and the next line may find room again
            self.trouble = str(error)


def check(algorithm: str, limits: Mapping[str, float | None], evaluate: bool = True, reduced: bool = False) -> None:
    """Raise if a job cannot be done as it is asked for, before any work is done for it."""
    on_form = needs_form(algorithm)
    for name, limit in limits.items():
        if limit is not None and not limit > 0:
            raise UnseenError(f"{name} is {limit}, but must be more than 0.")
    if all(limit is None for limit in limits.values()):
        raise UnseenError("say when to stop: iterations, seconds, nodes, or until (an exploitability).")
    if not evaluate and limits["until"] is not None:
        raise UnseenError(f"until is {limits['until']}, but without evaluation there is no exploitability to compare it with.")
    if reduced and not on_form:
        raise UnseenError(f"{algorithm} samples or walks the whole game, so it cannot work on a reduced form.")


class _Job:
    """A running job. Time spent evaluating and saving is not counted as solving."""

    def __init__(
        self, solver: Solver, form: SequenceForm | None, algorithm: str, seed: int, limits: dict[str, Any],
        watch: Watcher | None, tick: Callable[..., None], log: _Log | None, save: Path | None, save_every: float,
    ) -> None:  # fmt: skip
        self.solver, self.form, self.algorithm, self.seed = solver, form, algorithm, seed
        self.max_iterations, self.max_seconds = limits["iterations"] or 10**18, limits["seconds"] or inf
        self.max_nodes, self.until = limits["nodes"] or inf, limits["until"] or -inf
        self.watch, self.tick, self.log, self.save, self.save_every = watch, tick, log, save, save_every
        self.seconds = self.seconds_before = 0.0
        self.iterations_before = self.nodes_before = 0
        """What a checkpoint says of the time before: how fast the solver is only this process knows."""
        self.evaluating = 0.0
        self.saved = time.monotonic()
        self.points: list[Point] = []
        self.trouble = ""

    def run(self) -> Solved:
        note = ""
        if self.solver.iterations and self.is_done():
            done = f"{self.solver.iterations:,} iterations, {self.seconds:.1f} seconds and {self.solver.nodes:,} nodes"
            note = f"nothing was left to do: the checkpoint already has {done}; raise the limit to go on."
        with InterruptsHeld() as interrupts:  # an iteration is done whole or not at all
            while not self.is_done() and not interrupts.count:
                self.step()
            last = self.points[-1] if self.points else None
            if last is None or last.iterations != self.solver.iterations or (last.exploitability is None and self.form is not None):
                self.evaluate()
            self.try_to_write()
        trouble = " ".join(filter(None, (self.trouble, self.log.trouble if self.log else "")))
        return Solved(self.solver.strategy(), self.algorithm, self.points, bool(interrupts.count), note, trouble, self.seed)

    def is_done(self) -> bool:
        last = self.points[-1].exploitability if self.points else None
        is_late = self.solver.iterations >= self.max_iterations or self.solver.nodes >= self.max_nodes
        return (last is not None and last <= self.until) or is_late or self.seconds >= self.max_seconds

    def step(self) -> None:
        """Run for a moment; evaluate and save if it is time."""
        next_evaluation = int(self.points[-1].iterations * GROWTH) + 1 if self.points else 1
        done, seconds = self.solver.iterations - self.iterations_before, self.seconds - self.seconds_before
        rate = done / seconds if seconds > 0 else 1.0
        wanted = max(int(rate * min(SECONDS_PER_RUN, self.max_seconds - self.seconds)), 1)
        limit = min(wanted, self.max_iterations - self.solver.iterations)
        if done and self.max_nodes < inf:
            per_iteration = (self.solver.nodes - self.nodes_before) / done
            limit = max(min(limit, ceil((self.max_nodes - self.solver.nodes) / per_iteration)), 1)
        if self.solver.iterations < next_evaluation:
            limit = min(limit, next_evaluation - self.solver.iterations)
        began = time.monotonic()
        self.solver.run(limit)
        self.seconds += time.monotonic() - began
        if self.solver.iterations >= next_evaluation and self.evaluating <= EVALUATION_SHARE * self.seconds + 0.1:
            self.evaluate()
        if time.monotonic() - self.saved > self.save_every:
            self.try_to_write()
        last = self.points[-1].exploitability if self.points else None
        self.tick(self.solver.iterations, f"exploitability (sum) {last:.3g}" if last is not None else "")

    def evaluate(self) -> None:
        began = time.monotonic()
        where = (self.solver.iterations, self.seconds, self.solver.nodes)
        point = Point(*where, None, None, None)
        if self.form is not None:
            found: Evaluation = self.solver.evaluate(self.form)
            point = Point(*where, found.best_response, found.exploitability, found.value)
        self.evaluating += time.monotonic() - began
        self.note(point)

    def note(self, point: Point) -> None:
        self.points.append(point)
        if self.log is not None:
            self.log.add(point)
        if self.watch is not None:
            self.watch(point)

    def header(self) -> dict[str, Any]:
        return {"algorithm": self.algorithm, "seed": self.seed, **self.solver.about()}

    def write(self) -> None:
        assert self.save is not None
        progress = {
            "iterations": self.solver.iterations, "nodes": self.solver.nodes, "seconds": self.seconds,
            "points": [asdict(point) for point in self.points],
        }  # fmt: skip
        checkpoint.write(self.save, self.solver.game, self.header() | progress, self.solver.arrays())
        self.saved = time.monotonic()

    def try_to_write(self) -> None:
        """Write a checkpoint if there is to be one; if that fails the earlier one is still there, and the work goes on."""
        if self.save is None:
            return
        try:
            self.write()
            self.trouble = ""
        except UnseenError as error:
            self.trouble = str(error)
            self.saved = time.monotonic()

    def take_up(self) -> None:
        """Go on from the saved state, if there is one."""
        assert self.save is not None
        if not self.save.exists():
            return
        header, arrays = checkpoint.read(self.save, self.solver.game, self.header(), self.solver.layout())
        with reading(f"checkpoint {self.save}"):
            iterations, nodes, seconds, points = read_progress(header)
            self.solver.restore(arrays, iterations, nodes)
        self.seconds = self.seconds_before = seconds
        self.iterations_before, self.nodes_before = iterations, nodes
        for point in points:
            self.note(point)


def read_progress(header: Mapping[str, Any]) -> tuple[int, int, float, list[Point]]:
    """Iterations, nodes, seconds and points, from the header of a checkpoint; raises if they cannot be."""
    iterations, nodes, seconds, rows = (header.get(name) for name in ("iterations", "nodes", "seconds", "points"))
    if is_count(iterations) and is_count(nodes) and is_amount(seconds) and isinstance(rows, list):
        points = [point for point in map(read_point, rows) if point is not None]
        come = [0, *(point.iterations for point in points), iterations]
        if len(points) == len(rows) and come == sorted(come):
            return iterations, nodes, float(seconds), points
    raise UnseenError("its header does not say how far the solver had come.")


def read_point(row: Any) -> Point | None:
    """The point that became a row of a checkpoint, if it can be one."""
    if not isinstance(row, dict) or row.keys() != Point.__dataclass_fields__.keys():
        return None
    best, measured = row["best_response"], (row["exploitability"], row["value"])
    if not is_count(row["iterations"]) or not is_count(row["nodes"]) or not is_amount(row["seconds"]):
        return None
    if best is None:
        return Point(**row) if measured == (None, None) else None
    if not isinstance(best, list) or len(best) != 2 or not all(map(is_number, (*best, *measured))):
        return None
    return Point(**(row | {"best_response": tuple(best)}))
