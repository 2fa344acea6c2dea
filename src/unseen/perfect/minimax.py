"""Values of states when nothing is hidden: one depth-first search, with what a value is plugged in.

`search` is the skeleton: frames on a stack, no recursion. A *valuation* says what happens when a frame is entered, how the value
of a child goes into its parent's, and what is remembered. `Minimax` is the one for single states; those for vectors over worlds are
in `vectors.py`.

- With `errors=0` it is alpha-beta: values inside the window are exact.
- With `errors=ALL` it is error allowing minimax: F. Wisser, "Error allowing minimax" (2013), as described in Wisser (2016). The
  value of a node is (m, p, a), with m the minimax value, p the probability that MIN, moving at random, makes a decisive error, and
  a the least that such an error gives away. At MAX the child that is largest in lexicographic order. At MIN m is the least m of the
  children; p the mean over them of 1 where a child's m is larger, and of its own p otherwise; a the least difference that a larger
  one makes, or the least a of the others that have a p above 0.
- Any number in between: only errors in the next so many moves of the players count; further down it is alpha-beta, which takes far
  less time.

What is cut off (EAAB) leaves the triples as they are. A MIN node is left as soon as its m is below what a MAX node above it has
already: it would not be chosen, nor would its p matter. A MAX node whose parent is a MIN node is left as soon as its m is so large
that it neither is the parent's m nor makes its a less; what it has by then counts as one more error. That bound holds for the
children of this parent only, since a node further up may still need the exact difference.

Values are those of player `who` (MAX). Chance counts by its probabilities: m and p are means, and so is p times a. Or what it does
is fixed in advance by a seed: a function of the state, or an order of all outcomes of which the first that is possible comes next,
as in a shuffled pack. Values are kept in a table whose keys are the states themselves. A game of several rounds is searched to the
end of a round only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import Compiled, kernel, piece
from unseen.compiling.memory import fetch
from unseen.engine import is_proper, mix, state_key, step, whole_states
from unseen.game import CHANCE, TERMINAL, Game
from unseen.options import Declared, parameter
from unseen.perfect.table import first_slot, look_up, new_slot, tag_of

SAME = 1e-9
"""Values that differ by less are the same: means over chance are rounded."""
EXACT, AT_MOST, AT_LEAST = 1, 2, 3
"""What a remembered value is."""
MAX, MIN, MEAN, SPLIT = range(4)
"""Whose move it is in a frame. SPLIT is for vectors."""
DONE, BROKEN, NOTHING = -1, -2, -3
EXPECTED, BY_STATE, SHUFFLED = range(3)
"""What chance does: its mean counts, or outcomes are fixed by a seed, and the state or an order of all outcomes."""
ALL = 1 << 20
"""Moves in which errors count: all."""
BEST = 1 << 60
"""The merit of an action that was the best before."""
WIDE, PROBE, AGAIN = range(3)
"""How a child is searched: with all of the window; only to see whether it is better; with all of the window since it is."""
MOST_ROWS = 256
MOST_PASSES = 8
"""After so many the next one is for the value itself."""

FRAME = np.dtype([
    ("turn", "i8"), ("count", "i8"), ("next", "i8"), ("seen", "i8"), ("is_searched", "i8"), ("manner", "i8"), ("best", "i8"),
    ("left", "i8"), ("came_by", "i8"), ("key", "u8"),
    ("low", "f8"), ("high", "f8"), ("least", "f8"), ("most", "f8"), ("bound", "f8"), ("weight", "f8"),
    ("m", "f8"), ("p", "f8"), ("a", "f8"),
])  # fmt: skip
"""A node being searched. `seen`: children that have been; `manner`: how the next is; `best`: the action that is best for who moves;
`left`: in so many moves of the players errors count; `came_by`: the row of merits for what has just been done; `low`, `high`: the
window now, `least`, `most`: as it was in the beginning; `bound`: the best that there can be for who moves; `weight`: of the child
being searched, at a chance node. While a MIN node is searched its p is a sum, and its a is infinite until there is one; at a chance
node all three are sums, the last of a times p."""
AIM = np.dtype([("least", "f8"), ("most", "f8"), ("guess", "f8"), ("passes", "i8")])
"""A value that is searched for: it is at least and at most so much, and presumably that; so many searches have been for it."""


class Frames(NamedTuple):
    """The stack of a search. `d` frames, one for each state on the way down."""

    frame: NDArray[Any]  # (d,) of FRAME
    states: NDArray[Any]  # (d,) records
    words: NDArray[np.uint64]  # (d, k) the same memory
    actions: NDArray[np.int64]  # (d, width)
    merits: NDArray[np.int64]  # (2, rows, width) how often an action of MAX or MIN has been the best; by what the other did
    counts: NDArray[np.int64]  # (1,) states looked at
    aims: NDArray[Any]  # (d,) of AIM


def new_frames(game: Game) -> Frames:
    depth = game.max_length + 2
    states, words = whole_states(game, depth)
    return Frames(
        np.zeros(depth, FRAME).view(np.recarray), states, words, np.zeros((depth, game.width), np.int64),
        np.zeros((2, 1 + min(game.width, MOST_ROWS), game.width), np.int64), np.zeros(1, np.int64),
        np.zeros(depth, AIM).view(np.recarray),
    )  # fmt: skip


class Valuation(Declared, Compiled):
    """What all valuations have."""

    fixes_chance: int = parameter(EXPECTED, minimum=EXPECTED, maximum=SHUFFLED, help="EXPECTED, BY_STATE or SHUFFLED")
    by_worth: bool = parameter(False, help="whether the end of a round counts by what it is worth for the rest of the game")


# The skeleton ------------------------------------------------------------------------------------------------------------------


@piece
def search(game, valuation, plain, who, seed, frames, table, d, limit, out, tell):
    """Go on with a search that has come to frame `d`, until the value of the first frame is known or `limit` nodes were entered.

    Returns the frame it has come to, DONE, or BROKEN if the game breaks its rules. `plain` is for valuations that ask for values of
    single states on the way.
    """
    while True:
        f = frames.frame[d]
        if f.next < f.count:
            if d + 1 == len(frames.frame):
                return BROKEN
            if frames.counts[0] >= limit:
                return d
            valuation.descend(game, frames, d, tell)
            d += 1
            if not valuation.enter_node(game, plain, who, seed, frames, table, d, out, tell):
                return BROKEN
        else:
            if f.is_searched:
                valuation.leave(seed, frames, table, d)
            if d == 0:
                return DONE
            d -= 1
            valuation.fold(frames, d)


@kernel
def evaluate(game, valuation, plain, who, worlds, seeds, actions, found, frames, table, where, parts, limit, out, tell):
    """What each of `actions`, (c,), of player `who` is worth in the `worlds`, (n,), which are laid open; `seeds`, (n,), are those
    of their chance.

    Goes on from `where`, the number of a part and the frame in it (DONE: none yet), through all `parts`, until `limit` nodes were
    entered in all. Returns False if the game breaks its rules.
    """
    while where[0] < parts:
        part = where[0]
        if where[1] == DONE:
            status = valuation.begin(game, plain, who, worlds, seeds, actions, part, found, frames, table, out, tell)
            if status == BROKEN:
                return False
            if status == NOTHING:
                where[0] += 1
                continue
            where[1] = 0
        where[1] = search(
            game, valuation, plain, who, seeds[valuation.world_of(part, actions)], frames, table, where[1], limit, out, tell
        )
        if where[1] == BROKEN:
            return False
        if where[1] != DONE:
            return True
        if valuation.end(actions, part, found, frames):
            where[0] += 1
    return True


@piece
def play_open(game, s, a, tell):
    """Play `a` in `s`, for all to see."""
    step(game, s, a, tell)
    if game.lays_open:
        game.lay_open(s)


# Single states -------------------------------------------------------------------------------------------------------------------


@piece
def row_of(frames, a):
    """Where the merits of answers to an action are; those to chance have row 0."""
    return 1 + a % (frames.merits.shape[1] - 1)


@piece
def bring_forward(actions, first, n, merits, best):
    """Exchange `actions[first]` with the one of largest merit behind it; with `best`, if that is there: the sooner a good one, the
    more is cut off."""
    at, most = first, -1
    for k in range(first, n):
        merit = merits[actions[k]] if actions[k] != best else BEST
        if merit > most:
            at, most = k, merit
    actions[first], actions[at] = actions[at], actions[first]


@piece
def above(x):
    """A little more than `x`, also where `x` is so large that `SAME` is lost in it."""
    y = x + SAME
    return y if y > x or np.isinf(x) else x + abs(x) * 4e-16


@piece
def below(x):
    """A little less than `x`."""
    return -above(-x)


@piece
def is_larger(m, p, a, m0, p0, a0):
    """Whether (m, p, a) comes after (m0, p0, a0) in lexicographic order."""
    if m > m0 + SAME or m < m0 - SAME:
        return m > m0
    if p > p0 + SAME or p < p0 - SAME:
        return p > p0
    return a > a0 + SAME


@piece
def is_last(game, s, p):
    """Whether a search goes no further than `s`, in which it is the turn of `p`."""
    return p == TERMINAL or game.settled(s) or (game.has_rounds and game.between_rounds(s))


@piece
def payoff(game, s, who, by_worth):
    """What the last state of a search gives to `who`."""
    if game.has_rounds:
        return game.worth(s, who) if by_worth else game.ahead(s, who)
    return game.utility(s, who)


@piece
def unit(key):
    """A number in (0, 1] for a key."""
    return ((key >> np.uint64(11)) + np.uint64(1)) * (1.0 / 9007199254740992.0)


@piece
def fixed_outcome(game, s, out, n, key):
    """The place in `out` of the outcome of chance that is fixed by `key`: a seed, or a hash of it and the state.

    In an order: a race in which each outcome takes, by the seed, an exponential time over its probability; so it comes first with
    this probability, whatever the other outcomes are. Between two that are equally likely there is no need for the times.
    """
    drawn = mix(key)
    first, speed, chance = 0, 0.0, 0.0
    for k in range(n):
        u, c = unit(mix(drawn + np.uint64(out[k] + 1))), max(game.chance(s, out[k], n), 1e-300)
        if k == 0 or (u > speed if c == chance else np.log(u) * chance > np.log(speed) * c):
            first, speed, chance = k, u, c
    return first


@piece
def ask(f, aim):
    """Make the window of a frame that of a question: is its value at least so much? A few of these cut off more than one search for
    the value itself (MTD(f): Plaat et al. 1996)."""
    if aim.passes == 0:
        aim.least = -np.inf
        aim.most = np.inf
    if aim.passes < MOST_PASSES:
        aim.guess = min(max(aim.guess, above(aim.least), f.low), f.high)
        f.low = below(aim.guess)
        f.high = aim.guess


@piece
def is_answered(m, low, high, aim):
    """Take the answer `m` down. Returns whether all is known that matters to a window from `low` to `high`."""
    if aim.passes < MOST_PASSES:
        aim.passes += 1
        if m >= aim.guess:
            aim.least = m
        else:
            aim.most = m
        aim.guess = m
        if above(aim.least) < aim.most and aim.least < high and aim.most > below(low):
            return False
    aim.passes = 0
    return True


class Minimax(Valuation):
    """The value of a state to MAX when both play best; or, as a triple (m, p, a), when MIN may make `errors`."""

    errors: int = parameter(0, minimum=0, maximum=ALL, help="errors of MIN count in so many moves")

    def world_of(self, part, actions):
        """The world that a part is about: parts are pairs of world and action."""
        return part // len(actions)

    def begin(self, game, plain, who, worlds, seeds, actions, part, found, frames, table, out, tell):
        """Enter the state after an action in a world, if the action is there."""
        j, i = part // len(actions), part % len(actions)
        n = game.actions(worlds[j], out)
        if n < 1 or n > len(out):
            return BROKEN
        found.legal[j, i] = 0
        for k in range(n):
            if out[k] == actions[i]:
                found.legal[j, i] = 1
        if not found.legal[j, i]:
            return NOTHING
        frames.states[0] = worlds[j]
        play_open(game, frames.states[0], actions[i], tell)
        if game.has_knowledge:
            found.known[j, i] = game.knowledge(frames.states[0], who)
        f = frames.frame[0]
        f.came_by = row_of(frames, actions[i])
        f.left = self.errors
        f.low = -np.inf
        f.high = np.inf
        if self.errors == 0:
            ask(f, frames.aims[0])
        return 0 if self.enter_node(game, plain, who, seeds[j], frames, table, 0, out, tell) else BROKEN

    def end(self, actions, part, found, frames):
        """Write down what was found, unless a further search is needed. Returns whether it is not."""
        f, values = frames.frame[0], found.values[part // len(actions), part % len(actions)]
        if self.errors == 0 and not is_answered(f.m, -np.inf, np.inf, frames.aims[0]):
            return False
        values[0] = f.m
        values[1] = f.p
        values[2] = f.a
        return True

    def descend(self, game, frames, d, tell):
        """Write the next child of frame `d` into the one after it, with the window that it is searched in."""
        f, child = frames.frame[d], frames.frame[d + 1]
        if f.turn != MEAN and f.manner != AGAIN and frames.aims[d + 1].passes == 0:
            bring_forward(frames.actions[d], f.next, f.count, frames.merits[f.turn, f.came_by], f.best if f.seen == 0 else -1)
        a = frames.actions[d, f.next]
        f.next += 1
        child.low = f.low
        child.high = f.high
        child.left = f.left - 1 if 0 < f.left < ALL and f.turn != MEAN else f.left
        child.came_by = row_of(frames, a) if f.turn != MEAN else 0
        if f.turn == MEAN:
            f.weight = game.chance(frames.states[d], a, f.count)
            child.low = -np.inf
            child.high = np.inf
        elif f.left > 0:
            if f.turn == MIN:
                child.high = f.m + f.a  # infinite as long as there is no error
            if child.left == 0:
                child.low = below(below(child.low))  # a child that is as good must show to be
                ask(child, frames.aims[d + 1])
        elif f.manner == PROBE:
            if f.turn == MAX:
                child.high = above(f.low)
            else:
                child.low = below(f.high)
        frames.states[d + 1] = frames.states[d]
        play_open(game, frames.states[d + 1], a, tell)

    def enter_node(self, game, plain, who, seed, frames, table, d, out, tell):
        """Begin with the state of frame `d`: its value, if it is the end or remembered; otherwise its actions. Returns whether the
        game keeps to its rules."""
        f, s = frames.frame[d], frames.states[d]
        frames.counts[0] += 1
        f.count = 0
        f.next = 0
        f.seen = 0
        f.is_searched = 0
        f.manner = WIDE
        f.p = 0.0
        f.a = 0.0
        steps = 0
        while True:
            p = game.player(s)
            if is_last(game, s, p):
                f.m = payoff(game, s, who, self.by_worth)
                return f.m == f.m
            if p != CHANCE or self.fixes_chance == EXPECTED:
                break
            n = game.actions(s, out)
            steps += 1
            if not is_proper(out, n) or steps == len(frames.frame):
                return False
            key = state_key(frames.words, d) + seed if self.fixes_chance == BY_STATE else seed
            play_open(game, s, out[fixed_outcome(game, s, out, n, key)], tell)
            f.came_by = 0
        tag = tag_of(seed, f.left)
        f.key = state_key(frames.words, d) + tag
        fetch(table.marks, first_slot(table, f.key))
        f.bound = np.inf
        if game.knows_most:
            most, least = game.most(s, who), -game.most(s, 1 - who)
            if most < f.low - SAME or (most <= f.low and f.left == 0) or least >= f.high:
                f.m = least if least >= f.high else most
                return True
            if f.left == 0:
                f.bound = most if p == who else least
        f.best = -1
        slot = look_up(table, tag, frames.words, d, f.key)
        if slot >= 0:
            k = 1 + frames.words.shape[1]
            what = table.words[slot, k] & np.uint64(3)
            m = table.floats[slot, k + 1]
            is_low = m < f.low - SAME if f.left > 0 else m <= f.low
            if what == EXACT or (what == AT_LEAST and m >= f.high) or (what == AT_MOST and is_low):
                f.m = m
                f.p = table.floats[slot, k + 2]
                f.a = table.floats[slot, k + 3]
                return True
            f.best = np.int64(table.words[slot, k] >> np.uint64(2)) - 1
        n = game.actions(s, frames.actions[d])
        if not is_proper(frames.actions[d], n):
            return False
        f.is_searched = 1
        f.count = n
        f.least = f.low
        f.most = f.high
        f.turn = MAX if p == who else MEAN if p == CHANCE else MIN
        f.m = -np.inf if f.turn == MAX else np.inf if f.turn == MIN else 0.0
        f.a = np.inf if f.turn == MIN and f.left > 0 else 0.0
        return True

    def fold(self, frames, d):
        """Put the value of the child of frame `d` that has just been left into its own; leave out the rest if it cannot matter."""
        f, child = frames.frame[d], frames.frame[d + 1]
        is_better = child.m >= above(f.low) if f.turn == MAX else child.m <= below(f.high)
        if f.manner == PROBE and is_better and f.low < child.m < f.high:
            f.manner = AGAIN  # it is better: how much so?
            f.next -= 1
            return
        if f.left > 0 and child.left == 0 and f.turn != MEAN:
            high = f.m + f.a if f.turn == MIN else f.high
            if not is_answered(child.m, below(below(f.low)), high, frames.aims[d + 1]):
                f.next -= 1
                return
        f.seen += 1
        if f.turn == MEAN:
            f.m += f.weight * child.m
            f.p += f.weight * child.p
            f.a += f.weight * child.p * child.a
        elif f.turn == MAX:
            if child.m > f.m if f.left == 0 else is_larger(child.m, child.p, child.a, f.m, f.p, f.a):
                f.m = child.m
                f.p = child.p
                f.a = child.a
                f.low = max(f.low, f.m)
                f.best = frames.actions[d, f.next - 1]
            if f.m >= min(f.high, f.bound):
                f.next = f.count
        elif f.left > 0:
            if child.m < f.m - SAME:  # all others are errors now, the best of them the least one
                f.p = f.seen - 1.0 + child.p
                f.a = f.m - child.m if f.seen > 1 else np.inf
                f.m = child.m
                f.best = frames.actions[d, f.next - 1]
                if child.p > 0.0:
                    f.a = min(f.a, child.a)
            elif child.m > f.m + SAME:
                f.p += 1.0
                f.a = min(f.a, child.m - f.m)
            else:
                f.p += child.p
                if child.p > 0.0:
                    f.a = min(f.a, child.a)
            if f.m < f.low - SAME:
                f.next = f.count
        else:
            if child.m < f.m:
                f.m = child.m
                f.high = min(f.high, f.m)
                f.best = frames.actions[d, f.next - 1]
            if f.m <= f.low or f.m == f.bound:
                f.next = f.count
        f.manner = PROBE if f.left == 0 and f.turn != MEAN and f.high - f.low < np.inf else WIDE

    def leave(self, seed, frames, table, d):
        """All of frame `d` has been looked at that can matter: what its value is, and whether it is exact, is remembered."""
        f = frames.frame[d]
        if f.turn == MIN and f.left > 0:
            f.p /= f.seen
            f.a = f.a if f.a < np.inf else 0.0
        elif f.turn == MEAN:
            f.a = f.a / f.p if f.p > 0.0 else 0.0
        what = EXACT
        if f.turn != MEAN and f.m != f.bound:
            if f.m < f.least - SAME or (f.m <= f.least and f.left == 0):
                what = AT_MOST
            elif f.m >= f.most and (f.turn == MAX or f.left == 0):
                what = AT_LEAST
        slot = new_slot(table, f.key)
        k = 1 + frames.words.shape[1]
        table.words[slot, 0] = tag_of(seed, f.left)
        for i in range(frames.words.shape[1]):
            table.words[slot, 1 + i] = frames.words[d, i]
        table.words[slot, k] = np.uint64(f.best + 1) << np.uint64(2) | np.uint64(what)
        table.floats[slot, k + 1] = f.m
        table.floats[slot, k + 2] = f.p
        table.floats[slot, k + 3] = f.a
        if f.turn != MEAN and f.best >= 0:
            frames.merits[f.turn, f.came_by, f.best] += (len(frames.frame) - d) ** 2
