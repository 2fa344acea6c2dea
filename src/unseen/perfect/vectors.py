"""Vectors over worlds: one plan for all worlds that cannot be told apart, instead of a plan for each.

I. Frank and D. Basin, "A theoretical and empirical investigation of search in imperfect information games" (2001). The tree is that
of the moves, which all can see, and a node holds every world in which these moves can be made. Its value is a vector, a number for
each world. At MIN the least number in each world: MIN knows the world. At MAX the vector of the action with the largest mean by
the weights of worlds, or the mean of several such: MAX does not. A world in which the game is over has its payoff, and no part in
what MAX does.

In the games of the authors MAX has the same actions in all worlds. Where it has not, an action that is not there in some of them
tells these apart: MAX plays on in them alone, with another action. Or, as a reading of its own (`skips_missing`), these worlds have
no part in the vector of that action, nor in its mean.

`PayoffReduction` first takes away what MAX could only get by MIN's mistakes: a payoff at the end counts at most the minimax value,
in that world, of every MIN node on the way to it.

The skeleton is `minimax.search`. There is nothing to cut off, but a node that is come to in two ways is searched once.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.engine import is_proper, mix, state_key, whole_states
from unseen.game import CHANCE, TERMINAL, Game
from unseen.options import parameter
from unseen.perfect.minimax import (
    BROKEN,
    BY_STATE,
    EXPECTED,
    FRAME,
    MAX,
    MEAN,
    MIN,
    NOTHING,
    SAME,
    SPLIT,
    Frames,
    Minimax,
    Valuation,
    fixed_outcome,
    is_last,
    payoff,
    play_open,
    search,
)
from unseen.perfect.solver import Found, Solver
from unseen.perfect.table import Table

GONE, PLAYING, OVER = range(3)
"""What a world is at a node: not there, in play, at the end of the game."""
ONCE, TWICE, AGAIN = range(3)
"""Whether what is being searched of MAX's action is all of it, the first part of two, or the worlds that do not have it."""
NO_LIMIT = 1 << 62
LEAST = 1e-200
"""Weights below this count as much, so that every world has a part in means."""
OWN_OUTCOME = -1
"""In place of an action: each world goes on by the outcome of chance that is fixed for it."""


class VectorFrames(NamedTuple):
    """The stack of a search. `d` frames of `w` worlds each."""

    frame: NDArray[Any]  # (d,) of FRAME
    states: NDArray[Any]  # (d * w,) records
    words: NDArray[np.uint64]  # (d * w, k) the same memory
    there: NDArray[np.int8]  # (d, w)
    value: NDArray[np.float64]  # (d, w) NaN while there is none
    of_action: NDArray[np.float64]  # (d, w) what MAX's action gets that is being searched
    ties: NDArray[np.float64]  # (d, w) of how many actions the value is the mean
    cap: NDArray[np.float64]  # (d, w) the most that a payoff counts
    share: NDArray[np.float64]  # (d, w) the probability of the outcome of chance that is being searched
    actions: NDArray[np.int64]  # (d, width + 1)
    seeds: NDArray[np.uint64]  # (w,) those of chance
    weights: NDArray[np.float64]  # (w,) what each counts in means
    counts: NDArray[np.int64]  # (1,) nodes looked at
    inner: Frames  # for values of single states
    inner_table: Table


class VectorTable(NamedTuple):
    """Values of nodes. A slot is 1 if it is used, then for each world its state, whether it is there, its cap and its value."""

    words: NDArray[np.uint64]  # (slots, 1 + w * (k + 3))
    floats: NDArray[np.float64]  # the same memory


def new_vector_frames(game: Game, worlds: int, inner: Frames, inner_table: Table) -> VectorFrames:
    depth = game.max_length + 2 + worlds  # where worlds are told apart without a move, at least one of them is left behind
    states, words = whole_states(game, depth * worlds)
    shape = (depth, worlds)
    value, of_action, ties, cap, share = np.zeros((5, *shape))
    return VectorFrames(
        np.zeros(depth, FRAME).view(np.recarray), states, words, np.zeros(shape, np.int8), value, of_action, ties, cap, share,
        np.zeros((depth, game.width + 1), np.int64), np.zeros(worlds, np.uint64), np.ones(worlds), np.zeros(1, np.int64), inner,
        inner_table,
    )  # fmt: skip


