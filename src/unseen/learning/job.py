"""The loop of ExIt-OOS as a job: self-play by planning, training on what planning found, and planning with what was learnt.

A folder holds all of it: `network.safetensors`, the network as it is; `log.jsonl`, a line for each iteration; `learning.png`, what
came of it so far; and `checkpoint`, everything that is needed to go on. Each is replaced whole, so a kill costs no more than the
iteration that was under way, and a job that goes on comes to the same network as one that was never stopped.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.arena.matches import match
from unseen.enumeration.whole import enumerate_small
from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.game import Game
from unseen.learning.reservoir import Reservoir
from unseen.learning.self_play import Assignment, SelfPlay, images
from unseen.learning.settings import Settings, is_of_the_library, settings_for
from unseen.learning.training import Trainer
from unseen.loading import load
from unseen.networks.agents import NetworkAgent
from unseen.networks.encoding import Encoding
from unseen.networks.network import Network
from unseen.networks.whole import EverySet
from unseen.position import random_walk
from unseen.run import checkpoint
from unseen.run.files import OURS, write_atomically
from unseen.run.progress import InterruptsHeld, watched
from unseen.run.reading import TEXT_BYTES, is_amount, is_count, is_number, parse_json, read_bytes, reading
from unseen.run.workers import Crew, Workers, crew_of
from unseen.show.figures import new_figure, save_picture
from unseen.show.results import Result, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALL = 5_000_000
"""Histories of a game in which exact exploitability is computed on the way without being asked for."""
NETWORK, LOG, PICTURE, CHECKPOINT = "network.safetensors", "log.jsonl", "learning.png", "checkpoint"
RATES = ("against_random", "against_teacher")
SAMPLE_GAMES = 200
"""Random games by which the length of a game is judged."""


@dataclass(frozen=True)
class Iteration:
    """What is known of the network after an iteration."""

    iteration: int
    seconds: float
    """Of the whole job so far, evaluations not counted."""
    games: int
    """Of self-play, in all."""
    simulations: int
    """In all."""
    loss: float
    decisions: int
    """In the reservoir."""
    exploitability: float | None = None
    """Of the bare network, exact, the sum of both; None where it was not computed."""
    against_random: tuple[float, float, float] | None = None
    """The rate of wins, a draw counting half, with its 95% interval."""
    against_teacher: tuple[float, float, float] | None = None

    @property
    def is_evaluated(self) -> bool:
        return self.exploitability is not None or self.against_random is not None


@dataclass(repr=False)
class Learned(Result):
    """What has been learnt."""

    game: Game
    settings: Settings
    network: Network
    iterations: list[Iteration] = field(default_factory=list)
    stopped: bool = False
    """Whether Ctrl-C ended it."""
    trouble: str = ""
    """Why the last iterations could not be written, if they could not. What was written before is still there."""

    @property
    def last(self) -> Iteration | None:
        return self.iterations[-1] if self.iterations else None

    @property
    def title(self) -> str:
        return f"learning {self.game.spec}" + " (stopped)" * self.stopped

    @property
    def summary(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in list(self.rows().items())[:3])

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.game.spec, "settings": self.settings.settings, "iterations": len(self.iterations), "stopped": self.stopped,
            "last": asdict(self.last) if self.last else None,
            "evaluations": [asdict(i) for i in self.iterations if i.is_evaluated],
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = {"iterations": len(self.iterations)}
        if self.last is None:
            return rows
        rows |= {
            "games of self-play": self.last.games, "simulations": self.last.simulations,
            "seconds": f"{self.last.seconds:,.1f}", "loss": f"{self.last.loss:.4f}",
        }  # fmt: skip
        known = [i for i in self.iterations if i.is_evaluated]
        if known:
            at = f" after {known[-1].iteration} iterations"
            if known[-1].exploitability is not None:
                rows[f"exploitability of the network (sum){at}"] = number(round(known[-1].exploitability, 6))
            for name, rate in (("random", known[-1].against_random), ("its teacher", known[-1].against_teacher)):
                if rate is not None:
                    rows[f"win rate against {name}{at}"] = f"{rate[0]:.1%}   (95%: {rate[1]:.1%} to {rate[2]:.1%})"
        return rows

    def figure(self) -> Figure:
        """Loss, exploitability and win rates by iteration, as a Matplotlib figure."""
        return learning_figure(self.game.spec, self.iterations)


def learn(
    game: Game | str, *, out: Path | str, iterations: int = 100, resume: bool = False, seed: int = 0, workers: Workers = None,
    evaluate_every: int = 10, evaluation_games: int = 200, exploitability: bool | None = None, snapshot_every: int = 0,
    watch: Callable[[Iteration], None] | None = None, progress: bool | None = None, **settings: Any,
) -> Learned:  # fmt: skip
    """Train a network for a game by ExIt-OOS. Ctrl-C ends it and keeps all iterations but the one that is under way.

    - `game`: a game, or what names one.
    - `out`: a folder for the network, the log, a picture and checkpoints; `resume` goes on with one, to so many iterations in all.
    - `iterations`: each plays some games and then trains for some steps.
    - `seed`: of all random choices. On one machine the network depends on nothing else, however many workers there are.
    - `workers`: processes to use, otherwise one a core; or a `Cluster`.
    - `evaluate_every`: after so many iterations, each time, and after the last, the bare network is evaluated: exactly; and by
      `evaluation_games` games against `random` and as many against its teacher, with even playouts.
    - `exploitability`: whether to evaluate it exactly; None: where the game is small.
    - `snapshot_every`: after so many iterations, each time, a copy of the network is kept as `network-ITERATIONS.safetensors`.
    - `watch`: a function that is called after each iteration.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    - `settings`: what else can be set (see `unseen.learning.settings`), such as `simulations=1000`, `layers="128-64"`; to resume
      it is enough to say none of them.
    """
    game, folder = load(game), Path(out)
    if seed < 0:
        raise UnseenError(f"seed is {seed}, but must be at least 0.")
    every = {"evaluate_every": evaluate_every, "evaluation_games": evaluation_games, "snapshot_every": snapshot_every}
    for name, value in {"iterations": iterations - 1, **every}.items():
        if value < 0:
            raise UnseenError(f"{name} is {value + (name == 'iterations')}, but must be at least {int(name == 'iterations')}.")
    if exploitability and not evaluate_every:
        raise UnseenError("exploitability is True, but with evaluate_every 0 the network is never evaluated.")
    known = known_settings(game, folder) if resume else {}
    if "expert" in known and "expert" not in settings and not is_of_the_library(known["expert"]):
        raise UnseenError(f"{folder} was begun with an expert that is not of the library, {known['expert']!r}: say it again.")
    now = settings_for(game, **known | settings)
    for name, value in known.items():
        if now.settings[name] != value:
            raise UnseenError(
                f"{name} is {now.settings[name]!r}, but was {value!r} when {folder} was begun; leave it out to go on."
            )
    job = _Job(game, now, folder, seed, **every, exploitability=exploitability)
    make_place(folder, resume)
    if resume:
        job.take_up()
    with watched(progress, f"learning {game.name}", "games") as tick, crew_of(SelfPlay, (game, job.settings), workers) as crew:
        job.run(iterations, crew, watch, tick)
    return job.result


def make_place(folder: Path, resume: bool) -> None:
    """A folder for a job: new, or, to resume, one that holds a checkpoint or nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise UnseenError(f"the folder {folder} cannot be used: {error.strerror or error}.") from error
    if CHECKPOINT in held and not resume:
        raise UnseenError(f"the folder {folder} holds what was learnt before; --resume goes on with it.")
    held = {name for name in held if not name.startswith(OURS)}  # what is left of a write that was killed
    if held and CHECKPOINT not in held:
        raise UnseenError(f"the folder {folder} holds other files; name an empty one, or one that is not there.")


