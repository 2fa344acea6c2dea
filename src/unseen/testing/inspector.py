"""Calling the rules of a game at one history after another as plain Python, and noting what is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np

from unseen.enumeration.symmetry import reduction
from unseen.game import CHANCE, MAX_TOKEN, PUBLIC, TERMINAL, Game, PlainState
from unseen.position import broken_image, history_text, is_token, is_whole, percept_of, rule_exception
from unseen.run.progress import Progress
from unseen.testing.compiled_rules import UNWRITTEN, CompiledRules
from unseen.testing.laid_open import misfit_when_open, opened
from unseen.testing.lockstep import difference
from unseen.testing.pairs import misfit
from unseen.testing.report import Fault, Report
from unseen.testing.survey import STUCK_SECONDS, Endless, Surveyor, blame
from unseen.testing.watchdog import StuckError

LEFT_OVER = 85
MIRRORED = 200
"""The images of so many finished games are played."""
MAX_NAMED = 40
"""At histories with more actions, the names of only so many are compared."""


@dataclass
class _Node:
    """A history being checked: its state, what each player has seen, and who moved last."""

    history: tuple[int, ...]
    state: PlainState
    seen: tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
    """By player 0, player 1 and the public."""
    mover: int = CHANCE
    player: int = TERMINAL
    already: tuple[int, int, int] = (0, 0, 0)
    """How much each had seen before the last move."""
    settled: list[float] | None = None
    """The payoffs, if a history on the way here was said to be settled."""
    most: tuple[float, float] = (np.inf, np.inf)
    """The most that each can get, by what `most` said on the way here."""


class _Broken(Exception):
    """A rule raised an exception; it has been noted, and this history goes no further."""


class Stopped(Exception):
    """There is no point in going on: the next call may not return, either."""


class Inspector:
    """Calls the rules at one history after another and notes what is wrong."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.report = Report(game)
        self.faults: dict[str, Fault] = {}
        self.infosets: dict[Any, tuple[tuple[int, ...], dict[str, Any]]] = {}
        self.pictures: dict[Any, tuple[tuple[int, ...], Any]] = {}
        self.symmetries: list[list[int]] = []
        self.stacks: dict[int, PlainState] = {}
        """By number of moves: a state in which chance was to move."""
        self.mirrored = 0
        self.compiled = CompiledRules(game, self.fault)
        self.outcomes: dict[tuple[int, ...], set[tuple[tuple[Any, ...], tuple[str, ...]]]] = {}
        """By history: what both players and the public were told of each outcome of chance that was tried there, and shown then."""
        self.hides = False
        """Whether a player was told something alone, or could not tell two histories apart when it was to move."""
        self.calling: tuple[str, tuple[int, ...], float] | None = None
        """The rule that is being called, at which history and since when."""
        game.is_tried = True  # this is where faulty games are looked at closely

    # Noting -------------------------------------------------------------------------------------------------------------------

    def fault(self, check: str, message: str, history: tuple[int, ...], details: str = "") -> None:
        known = self.faults.get(check)
        if known is None or len(history) < len(known.history):
            name = type(self.game).__name__
            self.faults[check] = Fault(check, f"{name}: {message}", history, history_text(self.game, history), details)

    def call(self, history: tuple[int, ...], rule: str, *args: Any) -> Any:
        """Call a rule in plain Python; an exception is a fault."""
        self.calling = (rule, history, time.monotonic())
        try:
            return getattr(self.game, rule)(*args)
        except StuckError as error:
            self.fault(f"{rule} endless", f"{rule}() has not returned after {STUCK_SECONDS:g} seconds", history)
            raise Stopped from error
        except (Exception, SystemExit) as error:
            self.fault(f"{rule} raises", rule_exception(self.game, rule, error).replace(rule, f"{rule}()", 1), history)
            raise _Broken from error
        finally:
            self.calling = None

    def number(self, history: tuple[int, ...], rule: str, *args: Any, whole: bool = False) -> Any:
        """Call a rule that must return a number."""
        value = self.call(history, rule, *args)
        if not (is_whole(value) if whole else isinstance(value, (int, float, np.number))):
            kind = "a whole number" if whole else "a number"
            self.fault(f"{rule} type", f"{rule}() returned {value!r}, but must return {kind}", history)
            raise _Broken
        return int(value) if whole else float(value)

    def twice(self, node: _Node, rule: str, *args: Any, call: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Call a rule twice, making sure that it says the same and leaves the state alone."""
        before = node.state.copy()
        call = call or self.number
        first = call(node.history, rule, node.state, *args, **options)
        second = call(node.history, rule, node.state, *args, **options)
        if node.state.values() != before.values():
            self.fault(f"{rule} changes the state", f"{rule}() changes the state, which only apply() may", node.history)
            node.state = before
        if first != second and not (first != first and second != second):
            self.fault(f"{rule} not deterministic", f"{rule}() says {first} and then {second} of the same state", node.history)
        return first

    # The start ----------------------------------------------------------------------------------------------------------------

    def survey(self, seconds: float, seed: int, progress: Progress | None) -> None:
        """The cheap laws in compiled code."""
        surveyor = Surveyor(self.game, seconds, seed, progress)
        try:
            found = surveyor.run()
        except Endless as error:
            self.fault("compiled endless", f"a compiled rule has not returned after {STUCK_SECONDS:g} seconds", error.history)
            return
        self.report.surveyed = found
        if found.check:
            details = blame(self.game, found.history)
            self.fault(found.check, found.message, found.history, f"  In plain Python: {details}" if details else "")

    def notes(self) -> list[str]:
        """What may be a mistake: a player who is told what only the other is shown, and a game in which nothing is hidden."""
        found = []
        for who in (0, 1):
            history = next((history for history in self.outcomes if self.tells_what_it_hides(history, who)), None)
            if history is not None:
                where = history_text(self.game, history)
                found.append(
                    f"player {who + 1} is told which outcome of chance comes at history {where}, though render() shows it to "
                    f"player {2 - who} only; is it told too much?"
                )
        if self.report.exhaustive and self.infosets and not self.hides:
            found.append(
                "nothing is hidden: whoever is to move can tell all that has happened; if one player alone is to know something, "
                "apply() tells it by tell[0] or tell[1], not by tell[PUBLIC]"
            )
        return found

    def tells_what_it_hides(self, history: tuple[int, ...], who: int) -> bool:
        """Whether `who` is told apart outcomes that look alike to it and to the public, while the other one sees a difference."""
        alike: dict[tuple[str, str], tuple[set[Any], set[str]]] = {}
        for told, shown in self.outcomes[history]:
            tokens, pictures = alike.setdefault((shown[who], shown[PUBLIC]), (set(), set()))
            tokens.add(told[who])
            pictures.add(shown[1 - who])
        return any(len(tokens) > 1 and len(pictures) > 1 for tokens, pictures in alike.values())

    def check_declarations(self) -> None:
        game = self.game
        for rule in ("start", "player", "actions", "apply", "utility"):
            if getattr(type(game), rule) is getattr(Game, rule):
                self.fault(f"{rule} missing", f"the class does not define {rule}()", ())
        if self.faults:
            return
        try:
            self.symmetries = reduction(game, symmetric=True).image.tolist()[1:]
        except Exception as error:
            self.fault("symmetries", f"symmetries() cannot be used: {error}", ())

    def root(self) -> _Node | None:
        """The empty history, or None if the game cannot even be started."""
        if any(check.endswith("missing") for check in self.faults):
            return None
        clean, dirty = self.game.new_state(), self.game.new_state()
        for name in dirty.__slots__:
            setattr(dirty, name, getattr(dirty, name) + LEFT_OVER)
        try:
            self.call((), "start", clean)
            self.call((), "start", dirty)
        except _Broken:
            return None
        for name, value in clean.values().items():
            if dirty.values()[name] != value:
                self.fault("start incomplete", f"start() does not set field {name!r}", ())
        self.compiled.compare_start(clean)
        return _Node((), clean, ((), (), ()))

    # One history --------------------------------------------------------------------------------------------------------------

    def visit(self, node: _Node | None) -> list[int]:
        """Check one history; returns the actions to follow it by, none if it is over or broken."""
        if node is None:
            return []
        self.report.histories += 1
        self.report.longest = max(self.report.longest, len(node.history))
        try:
            return self.check(node)
        except _Broken:
            return []

    def check(self, node: _Node) -> list[int]:
        node.player = player = self.twice(node, "player", whole=True)
        if player not in (0, 1, CHANCE, TERMINAL):
            self.fault("player invalid", f"player() returns {player}, not 0, 1, CHANCE or TERMINAL", node.history)
            return []
        if self.game.simultaneous and (player == 1) != (node.mover == 0):
            self.fault("simultaneous order", "the game is marked simultaneous, but its moves are not 0 and then 1", node.history)
        self.check_renderings(node)
        if self.game.lays_open or self.game.has_knowledge:
            self.check_laid_open(node)
        if self.game.has_rounds and (player == TERMINAL or self.twice(node, "between_rounds", call=self.call)):
            self.check_rounds(node)
        if player == TERMINAL:
            self.check_utilities(node)
            return []
        if self.game.knows_most:
            node.most = (min(node.most[0], self.twice(node, "most", 0)), min(node.most[1], self.twice(node, "most", 1)))
        if len(node.history) >= self.game.max_length:
            self.fault("too long", f"the game is not over after max_length = {self.game.max_length} moves", node.history)
            return []
        if node.settled is None and self.twice(node, "settled", call=self.call):
            node.settled = [self.number(node.history, "utility", node.state, who) for who in (0, 1)]
        if self.game.simultaneous and player != 1 and type(self.game).reduced is not Game.reduced:
            self.check_reduced(node)
        if self.game.chance_fields and player == CHANCE:
            self.check_chance_fields(node)
        actions = self.check_actions(node, player)
        if player == CHANCE:
            self.check_chance(node, actions)
        else:
            self.check_infoset(node, player, actions)
        return actions

    def check_reduced(self, node: _Node) -> None:
        """A state that is written in place of this one must have the same future."""
        first, second, again = node.state.copy(), node.state.copy(), node.state.copy()
        found, other = (self.call(node.history, "reduced", s) for s in (second, again))
        is_pair = isinstance(found, tuple) and len(found) == 2 and all(isinstance(part, (int, float, np.number)) for part in found)
        if not is_pair or not isfinite(found[0]) or found[1] not in (1.0, -1.0):
            message = f"reduced() returned {found!r}, but must return what is decided, and 1.0 or -1.0"
            self.fault("reduced", message, node.history)
            raise _Broken
        if found != other or second.values() != again.values():
            self.fault("reduced not deterministic", "reduced() does not do the same twice", node.history)
        self.compiled.compare_reduced(node.history, node.state, second, found)
        problem = difference(self.game, partial(self.call, node.history), first, second, found[0], found[1], self.report.histories)
        if problem:
            message = f"reduced() writes {again}, which has another future: {problem}"
            self.fault("reduced differs", message, node.history)

    def check_rounds(self, node: _Node) -> None:
        """What a round has brought one player it has cost the other; and in the end its worth is what the game pays."""
        for rule in ("ahead", "worth"):
            said = [self.twice(node, rule, who) for who in (0, 1)]
            if not all(map(isfinite, said)) or abs(sum(said)) > 1e-9:
                self.fault(rule, f"{rule}() says {said} of the two players, which must be finite and sum to zero", node.history)
        if node.player == TERMINAL and abs(self.twice(node, "worth", 0) - self.twice(node, "utility", 0)) > 1e-9:
            self.fault("worth", "worth() differs from utility() at the end of the game", node.history)

    def check_laid_open(self, node: _Node) -> None:
        """A state that is laid open must be worth the same to players who know everything."""
        call = partial(self.call, node.history)
        self.compiled.compare_open(node.history, node.state, opened(call, node.state))
        problem = misfit_when_open(self.game, call, node.state)
        if problem:
            self.fault("lay_open", f"lay_open() writes {opened(call, node.state)} for {node.state}: {problem}", node.history)

    def check_chance_fields(self, node: _Node) -> None:
        """Chance's own fields of another state after as many moves must go with the rest of this one."""
        stack = self.stacks.get(len(node.history), node.state)
        self.stacks[len(node.history)] = node.state.copy()
        problem = misfit(self.game, partial(self.call, node.history), node.state, stack, self.report.histories)
        if problem:
            message = f"chance_fields {self.game.chance_fields} of {stack} do not go with the rest of {node.state}: {problem}"
            self.fault("chance_fields", message, node.history)

    def follow(self, node: _Node | None, action: int) -> _Node | None:
        """The history one action longer, or None if the rules break on the way."""
        if node is None:
            return None
        try:
            return self.check_apply(node, action)
        except _Broken:
            return None

    def check_utilities(self, node: _Node) -> None:
        utilities = [self.twice(node, "utility", who) for who in (0, 1)]
        if not all(map(isfinite, utilities)):
            self.fault("utility not finite", f"the utilities are {utilities}, but must be finite", node.history)
        elif abs(sum(utilities)) > 1e-9:
            self.fault("not zero-sum", f"the utilities {utilities} do not sum to zero", node.history)
        if node.settled is not None and not np.allclose(node.settled, utilities, rtol=1e-9):
            said = f"settled() and utility() said earlier on this way that the payoffs are {node.settled}, but they are {utilities}"
            self.fault("settled", said, node.history)
        for who, (payoff, most) in enumerate(zip(utilities, node.most, strict=True)):
            if payoff > most + 1e-9:
                said = f"most() said earlier on this way that player {who + 1} can get {most:g} at most, but it gets {payoff:g}"
                self.fault("most", said, node.history)
        self.compiled.compare(node.history, node.state, TERMINAL, [], utilities)
        if self.mirrored < MIRRORED and not self.faults:
            self.mirrored += 1
            for image in self.symmetries:
                self.check_image(node, image, utilities)

    def check_image(self, node: _Node, image: list[int], utilities: list[float]) -> None:
        """A finished game whose actions are renamed must be one with the same players, tokens and payoffs."""
        found = broken_image(self.game, node.history, image, utilities)
        if found is not None:
            self.fault("symmetries", *found)

    def check_actions(self, node: _Node, player: int) -> list[int]:
        bound, name = (self.game.num_outcomes, "num_outcomes") if player == CHANCE else (self.game.num_actions, "num_actions")
        if player == CHANCE and not self.game.num_outcomes:
            message = "player() says that chance moves, but the class does not say how many outcomes chance can have: num_outcomes"
            self.fault("num_outcomes missing", message, node.history)
            raise _Broken
        out = np.full(self.game.width, UNWRITTEN, np.int64)
        n = self.twice(node, "actions", out, whole=True)
        actions = [int(a) for a in out[: max(n, 0)]]
        if n < 1 or n > len(out):
            self.fault("number of actions", f"actions() returns {n}, but must offer from 1 to {len(out)} actions", node.history)
            raise _Broken
        if any(a < 0 or a >= bound for a in actions):
            wrong = next(a for a in actions if a < 0 or a >= bound)
            said = "does not write all the actions it counts" if wrong == UNWRITTEN else f"offers {wrong}"
            self.fault("action bound", f"actions() {said}; actions must be from 0 to {name} - 1 = {bound - 1}", node.history)
            raise _Broken
        if any(a >= b for a, b in pairwise(actions)):
            self.fault("action order", f"actions() offers {actions}, which must be distinct and ascending", node.history)
            actions = sorted(set(actions))
        else:
            self.compiled.compare(node.history, node.state, player, actions, [])
        if self.game.knows_bits and (bits := self.twice(node, "bits", whole=True)) != sum(1 << a for a in actions):
            self.fault("bits", f"bits() returns {bits:#b}, but the actions are {actions}", node.history)
        return actions

    def check_chance(self, node: _Node, actions: list[int]) -> None:
        n = len(actions)
        p = [
            self.twice(node, "chance", actions[0], n),
            *(self.number(node.history, "chance", node.state, a, n) for a in actions[1:]),
        ]
        self.compiled.compare_chance(node.history, node.state, actions, p)
        if not all(q > 0.0 for q in p):
            self.fault("chance positive", f"chance() gives the probabilities {p}, which must all be positive", node.history)
        elif abs(sum(p) - 1.0) > 1e-9:
            self.fault("chance sum", f"the probabilities of chance sum to {sum(p)}, not to 1", node.history)

    def check_infoset(self, node: _Node, player: int, actions: list[int]) -> None:
        """All that the player to move is shown must be the same at histories that it cannot tell apart."""
        some = actions if len(actions) <= MAX_NAMED else [*actions[: MAX_NAMED // 2], *actions[-MAX_NAMED // 2 :]]
        names = [str(self.twice(node, "describe_action", a, call=self.call)) for a in some]
        shown = {
            "list of actions": actions,
            "naming of actions": names,
        }
        if type(self.game).rollout is not Game.rollout:
            shown["rollout"] = self.check_rollout(node, actions)
        if self.game.encodes:
            shown["encoding"] = self.check_encoding(node, player)
        earlier, before = self.infosets.setdefault((player, node.seen[player]), (node.history, shown))
        self.hides |= earlier != node.history
        for what, value in shown.items():
            if before[what] != value:
                where = history_text(self.game, earlier)
                self.fault(
                    f"infoset {what}",
                    f"player {player + 1} has seen the same as at {where}, but the {what} is different: "
                    f"{before[what]!r} there, {value!r} here",
                    node.history,
                )

    def check_rollout(self, node: _Node, actions: list[int]) -> list[int]:
        """What the game's own rule for playouts chooses here, for some random numbers."""
        out = np.array(actions, np.int64)
        chosen = [self.twice(node, "rollout", out, len(actions), u, whole=True) for u in (0.0, 0.3, 0.6, 0.999999)]
        if not all(0 <= k < len(actions) for k in chosen):
            self.fault("rollout", f"rollout() returns {chosen}, but must return indices below {len(actions)}", node.history)
        return chosen

    def check_encoding(self, node: _Node, player: int) -> list[float]:
        """What a network is told here."""
        encode = partial(self.call, node.history, "encode", node.state, player)
        (first, second), before = np.zeros((2, self.game.encoding_size), np.float32), node.state.values()
        encode(first)
        encode(second)
        if node.state.values() != before:
            self.fault("encode changes the state", "encode() changes the state, which only apply() may", node.history)
        if not np.isfinite(first).all() or not np.array_equal(first, second):
            said = f"encode() writes {first.tolist()}" + (f" and then {second.tolist()}" if np.isfinite(first).all() else "")
            self.fault("encode", f"{said}, which must be finite and the same each time", node.history)
        self.compiled.compare_encoding(node.history, node.state, player, first)
        return [float(x) for x in first]

    def check_renderings(self, node: _Node) -> None:
        """What a viewer is shown, moving or waiting, must be the same at histories that it cannot tell apart."""
        pictures = [self.twice(node, "render", who, call=self.call) for who in (0, 1, PUBLIC)]
        if node.history and node.mover == CHANCE:
            told = tuple(seen[-1] if len(seen) > known else None for seen, known in zip(node.seen, node.already, strict=True))
            self.outcomes.setdefault(node.history[:-1], set()).add((told, tuple(map(str, pictures))))
        for who, picture in zip((0, 1, PUBLIC), pictures, strict=True):
            earlier, before = self.pictures.setdefault((who, node.seen[who]), (node.history, picture))
            if before != picture:
                viewer = "the public" if who == PUBLIC else f"player {who + 1}"
                self.fault(
                    "infoset rendering",
                    f"{viewer} has seen the same as at {history_text(self.game, earlier)}, but the rendering is different: "
                    f"{before!r} there, {picture!r} here",
                    node.history,
                )

    def check_apply(self, node: _Node, a: int) -> _Node:
        history = (*node.history, a)
        results = []
        for _ in range(2):
            state, tell = node.state.copy(), np.zeros(3, object)
            self.call(history, "apply", state, a, tell)
            results.append((state, tell.tolist()))
        (state, told), (state_again, told_again) = results
        if state.values() != state_again.values() or told != told_again:
            self.fault("apply not deterministic", "apply() does not do the same twice", history)
        if not all(is_token(token) for token in told):
            self.fault("token", f"apply() tells {told}; tokens must be whole numbers from 0 to {MAX_TOKEN}", history)
            raise _Broken
        if self.game.simultaneous and node.player == 0 and any(told):
            message = "the game is marked simultaneous, but something is told between the two halves of a joint move"
            self.fault("simultaneous tokens", message, history)
        self.hides |= any(told[:PUBLIC])
        self.compiled.compare_apply(history, node.state, state, told)
        seen = []
        for who in (0, 1, PUBLIC):
            percept = percept_of(who, node.player, a, told)
            seen.append((*node.seen[who], percept) if any(percept) else node.seen[who])
        already = (len(node.seen[0]), len(node.seen[1]), len(node.seen[PUBLIC]))
        return _Node(history, state, (seen[0], seen[1], seen[2]), node.player, TERMINAL, already, node.settled, node.most)