@piece
def include(actions, n, a):
    """Put `a` into the first `n` of `actions`, which are ascending, unless it is there. Returns how many there are now."""
    at = n
    while at > 0 and actions[at - 1] > a:
        at -= 1
    if at > 0 and actions[at - 1] == a:
        return n
    for k in range(n, at, -1):
        actions[k] = actions[k - 1]
    actions[at] = a
    return n + 1


class VectorMinimax(Valuation):
    """Vector minimax: a frame is all worlds, a value a number for each."""

    reduces: ClassVar[bool] = False
    skips_missing: bool = parameter(False, help="whether worlds in which MAX's action is not there have no part in it")

    def world_of(self, part, actions):
        """Seeds are looked up by world; a part is an action in all worlds."""
        return 0

    def begin(self, game, plain, who, worlds, seeds, actions, part, found, frames, table, out, tell):
        """Enter what follows an action, in all worlds that have it."""
        is_anywhere = False
        for w in range(len(worlds)):
            frames.there[0, w] = GONE
            frames.cap[0, w] = np.inf
            found.legal[w, part] = 0
            n = game.actions(worlds[w], out)
            if n < 1 or n > len(out):
                return BROKEN
            for k in range(n):
                if out[k] == actions[part]:
                    found.legal[w, part] = 1
            if found.legal[w, part]:
                is_anywhere = True
                frames.there[0, w] = PLAYING
                frames.seeds[w] = seeds[w]
                frames.states[w] = worlds[w]
                play_open(game, frames.states[w], actions[part], tell)
        if not is_anywhere:
            return NOTHING
        return 0 if self.enter_node(game, plain, who, seeds[0], frames, table, 0, out, tell) else BROKEN

    def end(self, actions, part, found, frames):
        """Write down the vector."""
        for w in range(len(found.legal)):
            if found.legal[w, part]:
                found.values[w, part, 0] = frames.value[0, w]
        return True

    def descend(self, game, frames, d, tell):
        """Write the next child of frame `d` into the one after it: the worlds that have that action, or those that have not."""
        f = frames.frame[d]
        a = frames.actions[d, f.next]
        n_worlds = frames.there.shape[1]
        n_left = 0
        for w in range(n_worlds):
            here, below = d * n_worlds + w, (d + 1) * n_worlds + w
            frames.there[d + 1, w] = GONE
            frames.cap[d + 1, w] = frames.cap[d, w]
            if frames.there[d, w] != PLAYING:
                continue
            s = frames.states[here]
            if f.turn == SPLIT or f.seen == AGAIN:
                if game.player(s) == a if f.turn == SPLIT else frames.of_action[d, w] != frames.of_action[d, w]:
                    frames.there[d + 1, w] = PLAYING
                    frames.states[below] = s
                continue
            n = game.actions(s, frames.actions[d + 1])
            own = a
            if a == OWN_OUTCOME:
                key = frames.seeds[w] + (state_key(frames.words, here) if self.fixes_chance == BY_STATE else np.uint64(0))
                own = frames.actions[d + 1, fixed_outcome(game, s, frames.actions[d + 1], n, key)]
            for k in range(n):
                if frames.actions[d + 1, k] == own:
                    frames.there[d + 1, w] = PLAYING
            if frames.there[d + 1, w] == PLAYING:
                frames.share[d, w] = game.chance(s, own, n) if f.turn == MEAN and a != OWN_OUTCOME else 1.0
                frames.states[below] = s
                play_open(game, frames.states[below], own, tell)
            else:
                n_left += 1
        if f.turn == MAX and f.seen == ONCE and n_left > 0 and not self.skips_missing:
            f.seen = TWICE
        else:
            f.next += 1

    def enter_node(self, game, plain, who, seed, frames, table, d, out, tell):
        """Begin with frame `d`: the values of worlds in which the game is over, and the actions of the others, if these are not
        remembered. Returns whether the game keeps to its rules."""
        f = frames.frame[d]
        n_worlds = frames.there.shape[1]
        frames.counts[0] += 1
        f.count = 0
        f.next = 0
        f.seen = ONCE
        f.is_searched = 0
        mover = TERMINAL
        f.turn = NOTHING
        for w in range(n_worlds):
            frames.value[d, w] = np.nan
            if frames.there[d, w] == GONE:
                continue
            s = frames.states[d * n_worlds + w]
            p = game.player(s)
            if is_last(game, s, p):
                frames.there[d, w] = OVER
                frames.value[d, w] = min(payoff(game, s, who, self.by_worth), frames.cap[d, w])
                continue
            if mover != TERMINAL and p != mover:
                f.turn = SPLIT
            mover = p
        if mover == TERMINAL:
            return True
        if f.turn == SPLIT:
            for k in range(3):
                frames.actions[d, k] = k - 1  # CHANCE, 0, 1
            f.count = 3
            f.is_searched = 1
            return True
        f.turn = MAX if mover == who else MEAN if mover == CHANCE else MIN
        if f.turn == MIN and self.reduces and not self.lower_caps(game, plain, who, frames, d, out, tell):
            return False
        if self.look_up(frames, table, d):
            return True
        f.is_searched = 1
        f.m = -np.inf
        if f.turn == MEAN and self.fixes_chance != EXPECTED:
            frames.actions[d, 0] = OWN_OUTCOME
            f.count = 1
            return True
        for w in range(n_worlds):
            if frames.there[d, w] != PLAYING:
                continue
            n = game.actions(frames.states[d * n_worlds + w], out)
            if not is_proper(out, n):
                return False
            for k in range(n):
                f.count = include(frames.actions[d], f.count, out[k])
        return True

    def lower_caps(self, game, plain, who, frames, d, out, tell):
        """What MAX gets below a MIN node is at most the minimax value there."""
        n_worlds = frames.there.shape[1]
        inner = frames.inner
        for w in range(n_worlds):
            if frames.there[d, w] != PLAYING:
                continue
            inner.states[0] = frames.states[d * n_worlds + w]
            inner.frame[0].low = -np.inf
            inner.frame[0].high = np.inf
            inner.frame[0].left = 0
            seed = frames.seeds[w]
            if not plain.enter_node(game, plain, who, seed, inner, frames.inner_table, 0, out, tell):
                return False
            if search(game, plain, plain, who, seed, inner, frames.inner_table, 0, NO_LIMIT, out, tell) == BROKEN:
                return False
            frames.cap[d, w] = min(frames.cap[d, w], inner.frame[0].m)
        return True

    def fold(self, frames, d):
        """Put the vector of the child of frame `d` that has just been left into its own."""
        f = frames.frame[d]
        if f.turn == MAX:
            self.fold_action(frames, d)
            return
        for w in range(frames.there.shape[1]):
            x, mine = frames.value[d + 1, w], frames.value[d, w]
            if frames.there[d, w] == PLAYING and x == x:
                if mine != mine:
                    mine = 0.0 if f.turn == MEAN else np.inf
                frames.value[d, w] = mine + frames.share[d, w] * x if f.turn == MEAN else min(mine, x)

    def fold_action(self, frames, d):
        """The same where MAX moves: once its action has a vector, that is compared with the best."""
        f = frames.frame[d]
        total, mass = 0.0, 0.0
        for w in range(frames.there.shape[1]):
            x = frames.value[d + 1, w]
            if f.seen != AGAIN or x == x:
                frames.of_action[d, w] = x
            x = frames.of_action[d, w]
            if x == x and frames.there[d, w] == PLAYING:
                total += frames.weights[w] * x
                mass += frames.weights[w]
        if f.seen == TWICE:
            f.seen = AGAIN
            return
        f.seen = ONCE
        if mass == 0.0 or total / mass < f.m - SAME:
            return
        is_better = total / mass > f.m + SAME
        if is_better:
            f.m = total / mass
        for w in range(frames.there.shape[1]):
            x = frames.of_action[d, w]
            if is_better and frames.there[d, w] == PLAYING:
                frames.value[d, w] = np.nan
                frames.ties[d, w] = 0.0
            if x == x and frames.there[d, w] == PLAYING:
                frames.ties[d, w] += 1.0
                mine = frames.value[d, w] if frames.ties[d, w] > 1.0 else 0.0
                frames.value[d, w] = mine + (x - mine) / frames.ties[d, w]

    def look_up(self, frames, table, d):
        """Whether the node of frame `d` is remembered; then its values are filled in. Otherwise its place is written down."""
        f = frames.frame[d]
        n_worlds, k = frames.there.shape[1], frames.words.shape[1]
        key = np.uint64(0)
        for w in range(n_worlds):
            if frames.there[d, w] == PLAYING:
                key = mix(key + state_key(frames.words, d * n_worlds + w) + np.uint64(w + 1))
                if self.reduces:
                    key = mix(key + np.uint64(np.int64(1000.0 * frames.cap[d, w]) if frames.cap[d, w] < 1e15 else 7))
        slot = np.int64(key & np.uint64(len(table.words) - 1))
        f.key = np.uint64(slot)
        if table.words[slot, 0] == 0:
            return False
        for w in range(n_worlds):
            at = 1 + w * (k + 3)
            is_playing = frames.there[d, w] == PLAYING
            if table.words[slot, at + k] != np.uint64(is_playing):
                return False
            if is_playing:
                if table.floats[slot, at + k + 1] != frames.cap[d, w]:
                    return False
                for i in range(k):
                    if table.words[slot, at + i] != frames.words[d * n_worlds + w, i]:
                        return False
        for w in range(n_worlds):
            if frames.there[d, w] == PLAYING:
                frames.value[d, w] = table.floats[slot, 1 + w * (k + 3) + k + 2]
        return True

    def leave(self, seed, frames, table, d):
        """Remember the vector of frame `d`."""
        f = frames.frame[d]
        if f.turn == SPLIT:
            return
        n_worlds, k = frames.there.shape[1], frames.words.shape[1]
        slot = np.int64(f.key)
        table.words[slot, 0] = 1
        for w in range(n_worlds):
            at = 1 + w * (k + 3)
            is_playing = frames.there[d, w] == PLAYING
            table.words[slot, at + k] = np.uint64(is_playing)
            if is_playing:
                for i in range(k):
                    table.words[slot, at + i] = frames.words[d * n_worlds + w, i]
                table.floats[slot, at + k + 1] = frames.cap[d, w]
                table.floats[slot, at + k + 2] = frames.value[d, w]


