"""How an agent is asked, by whatever command: the one place that knows what may go wrong.

An agent may be anybody's. It may raise anything, answer with what is no strategy, print, or never come back. None of that may turn
into a number: it is an `AgentFault` that names the agent and the history. What an agent prints goes to standard error, which is not
for results; and if it thinks for long, that is said there.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unseen.agents import Agent, Budget, Choice, draw
from unseen.enumeration.walker import Enumeration
from unseen.errors import AgentFault, GameFault, RuleError, UnseenError
from unseen.exact.treeplex import Treeplex
from unseen.game import Game
from unseen.position import Percept, Position, history_text
from unseen.run.ticks import Ticks
from unseen.tabular.strategy import Strategy

P = ParamSpec("P")
T = TypeVar("T")
SUM_TOLERANCE = 1e-6
PATIENCE = 10.0
"""Seconds of thought after which it is said who is thinking; then after twice as many, and so on."""
OVERRUN = 1.0
"""Seconds beyond its limit for which an agent is left alone, as most come back by themselves."""
LOOKS = 20_000
"""Positions at which to look for a history that is consistent with what a player has seen."""
LONGEST = 200
"""Characters of an answer or an error that are repeated."""


@dataclass(frozen=True)
class Fault:
    """What an agent did wrong, and where."""

    agent: str
    seat: int
    history: tuple[int, ...] | None
    """None if none is known."""
    what: str
    where: str
    """The history for people."""

    def __str__(self) -> str:
        return f"agent {self.agent!r}, player {self.seat + 1}, {self.what}, {self.where}"


class Asked:
    """An `agent` as commands ask it, by methods of the same names: they raise `AgentFault` if it breaks a rule.

    `name` is what to call it. Whoever knows at which history it is asked says so in `history`; otherwise one is looked for that is
    consistent with what it has seen.
    """

    game: Game
    history: tuple[int, ...] | None = None
    is_secret = False
    """Whether a person is playing, who may not read where an agent is."""

    def __init__(self, agent: Agent, name: str = "") -> None:
        self.agent, self.name = agent, name or str(agent.name)
        self.seat, self.seen = 0, list[Percept]()
        self.patience = PATIENCE

    # A game ----------------------------------------------------------------------------------------------------------------------

    def begin(self, game: Game, seat: int, seed: int, budget: Budget | None = None) -> None:
        """As `Agent.begin`."""
        self.game, self.seat, self.seen, self.history = game, seat, [], ()
        own = self._guarded(lambda: getattr(self.agent, "seconds", 0.0))  # an option of those that search
        seconds = own if isinstance(own, float) and own else budget.seconds if budget else 0.0
        self.patience = max(self.patience, 2.0 * seconds)
        self._refusable("begin", game, seat, seed, budget)
        self.history = None

    def observe(self, percept: Percept) -> None:
        """As `Agent.observe`."""
        self.seen.append(percept)
        self.call("observe", percept)

    def choose(self, actions: Sequence[int]) -> dict[int, float]:
        """As `Agent.choose`: a probability for some of the `actions`, not negative, 1 in sum."""
        return self._distribution(self.call("choose", list(actions)), actions)

    def act(self, actions: Sequence[int], limit: float | None = None) -> Choice:
        """As `Agent.act`, where a move may take `limit` seconds: one of the `actions`, and the distribution it is drawn from."""
        if getattr(self.agent.act, "__func__", None) is Agent.act:  # it draws from what it chooses, which is looked at before
            chances = self._distribution(self.call("choose", list(actions), limit=limit), actions)
            return self._guarded(lambda: draw(self.agent.rng, chances))  # type: ignore[no-any-return]
        chosen = self.call("act", list(actions), limit=limit)
        if not isinstance(chosen, tuple) or len(chosen) != 2 or not isinstance(chosen[1], Mapping):
            raise self.fault(f"returned {short(chosen)}, which is not an action and probabilities")
        action = chosen[0]
        if not isinstance(action, Integral) or action not in actions:
            raise self.fault(f"chose {short(action)}, which is not among the legal actions {list(actions)}")
        chances = self._distribution(chosen[1], actions)
        if chances.get(int(action), 0.0) <= 0.0:
            raise self.fault(f"chose {action}, to which it had given no probability")
        return Choice(int(action), chances)

    def _distribution(self, answer: Any, actions: Sequence[int]) -> dict[int, float]:
        """What it answered, if that is a distribution over the legal `actions`."""
        if not isinstance(answer, Mapping):
            raise self.fault(f"answered {short(answer)}, which is not a probability for each action")
        given = self._guarded(dict, answer)
        if not given:
            raise self.fault("gave no action a probability")
        for action, chance in given.items():
            if action not in actions or not isinstance(action, (int, Integral, float)):
                raise self.fault(f"gave a probability to {short(action)}, which is not among the legal actions {list(actions)}")
            if not isinstance(chance, (float, Real)) or not isfinite(chance) or chance < 0.0:
                raise self.fault(f"gave action {action} the probability {short(chance)}, which is not a number from 0 to 1")
        total = float(sum(given.values()))
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise self.fault(f"gave probabilities that sum to {total:.6g}, not to 1")
        return {int(action): float(chance) for action, chance in given.items()}

    # What else it can be asked ---------------------------------------------------------------------------------------------------

    def fork(self, seed: int) -> Asked:
        """As `Agent.fork`."""
        other = copy.copy(self)
        other.agent, other.seen = self.call("fork", seed), list(self.seen)
        if not isinstance(other.agent, Agent):
            raise self.fault(f"returned {short(other.agent)} from fork, which is not an agent")
        return other

    def gathered(self, tree: Treeplex) -> NDArray[np.float64]:
        """As `Agent.gathered`."""
        return self._numbers("gathered", self._refusable("gathered", tree), tree.sequences)

    def plan(self, trees: Sequence[Treeplex]) -> list[NDArray[np.float64]]:
        """As `Agent.plan`."""
        answer = self._refusable("plan", trees)
        if not isinstance(answer, Sequence) or len(answer) != len(trees):
            raise self.fault(f"returned {short(answer)} from plan, which is not an array for each player")
        return [self._numbers("plan", each, tree.sequences) for each, tree in zip(answer, trees, strict=True)]

    def whole(self, walked: Enumeration | None = None, progress: bool | None = None) -> Strategy | None:
        """As `Agent.whole`."""
        if self._is_overruled("whole"):
            return None
        patience, self.patience = self.patience, inf  # a game may have to be enumerated, which has a bar of its own
        answer = self._refusable("whole", walked, progress)
        self.patience = patience
        if answer is not None and not isinstance(answer, Strategy):
            raise self.fault(f"returned {short(answer)} from whole, which is not a strategy")
        if answer is not None:
            answer.check_game(self.game)
        return answer

    @property
    def is_certain(self) -> bool:
        """As `Agent.is_certain`."""
        return not self._is_overruled("is_certain") and bool(self._guarded(lambda: self.agent.is_certain))

    @property
    def question(self) -> bytes | None:
        """As `Agent.question`."""
        answer = None if self._is_overruled("question") else self._guarded(lambda: self.agent.question)
        if answer is not None and not isinstance(answer, bytes):
            raise self.fault(f"says that its question is {short(answer)}, which is not bytes")
        return answer

    @property
    def simulations_made(self) -> int:
        """As `Agent.simulations_made`."""
        answer = self._guarded(lambda: self.agent.simulations_made)
        if not isinstance(answer, Integral) or answer < 0:
            raise self.fault(f"says that it has made {short(answer)} simulations, which is not a whole number")
        return int(answer)

    def _is_overruled(self, name: str) -> bool:
        """Whether what this `name` says is about the choices of a base class, from which the agent's own class differs."""
        places = [vars(self.agent), *(vars(cls) for cls in type(self.agent).__mro__)]
        choose, said = (next(k for k, place in enumerate(places) if each in place) for each in ("choose", name))
        return choose < said

    def call(self, method: str, *args: Any, limit: float | None = None) -> Any:
        """What a `method` of the agent returns, which may take `limit` seconds."""
        return self._guarded(getattr(self.agent, method), *args, limit=limit)

    def _refusable(self, method: str, *args: Any) -> Any:
        """The same for what an agent may refuse to do, and say why: that is no fault."""
        answer = self._guarded(lambda: _or_refusal(getattr(self.agent, method), args))
        if isinstance(answer, _Refusal):
            named = any(name in str(answer.error) for name in (self.name, str(self.agent.name)))
            raise answer.error if named else UnseenError(f"agent {self.name!r}: {answer.error}")
        return answer

    def _numbers(self, method: str, answer: ArrayLike, size: int) -> NDArray[np.float64]:
        numbers = self._guarded(lambda: np.asarray(answer, np.float64))
        if numbers.shape != (size,) or not np.isfinite(numbers).all():
            raise self.fault(f"returned {short(answer)} from {method}, which are not {size} numbers")
        return numbers  # type: ignore[no-any-return]

    # What may go wrong -----------------------------------------------------------------------------------------------------------

    def _guarded(self, ask: Callable[..., Any], *args: Any, limit: float | None = None) -> Any:
        """What `ask` returns; what it raises is a fault, unless it is the game's, or Ctrl-C."""
        if self.agent.is_person:  # who may speak, think, and leave
            return ask(*args)
        before = ATTENTION.pay(self, limit)
        try:
            return ask(*args)
        except (GameFault, RuleError, AgentFault):
            raise
        except TooLong as error:
            raise self.fault(f"had not answered after {error.seconds:.1f} s; a move may take {limit:g} s") from None
        except BaseException as error:
            if ATTENTION.is_interrupt(error):
                raise
            raise self.fault(f"raised {described(error)}", error) from error
        finally:
            ATTENTION.turn_back(before)

    def fault(self, what: str, error: BaseException | None = None) -> AgentFault:
        """That it did `what`, to be raised."""
        history, where = self.place()
        fault = Fault(self.name, self.seat, history, what, where)
        details = "".join(traceback.format_exception(error)) if error is not None else ""
        return AgentFault(f"{fault}.", details, fault)

    def doing(self, seconds: float) -> str:
        """What there is to be said if it takes so long."""
        where = "" if self.is_secret else f", {self.place()[1]}"
        return f"agent {self.name!r}, player {self.seat + 1}, has been thinking for {seconds:.0f} s{where}"

    def place(self) -> tuple[tuple[int, ...] | None, str]:
        """The history at which it is asked, or one that it cannot tell from that; and the same for people."""
        if not hasattr(self, "game"):
            return None, "before any game"
        if self.history is not None:
            return self.history, f"at history {history_text(self.game, self.history)}"
        history = consistent_history(self.game, self.seat, self.seen)
        if history is not None:
            return history, f"at a history such as {history_text(self.game, history)}"
        seen = " ".join("/".join(map(str, percept)) for percept in self.seen)
        return None, f"when it had seen the percepts {short(seen)}"


