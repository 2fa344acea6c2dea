"""A person at the terminal, who is shown what the player may know and asked for its moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unseen.agents import Agent, Budget
from unseen.arena.asking import Asked
from unseen.arena.referee import Played
from unseen.belief.belief import Belief
from unseen.errors import BeliefTooLarge, UnseenError
from unseen.game import Game
from unseen.position import Position
from unseen.show.results import Result

HELP = "a number or a word: that action; h: a hint; b: what may be hidden; ?: this; q: leave"
MOST_WORLDS = 12
SAMPLES = 40
"""Histories that fit, looked at to tell what is known of the last moves."""


class Left(BaseException):
    """The person has left the table."""


class HumanAgent(Agent):
    """Asks a person. `ask` reads a line, `say` shows one."""

    name = "you"
    is_person = True
    moves = 0
    """How many moves of the game this player has been told of."""

    def __init__(
        self, ask: Callable[[str], str] = input, say: Callable[[str], Any] = print, adviser: Agent | None = None,
        show: Callable[[Result], Any] = print,
    ) -> None:  # fmt: skip
        self.ask, self.say, self.show = ask, say, show
        self.adviser = Asked(adviser) if adviser is not None else None

    def choose(self, actions: Sequence[int]) -> Mapping[int, float]:
        """One of the actions, for sure."""
        view = self.view()
        for line in self.news():
            self.say(line)
        names = view.action_names if view else {a: str(a) for a in actions}
        self.say("")
        self.say(
            view.render(self.seat) if view else f"seen so far: {' '.join('/'.join(map(str, p)) for p in self.seen) or 'nothing'}"
        )
        self.say("   ".join(f"{a}: {names[a]}" if names[a] != str(a) else str(a) for a in actions))
        while True:
            try:
                answer = self.ask(f"you are player {self.seat + 1}> ").strip()
            except EOFError:
                raise Left from None
            matching = [a for a in actions if answer == str(a)] or [a for a in actions if answer.lower() == names[a].lower()]
            if matching:
                return {matching[0]: 1.0}
            if answer == "q":
                raise Left
            if answer == "b":
                self.show_belief()
            elif answer == "h":
                self.hint(actions)
            elif answer == "?":
                self.say(HELP)
            elif answer:
                self.say(f"{answer!r} is not an action; the actions are {', '.join(map(str, actions))}. ({HELP})")

    def belief(self) -> Belief:
        return Belief(self.game, self.seat, self.seen, self.seat)

    def view(self) -> Position | None:
        """A position that looks to this player as the real one does; None if there are too many to tell."""
        try:
            return Position(self.game, self.belief().sample_histories(1)[0])
        except BeliefTooLarge:
            return None

    def news(self) -> list[str]:
        """What the others did since this player's last turn, where that is the same in all that may have happened."""
        try:
            drawn = self.belief().sample_histories(SAMPLES, seed=1)
        except BeliefTooLarge:
            return []
        before, self.moves = self.moves, min(map(len, drawn))
        lines = []
        for step in range(before, self.moves):
            positions = [Position(self.game, history[:step]) for history in drawn]
            mover, words = positions[0].player, {p.describe(h[step]) for p, h in zip(positions, drawn, strict=True)}
            if mover == 1 - self.seat:
                lines.append(f"player {mover + 1}: {words.pop() if len(words) == 1 else 'makes a move that you do not see'}")
            elif mover < 0 and len(words) == 1:
                lines.append(f"chance: {words.pop()}")
        self.moves += 1  # and this player's own move
        return lines

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        super().begin(game, seat, seed, budget)
        self.moves = 0
        self.seed, self.budget, self.asked = seed, budget, -1  # how much the adviser has been told; -1: of no game

    def hint(self, actions: Sequence[int]) -> None:
        """What the adviser, who has seen what this player has, would do, and why if it can say."""
        if self.adviser is None:
            self.say("there is nobody to ask; --hints names an agent")
            return
        try:
            if self.asked < 0:
                self.adviser.begin(self.game, self.seat, self.seed, self.budget)
            for percept in self.seen[max(self.asked, 0) :]:
                self.adviser.observe(percept)
            self.asked = len(self.seen)
            if hasattr(self.adviser.agent, "explain"):
                self.show(self.adviser.call("explain"))
                return
            view, chances = self.view(), sorted(self.adviser.choose(actions).items(), key=lambda pair: -pair[1])
            self.say("  ".join(f"{view.describe(a) if view else a} {p:.3f}" for a, p in chances if p >= 0.0005))
        except (UnseenError, MemoryError) as error:
            self.asked = -1
            self.say(f"there is no hint: {error}")

    def show_belief(self) -> None:
        """The worlds consistent with what was observed, by the probability of their chance outcomes."""
        try:
            belief = self.belief()
            worlds, posterior = belief.worlds()[0], belief.posterior().tolist()
        except BeliefTooLarge as error:
            self.say(str(error))
            return
        shown: dict[str, float] = {}
        for state, probability in zip(worlds, posterior, strict=True):
            text = self.game.render(self.game.as_plain(state), 1 - self.seat) or str(state)
            shown[text] = shown.get(text, 0.0) + probability
        common = set.intersection(*(set(text.splitlines()) for text in shown))
        self.say(f"{belief.count:,} histories are consistent with what you have seen.")
        self.say("What the other player may see, by how likely chance alone makes it; what its moves say about it does not count:")
        for text, probability in sorted(shown.items(), key=lambda pair: -pair[1])[:MOST_WORLDS]:
            what = [line for line in text.splitlines() if line not in common] if len(shown) > 1 else [text]
            self.say(f"  {probability:6.1%}  {'; '.join(what)}")
        if len(shown) > MOST_WORLDS:
            self.say(f"  and {len(shown) - MOST_WORLDS:,} more")


def thoughts(game: Game, played: Played, seat: int) -> list[str]:
    """What the agent at `seat` saw and considered at each of its turns, now that the game is over."""
    lines = []
    for turn in played.turns:
        if turn.seat == seat:
            position = Position(game, played.history[: turn.ply])
            chances = sorted(turn.probabilities.items(), key=lambda pair: -pair[1])
            shown = "  ".join(f"{position.describe(a)} {p:.3f}" for a, p in chances if p >= 0.0005)
            lines.append(f"{position.render(seat)}\n    {shown}")
    return lines
