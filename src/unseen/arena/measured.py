"""How exploitable an agent is, in the way that fits it: by extraction if its choices are certain, otherwise by many searches."""

from __future__ import annotations

from pathlib import Path

from unseen.agents import Agent, Budget, RandomAgent
from unseen.arena import measures
from unseen.arena.extraction import NeedsSeed, extract
from unseen.arena.measures import EXTRACTION, Measured
from unseen.arena.names import check_agent, make_agent
from unseen.enumeration.walker import Enumeration
from unseen.errors import UnseenError
from unseen.exact.sequence_form import SequenceForm
from unseen.exact.ways import form_for
from unseen.game import Game
from unseen.loading import load
from unseen.run.rows import Watcher
from unseen.run.workers import Workers
from unseen.tabular.strategy import Strategy


def measure(
    game: Game | str, agent: str | Agent, method: str | None = None, *, games: int = 100, seed: int = 0, workers: Workers = None,
    budget: Budget | None = None, save: Path | None = None, resume: bool = False, watch: Watcher | None = None,
    progress: bool | None = None, form: SequenceForm | None = None, walked: Enumeration | None = None,
) -> Measured:  # fmt: skip
    """The exact exploitability of the strategy that an agent plays. Ctrl-C ends the work and evaluates what there is.

    - `game`: a game, or what names one. It is enumerated, in the way that fits it (see `SequenceForm`).
    - `agent`: an agent, or what names one.
    - `method`: `"extraction"` asks each different question once, for an agent that draws no random numbers; `"stitching"` searches
      at every information set, for any agent; `"aggregate"` along random games, and `"root"` only at the start of the game, for
      one that searches. None takes extraction where that is possible, otherwise stitching.
    - `games`: of the aggregate method.
    - `seed`: of all random choices; every search has one of its own, so the result does not depend on the workers.
    - `workers`: processes to use; otherwise one a core if the agent is named, or one where it is an object or the game is defined
      in the main program.
    - `budget`: what an agent that does not say itself may spend on a move.
    - `save`: a file in which what has been found is kept; `resume` goes on from there.
    - `watch`: a function that is called with parts done, parts in all, and simulations made; not by extraction.
    - `progress`: None shows a bar if a person is watching, True always, False never.
    - `form`: the game's sequence form, if there is one already; `walked`: the game enumerated, likewise.
    """
    game = load(game)
    can_watch = watch is None and form is None and walked is None
    if method == EXTRACTION or (method is None and can_watch and can_be_extracted(agent, game, budget)):
        if not isinstance(agent, str):
            raise UnseenError(f"method is {method!r}, which is for an agent that is named; an object is measured by stitching.")
        try:
            return by_extraction(game, agent, workers, budget, save, resume, progress)
        except NeedsSeed:
            if method is not None:
                raise
    return measures.measure(
        game, agent, method or "stitching", games=games, seed=seed, workers=workers, budget=budget, save=save, resume=resume,
        watch=watch, progress=progress, form=form, walked=walked,
    )  # fmt: skip


def can_be_extracted(agent: str | Agent, game: Game, budget: Budget | None) -> bool:
    """Whether an agent draws no random numbers at first, and can say what its choices depend on, or its whole strategy."""
    if not isinstance(agent, str):
        return False
    check_agent(agent, game)
    asked = make_agent(agent, game)
    if type(asked).is_certain is Agent.is_certain:  # never is, which saves beginning a game
        return False
    for who in (0, 1):
        asked.begin(game, who, 0, budget)
        if not asked.is_certain:
            return False
    return isinstance(asked, RandomAgent) or type(asked).whole is not Agent.whole or asked.question is not None


def by_extraction(
    game: Game, agent: str, workers: Workers, budget: Budget | None, save: Path | None, resume: bool, progress: bool | None
) -> Measured:
    """Extract the strategy of an agent, and evaluate it."""
    if isinstance(make_agent(agent, game), RandomAgent):  # there is nothing to ask
        form = form_for(game, [Strategy.uniform(game)], progress=progress)
        strategy = form.uniform()
        return Measured(strategy, form.evaluate(strategy), 0, 0, 0.0, True, agent, EXTRACTION)
    found = extract(game, agent, workers=workers, budget=budget, save=save, resume=resume, progress=progress)
    evaluation = form_for(game, [found.strategy], progress=progress).evaluate(found.strategy)
    return Measured(found.strategy, evaluation, found.asked, 0, found.seconds, found.is_complete, agent, EXTRACTION)