def made(name: str, make: Callable[..., Agent], options: Mapping[str, Any]) -> Agent:
    """A user's agent, made from its `options`."""
    before = ATTENTION.pay(Making(name), None)
    try:
        return make(**options)
    except UnseenError:
        raise
    except BaseException as error:
        if ATTENTION.is_interrupt(error):
            raise
        details = "".join(traceback.format_exception(error))
        raise AgentFault(f"agent {name!r} cannot be made: it raised {described(error)}.", details) from error
    finally:
        ATTENTION.turn_back(before)


@dataclass
class Making:
    """An agent that is being made."""

    name: str
    patience: float = PATIENCE

    def doing(self, seconds: float) -> str:
        return f"agent {self.name!r} has been taking {seconds:.0f} s to be made"


def consistent_history(game: Game, seat: int, seen: Sequence[Percept]) -> tuple[int, ...] | None:
    """A history at which the player in `seat` moves and has `seen` this; None if none turns up soon.

    In plain Python, so that it can be asked for at any moment.
    """
    try:
        stack, looked_at = [Position(game)], 0
        while stack and looked_at < LOOKS:
            position = stack.pop()
            looked_at += 1
            so_far = position.seen(seat)
            if list(so_far) != list(seen[: len(so_far)]):
                continue
            if position.player == seat and len(so_far) == len(seen):
                return position.history
            stack += [position.child(action) for action in reversed(position.actions)]
    except UnseenError:  # a fault is being reported already
        pass
    return None