def known_settings(game: Game, folder: Path) -> dict[str, Any]:
    """The settings with which a folder was begun, if it was."""
    header = checkpoint.header_of(folder / CHECKPOINT)
    held = header.get("learning") if header.get("game") == game.spec else None
    return {name: value for name, value in held.items() if name in Settings.parameters} if isinstance(held, dict) else {}


def game_length(game: Game) -> int:
    """How many decisions a game has, on average over random ones, rounded up."""
    rng = random.Random(0)
    turns = [
        sum(position.player in (0, 1) and len(position.actions) > 1 for position in random_walk(game, rng))
        for _ in range(SAMPLE_GAMES)
    ]
    return max(1, -(-sum(turns) // SAMPLE_GAMES))


class _Job:
    """A job under way."""

    def __init__(
        self, game: Game, settings: Settings, folder: Path, seed: int, evaluate_every: int, evaluation_games: int,
        snapshot_every: int, exploitability: bool | None,
    ) -> None:  # fmt: skip
        self.game, self.settings, self.folder, self.seed = game, settings, folder, seed
        self.every, self.games, self.snapshot_every = evaluate_every, evaluation_games, snapshot_every
        self.is_exact = exploitability
        encoding = Encoding(game, settings.encoding or None)
        settings.expert_for(game)  # is there one?
        places = settings.reservoir * game_length(game) * len(images(game, settings))
        self.reservoir = Reservoir(encoding, places, settings.keep, settings.values)
        self.trainer = Trainer(encoding, settings.hidden, settings.rate, seed % 2**63, settings.values)
        self.rng = np.random.default_rng(seed)
        self.result = Learned(game, settings, self.trainer.network())
        self.form: SequenceForm | None = None
        self.every_set: EverySet | None = None
        self.seconds = 0.0
        self.pending: dict[int, Network] = {}
        """Copies that are to be kept, by iteration, and have not been written."""

    @property
    def done(self) -> list[Iteration]:
        return self.result.iterations

    def run(self, iterations: int, crew: Crew, watch: Callable[[Iteration], None] | None, tick: Callable[..., None]) -> None:
        """Go on until there have been so many iterations."""
        if self.is_exact:
            self.enumerate(self.reservoir.encoding)  # now rather than after hours: is there memory for it?
        if not self.done:
            self.keep()  # and a place for what is learnt?
        try:
            while len(self.done) < iterations:
                point, network = self.iterate(crew, tick, len(self.done) + 1 == iterations)
                with InterruptsHeld() as interrupts:
                    self.done.append(point)
                    self.result.network = network
                    self.keep()
                if watch is not None:
                    watch(point)
                if interrupts.count:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            self.result.stopped = True

    def iterate(self, crew: Crew, tick: Callable[..., None], is_last: bool) -> tuple[Iteration, Network]:
        """Self-play, training, and perhaps an evaluation."""
        began, last, settings = time.monotonic(), self.result.last, self.settings
        iteration = len(self.done)
        games, simulations = (last.games, last.simulations) if last else (0, 0)
        layers = self.trainer.layers()
        before = simulations
        for lesson in crew(Assignment((self.seed, iteration, k), layers) for k in range(settings.games)):
            self.reservoir.add(lesson.decisions, self.rng)
            games, simulations = games + 1, simulations + lesson.simulations
            rate = (simulations - before) / (time.monotonic() - began)
            tick(games, f"iteration {iteration + 1}, {rate:,.0f} simulations/s" + (f", {self.words(last)}" if last else ""))
        if not self.reservoir.size:
            raise UnseenError(f"{self.game.spec}: no player has had a choice in {games} games, so there is nothing to learn.")
        loss = self.trainer.train(self.reservoir, settings.steps, settings.batch, self.rng)
        self.seconds += time.monotonic() - began
        point = Iteration(iteration + 1, self.seconds, games, simulations, loss, self.reservoir.size)
        network = self.network(iteration + 1)
        is_due = self.every > 0 and ((iteration + 1) % self.every == 0 or is_last)
        return Iteration(**(asdict(point) | (self.evaluate(network) if is_due else {}))), network

    def network(self, iterations: int) -> Network:
        """The network as it is, after so many iterations."""
        return self.trainer.network({"iterations": iterations, "seed": self.seed, "settings": self.settings.settings})

    def words(self, last: Iteration) -> str:
        """A few words about an iteration."""
        known = [i.exploitability for i in self.done if i.exploitability is not None]
        return f"loss {last.loss:.4f}" + (f", exploitability (sum) {known[-1]:.3g}" if known else "")

    def evaluate(self, network: Network) -> dict[str, Any]:
        """What can be said of a network."""
        found: dict[str, Any] = {}
        if self.is_exact is not False and self.form is None:
            self.enumerate(network.encoding)
        if self.form is not None and self.every_set is not None:
            found["exploitability"] = self.form.evaluate(self.every_set.strategy(network)).exploitability
        if self.games:
            for name, other in (("against_random", "random"), ("against_teacher", self.settings.teacher)):
                games = match(self.game, NetworkAgent(network), other, self.games, seed=self.seed + 1, workers=1, progress=False)
                if games.stopped:
                    raise KeyboardInterrupt
                found[name] = games.rate
        return found

    def enumerate(self, encoding: Encoding) -> None:
        """Make ready for exact evaluations, if the game is small enough or it does not matter how large it is."""
        if self.is_exact:
            self.form = SequenceForm(self.game, reduced=True, progress=False)
            self.every_set = EverySet(encoding, progress=False)
        elif (walked := enumerate_small(self.game, SMALL, store=True)) is not None:
            self.form = SequenceForm(self.game, found=walked)
            self.every_set = EverySet(encoding, walked, progress=False)
        else:
            self.is_exact = False

    # What is kept ----------------------------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        return {"learning": self.settings.settings, "seed": self.seed, "encoding": self.reservoir.encoding.fingerprint}

    def keep(self) -> None:
        """Write all files, the checkpoint first. If that fails what was written before is still there, and the work goes on."""
        if self.snapshot_every and self.done and len(self.done) % self.snapshot_every == 0:
            self.pending[len(self.done)] = self.result.network
        try:
            about = {"seconds": self.seconds, "iterations": [asdict(i) for i in self.done], "random": self.rng.bit_generator.state}
            checkpoint.write(
                self.folder / CHECKPOINT, self.game, self.header() | about, self.trainer.arrays() | self.reservoir.arrays()
            )
            self.keep_rest()
            self.result.trouble = ""
        except UnseenError as error:
            if not self.done:
                raise
            if not self.result.trouble:
                print(f"unseen: {error} The work goes on.", file=sys.stderr)
            self.result.trouble = str(error)

    def keep_rest(self) -> None:
        """Write what follows from the checkpoint: networks, the log, the picture."""
        self.result.network.save(self.folder / NETWORK)
        for iterations in list(self.pending):
            self.pending[iterations].save(self.snapshot(iterations))
            del self.pending[iterations]
        lines = [json.dumps({"game": self.game.spec, "seed": self.seed, **asdict(i)}) for i in self.done]
        write_atomically(self.folder / LOG, ["\n".join([*lines, ""] if lines else []).encode()])
        if self.result.last is not None and self.result.last.is_evaluated:
            save_picture(self.result.figure(), self.folder / PICTURE, force=True)

    def snapshot(self, iterations: int) -> Path:
        return self.folder / f"network-{iterations}.safetensors"

    def take_up(self) -> None:
        """Go on from the folder, if there is something in it."""
        place = self.folder / CHECKPOINT
        if not place.exists():
            return
        header, arrays = checkpoint.read(place, self.game, self.header(), self.trainer.layout() | self.reservoir.layout())
        with reading(f"checkpoint {place}"):
            seconds, rows = header.get("seconds"), header.get("iterations")
            iterations = [read_iteration(row) for row in rows] if isinstance(rows, list) else [None]
            done = [point for point in iterations if point is not None]
            if not is_amount(seconds) or [point.iteration for point in done] != list(range(1, len(iterations) + 1)):
                raise UnseenError("its header does not say how far learning had come.")
            try:
                self.rng.bit_generator.state = header["random"]
            except (KeyError, ValueError, TypeError, OverflowError, AttributeError):
                raise UnseenError("its header does not hold the state of random numbers.") from None
            self.trainer.restore(arrays, len(done) * self.settings.steps)
            self.reservoir.restore(arrays)
        self.seconds, self.result.iterations = float(seconds), done
        self.result.network = self.network(len(self.done))
        if self.snapshot_every and self.done and len(self.done) % self.snapshot_every == 0:
            self.pending[len(self.done)] = self.result.network
        self.keep_rest()  # it may have been killed after the checkpoint


def read_iteration(row: Any) -> Iteration | None:
    """The iteration that became a row of a log or a checkpoint, if it can be one."""
    if not isinstance(row, dict) or row.keys() != Iteration.__dataclass_fields__.keys():
        return None
    exploitability, *rates = (row[name] for name in ("exploitability", "against_random", "against_teacher"))
    is_sound = all(is_count(row[name]) for name in ("iteration", "games", "simulations", "decisions"))
    is_sound = is_sound and is_amount(row["seconds"]) and is_number(row["loss"])
    is_sound = is_sound and (exploitability is None or is_number(exploitability))
    is_sound = is_sound and all(
        r is None or (isinstance(r, (list, tuple)) and len(r) == 3 and all(map(is_number, r))) for r in rates
    )
    if not is_sound or (rates[0] is None) != (rates[1] is None):
        return None
    return Iteration(**(row | {name: rate and tuple(rate) for name, rate in zip(RATES, rates, strict=True)}))


def read_log(path: Path) -> list[Iteration]:
    """The iterations in a log that `learn` has written."""
    with reading(f"log {path}"):
        try:
            rows = [parse_json(line) for line in read_bytes(path, TEXT_BYTES).splitlines()]
        except UnseenError:
            raise
        except ValueError:
            rows = [None]
        about = ("game", "seed")
        found = [read_iteration({k: v for k, v in row.items() if k not in about}) for row in rows if isinstance(row, dict)]
        done = [point for point in found if point is not None]
        if len(done) != len(rows):
            raise UnseenError("it is not one that `unseen learn` has written.")
        return done


def learning_figure(title: str, iterations: list[Iteration]) -> Figure:
    """Loss and, as far as they are known, exploitability and win rates by iteration."""
    exact, played = ([i for i in iterations if getattr(i, name) is not None] for name in ("exploitability", "against_random"))
    drawn = ["loss", *(["exploitability"] if exact else []), *(["against_random"] if played else [])]
    figure = new_figure(0.6 + 3.4 * len(drawn), 3.2)
    for axes, name in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        if name == "loss":
            axes.plot([i.iteration for i in iterations], [i.loss for i in iterations], linewidth=1.0)
            axes.set(ylabel="loss")
        elif name == "exploitability":
            axes.plot([i.iteration for i in exact], [i.exploitability for i in exact], "o-", markersize=3, linewidth=1.2)
            axes.set(ylabel="exploitability (sum)", ylim=(0, None))
        else:
            for rival in ("random", "teacher"):
                found = 100.0 * np.array([getattr(i, f"against_{rival}") for i in played])
                spread = np.abs(found[:, 1:].T - found[:, 0])
                axes.errorbar(
                    [i.iteration for i in played], found[:, 0], spread, fmt="o-", markersize=3, capsize=2, label=f"against {rival}"
                )
            axes.legend(fontsize=7, frameon=False)
            axes.axhline(50, color="black", linewidth=0.6)
            axes.set(ylabel="games won (%), draws half", ylim=(0, 100))
        axes.set_xlabel("iterations")
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=9)
    return figure
