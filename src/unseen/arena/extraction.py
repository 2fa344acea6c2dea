"""Whole strategies of agents: an agent is asked at every information set, and what it says becomes a table.

An agent that can say what its choice depends on (`Agent.question`) is asked each question once, and only at one information set of
all that are images of each other under the game's symmetries. The tree of what players can see is gone through from its root, so
every percept is taken in once. Other agents are asked at every information set (`measures.Stitching`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.agents import Budget
from unseen.arena.asking import Asked, attentive
from unseen.arena.measures import measure
from unseen.arena.names import asked, check_agent
from unseen.enumeration.symmetry import Images, reduction
from unseen.enumeration.walker import Enumeration
from unseen.enumeration.whole import enumerate_game
from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.exact.ways import choose_way
from unseen.game import Game
from unseen.loading import load
from unseen.position import Percept
from unseen.run.rows import Rows
from unseen.run.workers import Workers
from unseen.show.results import Result
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PER_TASK = 32
"""Questions in a task."""
SYMMETRIC = 1e-9
Question = tuple[int, list[Percept], list[int]]
"""Who is asked, what it has seen, and its legal actions."""


class NeedsSeed(UnseenError):
    """The strategy of an agent depends on a seed, and none was given."""


@dataclass(frozen=True, repr=False)
class Extraction(Result):
    """What an agent plays at every information set."""

    agent: str
    strategy: Strategy
    asked: int
    """Questions that were different."""
    seconds: float
    is_complete: bool = True
    form: str = ""
    """The sequence form whose information sets were asked (see `Evaluation`)."""

    @property
    def title(self) -> str:
        return f"{self.agent} in {self.strategy.game.spec}"

    @property
    def summary(self) -> str:
        return f"{len(self.strategy):,} information sets"

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.strategy.game.spec, "agent": self.agent, "infosets": len(self.strategy), "questions": self.asked,
            "seconds": self.seconds, "complete": self.is_complete, "form": self.form or None,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = {
            "information sets": len(self.strategy), "different questions": self.asked, "seconds": f"{self.seconds:.1f}",
        }  # fmt: skip
        if self.form:
            rows["sequence form"] = self.form
        if not self.is_complete:
            rows["stopped"] = "by Ctrl-C; what was not asked is taken as uniform"
        return rows

    def figure(self) -> Figure:
        """The strategy as a Matplotlib figure."""
        return self.strategy.figure()


def extract(
    game: Game | str, agent: str, *, seed: int | None = None, workers: Workers = None, budget: Budget | None = None,
    save: Path | str | None = None, resume: bool = False, progress: bool | None = None, form: SequenceForm | None = None,
    walked: Enumeration | None = None,
) -> Extraction:  # fmt: skip
    """The strategy that an agent plays, by asking it at every information set. Ctrl-C keeps what there is.

    - `game`: a game, or what names one. It is enumerated; without settled endings, where nothing matters any more.
    - `agent`: what names one.
    - `seed`: needed for an agent that draws random numbers; each question then has its own.
    - `workers`: processes to use; otherwise one a core.
    - `budget`: what an agent that does not say itself may spend on a move.
    - `save`: a file in which answers are kept; `resume` goes on from there.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    - `form`, `walked`: the game's sequence form and the game enumerated, whole, if there are such already.
    """
    game, began = load(game), time.perf_counter()
    check_agent(agent, game)
    agent_asked = asked(agent, game)
    for who in (0, 1):
        agent_asked.begin(game, who, 0, budget)
        if seed is None and not agent_asked.is_certain:
            raise NeedsSeed(f"agent {agent!r} draws random numbers, so its strategy depends on a seed: give one.")
    if (whole := agent_asked.whole(walked, progress)) is not None:
        return Extraction(agent, whole, len(whole), time.perf_counter() - began)
    if agent_asked.question is None:
        path = None if save is None else Path(save)
        found = measure(
            game, agent, "stitching", seed=seed or 0, workers=workers, budget=budget, save=path, resume=resume, progress=progress,
            form=form, walked=walked,
        )  # fmt: skip
        spent = time.perf_counter() - began
        return Extraction(agent, found.strategy, found.searches, spent, found.is_complete, found.evaluation.form)
    less, form = walk(game, seed is None, progress)
    actions, cells = full_actions(less, form.images)
    questions, number = all_questions(game, agent, less, actions, seed is None, budget)
    tasks = [questions[k : k + PER_TASK] for k in range(0, len(questions), PER_TASK)]
    rows = Rows(len(tasks), 1 + PER_TASK * game.num_actions, "questions")
    about = {"method": "extract", "agent": agent, "seed": seed, "questions": len(questions), "order": "depth first"}
    about |= {"budget": repr(budget)} if budget else {}
    rows.run(game, Asking, (game, agent, seed or 0, budget), tasks, about, save, resume, workers, None, progress)
    answers = rows.results[:, 1:].reshape(-1, game.num_actions)
    behaviours = as_behaviours(less, answers[number], actions, cells)
    spent = time.perf_counter() - began
    return Extraction(agent, form.strategy(*behaviours), len(questions), spent, rows.is_complete, form.way)


def walk(game: Game, is_symmetric: bool, progress: bool | None) -> tuple[Enumeration, SequenceForm]:
    """The information sets at which an agent is to be asked: up to symmetries, if it draws no random numbers anywhere."""
    choose_way(game, symmetric=is_symmetric)  # refuses what no walk gets through
    has_images = is_symmetric and len(game.symmetries()) > 1
    knows_endings = type(game).settled is not Game.settled
    less = reduction(game, stops_settled=True, symmetric=has_images) if has_images or knows_endings else None
    walked = enumerate_game(game, progress=progress, reduced=less)
    return walked, SequenceForm(game, streamed=True, reduced=has_images, found=walked)


def different_questions(game: Game, agent: str) -> list[Question]:
    """All that an agent, which draws no random numbers, can be asked."""
    walked, form = walk(game, True, None)
    return all_questions(game, agent, walked, full_actions(walked, form.images)[0], True, None)[0]


def full_actions(walked: Enumeration, images: Images | None) -> tuple[list[list[int]], list[list[int]]]:
    """For each information set all its actions (the walk may know only one of each kind), and the cell that each belongs to."""
    sets = walked.sets
    if images is None:
        ends = np.cumsum(sets.n_actions)
        cells = [list(range(end - n, end)) for end, n in zip(ends.tolist(), sets.n_actions.tolist(), strict=True)]
        return [sets.actions[each].tolist() for each in cells], cells
    first = np.cumsum(images.n_actions) - images.n_actions
    parts = [slice(int(first[i]), int(first[i] + images.n_actions[i])) for i in images.themselves(sets)]
    return [images.action[part].tolist() for part in parts], [images.cell[part].tolist() for part in parts]


@attentive
def all_questions(
    game: Game, agent: str, walked: Enumeration, actions: Sequence[list[int]], is_unseeded: bool,
    budget: Budget | None,
) -> tuple[list[Question], NDArray[np.int64]]:  # fmt: skip
    """The different questions, and which one each information set asks. Agents are kept only on the way to where it has come."""
    recall, sets = walked.recall, walked.sets
    below, set_at = ways_to(recall.parent, sets.node)
    first = asked(agent, game)
    stack: list[tuple[int, Asked]] = []
    for who in (1, 0):
        first.begin(game, who, 0, budget)
        stack.append((who, first.fork(0)))
    known: dict[bytes, int] = {}
    questions: list[Question] = []
    number = np.zeros(len(sets.player), np.int64)
    while stack:
        node, here = stack.pop()
        if node > 1:
            here = here.fork(0)
            here.observe(Percept(int(recall.own[node]), int(recall.public[node]), int(recall.private[node])))
        stack += [(child, here) for child in reversed(below.get(node, []))]
        if node not in set_at:
            continue
        j = set_at[node]
        player = int(sets.player[j])
        if is_unseeded and not here.is_certain:
            raise NeedsSeed(
                f"agent {agent!r} looks at a part of the worlds only, so its strategy depends on a seed: give one, or more worlds."
            )
        text = here.question if here.is_certain else None
        place = bytes([player]) + text if text is not None else node.to_bytes(8)
        if place not in known:
            known[place] = len(questions)
            questions.append((player, list(here.seen), actions[j]))
        number[j] = known[place]
    return questions, number


def ways_to(parent: NDArray[np.int32], nodes: NDArray[np.int32]) -> tuple[dict[int, list[int]], dict[int, int]]:
    """The tree above some `nodes`: what is below each node of it; and the place that each of `nodes` has among them."""
    is_needed = np.zeros(len(parent), np.bool_)
    above = np.unique(nodes)
    while len(above):
        is_needed[above] = True
        above = np.unique(parent[above])
        above = above[(above >= 0) & ~is_needed[above]]
    below: dict[int, list[int]] = {}
    for node in np.flatnonzero(is_needed).tolist():
        below.setdefault(int(parent[node]), []).append(node)
    return below, {node: j for j, node in enumerate(nodes.tolist())}


class Asking:
    """Asks an agent some questions; a row is how many, and the probabilities of all actions for each."""

    def __init__(self, game: Game, agent: str, seed: int, budget: Budget | None) -> None:
        self.game, self.agent, self.seed, self.budget = game, asked(agent, game), seed, budget

    @attentive
    def __call__(self, task: Sequence[Question]) -> NDArray[np.float64]:
        row = np.zeros((PER_TASK, self.game.num_actions))
        for chances, (player, seen, actions) in zip(row, task, strict=False):
            seed = np.random.SeedSequence([self.seed, player, *(token for percept in seen for token in percept)])
            self.agent.begin(self.game, player, int(seed.generate_state(1)[0]), self.budget)
            for percept in seen:
                self.agent.observe(percept)
            for action, chance in self.agent.choose(actions).items():
                chances[action] = chance
        return np.concatenate([[len(task)], row.ravel()])


def as_behaviours(
    walked: Enumeration, answers: NDArray[np.float64], actions: Sequence[list[int]], cells: Sequence[list[int]]
) -> list[NDArray[np.float64]]:
    """What was answered at each information set, (j, actions), as one behaviour for each player; even where nothing was."""
    sets = walked.sets
    rows = np.repeat(np.arange(len(cells)), [len(each) for each in cells])
    cell = np.concatenate([np.asarray(each, np.int64) for each in cells])
    chance = answers[rows, np.concatenate([np.asarray(each, np.int64) for each in actions])]
    together, kinds = np.bincount(cell, np.nan_to_num(chance)), np.bincount(cell)
    if np.abs(together[cell] / kinds[cell] - np.nan_to_num(chance)).max(initial=0.0) > SYMMETRIC:
        raise UnseenError("the agent does not respect the symmetries that the game says it has, so it cannot be asked by kinds.")
    silent = np.repeat(np.isnan(answers[:, 0]), sets.n_actions)
    together[silent] = np.repeat(1.0 / sets.n_actions, sets.n_actions)[silent]
    owner = np.repeat(sets.player, sets.n_actions)
    return [np.concatenate([[1.0], together[owner == player]]) for player in (0, 1)]