class _Refusal:
    def __init__(self, error: UnseenError) -> None:
        self.error = error


def _or_refusal(method: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return method(*args)
    except (GameFault, RuleError, AgentFault):
        raise
    except UnseenError as error:
        return _Refusal(error)


def described(error: BaseException) -> str:
    """The type of an error and what it says, in one line."""
    try:
        text = str(error).strip()
    except Exception:  # anything may be wrong with it
        text = ""
    line = " ".join(text.split())
    return type(error).__name__ + (f": {_cut(line)}" if line else "")


def short(thing: Any) -> str:
    """What somebody gave, as one line that is not too long."""
    try:
        text = repr(thing)
    except Exception:  # anything may be wrong with it
        text = f"a {type(thing).__name__}"
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# While an agent is asked ------------------------------------------------------------------------------------------------------


class TooLong(BaseException):
    """An agent has not come back after `seconds`. No `Exception`, so that an agent's own handlers let it pass."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


At = tuple[Asked | Making, float, float | None]
"""Who is asked, since when, and how many seconds that may take."""


class Attention:
    """What is seen to while an agent is asked: what it prints goes to standard error; Ctrl-C is told from a KeyboardInterrupt of
    its own; and if it takes long, that is said.

    `before = ATTENTION.pay(asked, limit)` and `ATTENTION.turn_back(before)` around each question; `with ATTENTION` around many of
    them saves most of the time.
    """

    def __init__(self) -> None:
        self.lock, self.entered = threading.Lock(), 0
        self.stdout: Any = None
        self.depth = 0
        """How often the main thread has entered."""
        self.main: int | None = None
        """The main thread, while it is in here."""
        self.sigint: Any = None
        self.ctrl_c = False
        """Whether there was one, since the main thread entered."""
        self.ticks = Ticks(self.look)
        self.at: At | None = None
        """Whom the main thread asks."""

    def __enter__(self) -> None:
        with self.lock:
            self.entered += 1
            if self.entered == 1:
                self.stdout, sys.stdout = sys.stdout, sys.stderr
        if in_main_thread():
            self.depth += 1
            if self.depth == 1:
                self.main, self.ctrl_c, self.sigint = threading.get_ident(), False, signal.getsignal(signal.SIGINT)
                if self.sigint is signal.default_int_handler:
                    signal.signal(signal.SIGINT, self.note_ctrl_c)
                self.ticks.__enter__()

    def __exit__(self, *args: object) -> None:
        if in_main_thread():
            self.depth -= 1
            if self.depth == 0:
                self.ticks.__exit__()
                if self.sigint is signal.default_int_handler:
                    signal.signal(signal.SIGINT, self.sigint)
                self.main = None
        with self.lock:
            self.entered -= 1
            if self.entered == 0:
                sys.stdout, self.stdout = self.stdout, None

    def pay(self, whom: Asked | Making, limit: float | None) -> tuple[bool, At | None]:
        """Somebody is asked something that may take `limit` seconds. What to hand to `turn_back` afterwards."""
        is_new = self.main != threading.get_ident()
        if is_new:
            self.__enter__()
        before = self.at
        if not is_new or self.main == threading.get_ident():
            self.at = whom, time.monotonic(), limit
        return is_new, before

    def turn_back(self, before: tuple[bool, At | None]) -> None:
        """An answer has come."""
        is_new, at = before
        if self.main == threading.get_ident():
            self.at = at
        if is_new:
            self.__exit__()

    def note_ctrl_c(self, number: int, frame: Any) -> None:
        self.ctrl_c = True
        raise KeyboardInterrupt

    def is_interrupt(self, error: BaseException) -> bool:
        """Whether an error that was raised in here is Ctrl-C. Workers do not listen to it, nor do other threads."""
        if not isinstance(error, KeyboardInterrupt) or not in_main_thread():
            return False
        return self.ctrl_c if self.sigint is signal.default_int_handler else self.sigint is not signal.SIG_IGN

    def look(self) -> None:
        """Is this taking too long?"""
        if self.at is None:
            return
        whom, since, limit = self.at
        seconds = time.monotonic() - since
        if limit is not None and seconds > limit + OVERRUN:
            raise TooLong(seconds)
        if seconds >= whom.patience:
            with contextlib.suppress(OSError, ValueError, RuntimeError):  # standard error may be in the middle of something
                print(f"unseen: {whom.doing(seconds)}.", file=sys.stderr, flush=True)
                whom.patience *= 2.0


def in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


ATTENTION = Attention()


def attentive(work: Callable[P, T]) -> Callable[P, T]:
    """Work that asks an agent many times."""

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with ATTENTION:
            return work(*args, **kwargs)

    return run