class PayoffReduction(VectorMinimax):
    """Payoff-reduction minimax: vector minimax over payoffs that MIN would not let MAX have taken away."""

    reduces: ClassVar[bool] = True


class VectorSolver(Solver):
    """Vectors over worlds, with a table of up to `megabytes` for values of nodes and another for those of states."""

    is_whole = True

    def __init__(self, game: Game, valuation: Valuation, who: int, megabytes: float = 32.0) -> None:
        super().__init__(game, valuation, who, megabytes)
        self.plain = Minimax(**Minimax.pick(valuation.settings))
        self.memory, self.worlds, self.weights = np.zeros(int(megabytes * 125_000), np.uint64), 0, np.zeros(0)
        self.held: tuple[Any, Any] = (None, None)

    def evaluate(
        self, worlds: NDArray[Any], seeds: NDArray[np.uint64], actions: NDArray[np.int64], deadline: float = np.inf, nodes: int = 0,
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[Found, int]:  # fmt: skip
        counts = np.maximum(weights, LEAST) if weights is not None else np.ones(len(worlds))
        if not np.array_equal(counts, self.weights):
            self.weights, self.worlds = counts, 0  # what is remembered is of other means
        return super().evaluate(worlds, seeds, actions, deadline, nodes)

    def room(self, worlds: int) -> tuple[Any, Any]:
        if worlds != self.worlds:
            self.worlds = worlds
            frames = new_vector_frames(self.game, worlds, self.frames, self.table)
            frames.weights[:] = self.weights
            self.held = frames, self.new_table(worlds)
        return self.held

    def forget(self) -> None:
        super().forget()
        self.worlds = 0

    def new_table(self, worlds: int) -> VectorTable:
        """The same memory, emptied, as a table for so many worlds."""
        row = 1 + worlds * (self.frames.words.shape[1] + 3)
        slots = 1 << max(2, (len(self.memory) // row).bit_length() - 1)
        if slots * row > len(self.memory):
            self.memory = np.zeros(slots * row, np.uint64)
        words = self.memory[: slots * row].reshape(slots, row)
        words[:, 0] = 0
        return VectorTable(words, words.view(np.float64))

    def parts(self, worlds: int, actions: int) -> int:
        return actions  # each in all worlds at once
