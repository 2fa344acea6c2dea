"""The worlds of one player: all states that fit what it has seen, kept up percept by percept.

`Worlds` is what a player can believe after some percepts: the states that one of the fitting histories has just led to, and all
that the game can silently go on to from there. A further percept leads to other worlds, which are found from these alone; so an
agent that is told percepts one at a time never goes back to the start of the game, and two ways to the same worlds have the same
future. A trellis (`belief.trellis`) knows the histories as well, but has to be built from the start.

By default a world counts the probability of its chance outcomes: the total probability of the sequences of chance outcomes with
which the players' moves can lead to it. Each sequence counts once, however many orders of the players' moves lead there with it; if
its probability depends on these moves, the greatest counts. An outcome that is certain is none. So while states are gone through,
they are told apart by the sequence, too (a hash of it); sequences that are possible in the same states have the same future, and
are put together with every percept.

Where there are too many sequences to tell apart, each history counts the probability of its chance outcomes. Where there are too
many states to list, a part of them is kept, drawn uniformly by a seed, and each of these weighs as much more. From there on, too, a
state counts by the histories that lead to it, of which it has on average as many as it would have had.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from unseen.belief.belief import DEFAULT_CAP
from unseen.compiling import kernel, piece
from unseen.engine import mix, own_part, scratch, state_key, step, whole_states
from unseen.enumeration.infosets import extended
from unseen.errors import BeliefTooLarge, GameFault, UnseenError
from unseen.game import CHANCE, PUBLIC, TERMINAL, Game
from unseen.position import Percept

WEIGHTS = ("chance", "histories", "once")
BY_CHANCE, BY_HISTORIES, ONCE, NUMBER = range(4)
"""What a world counts: the probability of its chance outcomes; the sum of it over all histories that lead there; one. And what it
counts in a sample in place of one: the number of these histories."""
BROKEN = -3
REMEMBERED = 1 << 27
"""Bytes of worlds that are remembered before all are forgotten."""
NOT_QUEUED = -1.0
"""In place of a weight that is still to be passed on."""
NOISE = 1e-12
"""Relative differences of probabilities that do not count."""
BITS = 2.0**40
"""Precision of weights as people and tables see them: equal probabilities are equal numbers, however they were multiplied."""


class Bag(NamedTuple):
    """Distinct states with weights, in flat arrays with room for more. `n` states, of `k` words each.

    Where states count by chance, the same state with another sequence of chance outcomes is another one.
    """

    states: NDArray[Any]  # (n,) records
    words: NDArray[np.uint64]  # (n, k) the same memory
    luck: NDArray[np.uint64]  # (n,) the key of the sequence of chance outcomes, if states count by chance; otherwise 0
    weight: NDArray[np.float64]  # (n,)
    arriving: NDArray[np.float64]  # (2, n) weights that come in by the steps of this level and the next; not yet passed on
    queue: NDArray[np.int64]  # (2, n) the states of these levels
    slots: NDArray[np.int64]  # (a power of two,) open addressing by key: a state, or -1
    size: NDArray[np.int64]  # (3,) states in use, and how many are in each queue


def new_bag(game: Game, room: int) -> Bag:
    states, words = whole_states(game, room)
    slots = np.full(1 << max(6, int(2 * room - 1).bit_length()), -1, np.int64)
    luck, sizes = np.zeros(room, np.uint64), np.zeros(3, np.int64)
    return Bag(states, words, luck, np.zeros(room), np.zeros((2, room)), np.zeros((2, room), np.int64), slots, sizes)


def _as_states(words: NDArray[np.uint64], bag: Bag) -> NDArray[Any]:
    """The same memory as records of the kind that is in `bag`."""
    if not len(words):
        return bag.states[:0]
    states: NDArray[Any] = np.recarray(len(words), bag.states.dtype, buf=words, strides=words.strides[:1])  # type: ignore[call-overload]
    return states


def _larger(game: Game, bag: Bag, more: int) -> Bag:
    """The same bag with twice the room, or room for so many more."""
    old, n = len(bag.weight), int(bag.size[0])
    bigger = new_bag(game, max(2 * old, n + more))
    bigger.words[:n], bigger.luck[:n] = bag.words[:n], bag.luck[:n]
    bigger.arriving[:, :old], bigger.queue[:, :old] = bag.arriving, bag.queue
    enter_all(bigger.words, bigger.luck, bigger.slots, n)
    return bigger._replace(weight=extended(bag.weight, len(bigger.weight)), size=bag.size)


def _part(game: Game, bag: Bag, stays: NDArray[np.bool_]) -> Bag:
    """The states that stay, of which alone something is queued."""
    n = int(stays.sum())
    part, number = new_bag(game, max(64, 2 * n)), np.cumsum(stays) - 1
    for mine, all_of_it in ((part.words, bag.words), (part.luck, bag.luck), (part.weight, bag.weight)):
        mine[:n] = all_of_it[: len(stays)][stays]
    part.arriving[:, :n] = bag.arriving[:, : len(stays)][:, stays] if bag.arriving.shape[1] else NOT_QUEUED
    for level in (0, 1):
        queued = bag.size[1 + level]
        part.queue[level, :queued] = number[bag.queue[level, :queued]]
    enter_all(part.words, part.luck, part.slots, n)
    part.size[:] = n, *bag.size[1:]
    return part


def _gathered(game: Game, bag: Bag) -> Bag:
    """The bag, whose states are all queued at level 0, with sequences put together that are possible in the same states.

    These have the same future. The key of all of them says in which states they are possible, so equal beliefs have equal keys,
    whatever led there; where all are possible in all states it is 0.
    """
    n = int(bag.size[0])
    if not bag.luck[:n].any():
        return bag
    each, which = np.unique(bag.luck[:n], return_inverse=True)
    keys = np.zeros(len(each), np.uint64)
    sign(bag.words, which, keys)
    luck = keys[which] if (keys != keys[0]).any() else np.zeros(n, np.uint64)
    order = np.lexsort((luck, *bag.words[:n].T))
    words, luck = bag.words[:n][order], luck[order]
    starts = np.flatnonzero(_differs(words) | _differs(luck[:, None]))
    gathered, m = new_bag(game, max(64, 2 * len(starts))), len(starts)
    gathered.words[:m], gathered.luck[:m] = words[starts], luck[starts]
    gathered.arriving[0, :m], gathered.arriving[1, :m] = np.add.reduceat(bag.arriving[0, :n][order], starts), NOT_QUEUED
    gathered.queue[0, :m] = np.arange(m)
    enter_all(gathered.words, gathered.luck, gathered.slots, m)
    gathered.size[:] = m, m, 0
    return gathered


def _differs(rows: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each row differs from the one before it, (n,)."""
    return np.concatenate([np.ones(min(len(rows), 1), np.bool_), (rows[1:] != rows[:-1]).any(axis=1)])


def _rounded(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights in proportion to the largest, to forty bits."""
    top = weights.max(initial=0.0)
    part, power = np.frexp(weights / top if top > 0.0 else weights)
    found: NDArray[np.float64] = np.ldexp(np.round(part * BITS) / BITS, power)
    return found


@kernel
def sign(words, which, keys):
    """The key of each sequence of chance outcomes, (sequences,): the sum of those of the states it occurs in; `which`, (n,)."""
    for k in range(len(which)):
        keys[which[k]] += state_key(words, k)


@piece
def find(words, luck, slots, new):
    """The state that equals the one at `new`, which is entered if there is none yet."""
    mask = np.uint64(len(slots) - 1)
    slot = (state_key(words, new) + luck[new]) & mask
    while slots[slot] >= 0:
        other = slots[slot]
        is_same = luck[other] == luck[new]
        for k in range(words.shape[1]):
            is_same = is_same and words[other, k] == words[new, k]
        if is_same:
            return other
        slot = (slot + np.uint64(1)) & mask
    slots[slot] = new
    return new


@kernel
def enter_all(words, luck, slots, n):
    for new in range(n):
        find(words, luck, slots, new)


@piece
def add(bag, level, weight, luck, weighs):
    """The state after the last one in use comes in by a step of `level` with a weight: find it, or put it in, and queue it."""
    new = bag.size[0]
    bag.luck[new] = luck
    at = find(bag.words, bag.luck, bag.slots, new)
    if at == new:
        bag.size[0] += 1
        bag.weight[new] = 0.0
        bag.arriving[0, new] = NOT_QUEUED
        bag.arriving[1, new] = NOT_QUEUED
    elif weighs == ONCE or (weighs == BY_CHANCE and weight <= max(bag.weight[at], bag.arriving[level, at]) * (1.0 + NOISE)):
        return
    if bag.arriving[level, at] == NOT_QUEUED:
        bag.queue[level, bag.size[1 + level]] = at
        bag.size[1 + level] += 1
        bag.arriving[level, at] = 0.0
    bag.arriving[level, at] = weight if weighs == BY_CHANCE else bag.arriving[level, at] + weight


@piece
def share(game, s, p, a, n, weighs):
    """What weight is multiplied by when `p` does one of `n` things."""
    return game.chance(s, a, n) if p == CHANCE and weighs in (BY_CHANCE, BY_HISTORIES) else 1.0


@piece
def next_luck(luck, a, share, weighs):
    """The key of the chance outcomes after one more step, which is an outcome if its share of the weight is less than one."""
    if weighs != BY_CHANCE:
        return np.uint64(0)
    return mix(luck + np.uint64(a + 1) * np.uint64(0x9E3779B97F4A7C15)) if share < 1.0 else luck


@kernel
def plant(game, bag):
    """The start of the game."""
    game.start(bag.states[0])
    add(bag, 0, 1.0, np.uint64(0), ONCE)


@kernel
def go_on_silently(game, bag, viewer, weighs, level, first, out, tell):
    """Pass on the weights of the states in the queue of `level`, from number `first` on, to what silently follows them.

    Returns how many were done: fewer than there are if room was short.
    """
    for k in range(first, bag.size[1 + level]):
        if bag.size[0] + len(out) >= len(bag.weight):
            return k
        node = bag.queue[level, k]
        weight = bag.arriving[level, node]
        bag.arriving[level, node] = NOT_QUEUED
        bag.weight[node] = weight if weighs == BY_CHANCE else bag.weight[node] + weight
        s = bag.states[node]
        p = game.player(s)
        if p in (TERMINAL, viewer):
            continue
        n = game.actions(s, out)
        if n < 0 or n > len(out):
            return BROKEN
        for i in range(n):
            new = bag.size[0]
            bag.states[new] = s
            step(game, bag.states[new], out[i], tell)
            if tell[PUBLIC] == 0 and tell[viewer] == 0:
                part = share(game, s, p, out[i], n, weighs)
                add(bag, 1 - level, weight * part, next_luck(bag.luck[node], out[i], part, weighs), weighs)
    return bag.size[1 + level]


@piece
def fits(token, seen, is_blind):
    """Whether a token is the one that was seen; to the blind all are alike."""
    return (token > 0) == (seen > 0) if is_blind else token == seen


@kernel
def go_on_seeing(game, before, first, bag, viewer, percept, weighs, is_blind, out, tell):
    """Put all that follows the states of `before`, from number `first` on, with this `percept`, (3,), into `bag`. As above."""
    for node in range(first, before.size[0]):
        if bag.size[0] + len(out) >= len(bag.weight):
            return node
        s = before.states[node]
        p = game.player(s)
        if p == TERMINAL or (p == viewer) != (percept[0] > 0):
            continue
        n = game.actions(s, out)
        if n < 0 or n > len(out):
            return BROKEN
        for i in range(n):
            if percept[0] > 0 and own_part(viewer, p, out[i]) != percept[0] and not is_blind:
                continue
            new = bag.size[0]
            bag.states[new] = s
            step(game, bag.states[new], out[i], tell)
            if fits(tell[PUBLIC], percept[1], is_blind) and fits(tell[viewer], percept[2], is_blind):
                part = share(game, s, p, out[i], n, weighs)
                add(bag, 0, before.weight[node] * part, next_luck(before.luck[node], out[i], part, weighs), weighs)
    return before.size[0]


@kernel
def lay_out(game, before, viewer, weighs, laid, to_open):
    """Put the states at which `viewer` moves into `laid`, which has the room, as they are or laid open."""
    for node in range(before.size[0]):
        if game.player(before.states[node]) == viewer:
            new = laid.size[0]
            laid.states[new] = before.states[node]
            if to_open:
                game.lay_open(laid.states[new])
            laid.luck[new] = before.luck[node]
            at = find(laid.words, laid.luck, laid.slots, new)
            if at == new:
                laid.size[0] += 1
                laid.weight[new] = 0.0
            if weighs in (BY_CHANCE, ONCE):
                laid.weight[at] = max(laid.weight[at], before.weight[node])
            else:
                laid.weight[at] += before.weight[node]


class Turn(NamedTuple):
    """The distinct states at which a player is to move, in the order of their bytes, with their weights; `n` states."""

    states: NDArray[Any]  # (n,) records
    weights: NDArray[np.float64]  # (n,)
    text: bytes
    """States and weights as bytes: equal turns have equal bytes."""


class Worlds:
    """What `viewer` (0 or 1) can believe in `game`: the distinct states that fit what it has seen, with weights.

    `Worlds(game, viewer)` is the start of the game; `after(percept)` are the worlds one percept later.

    - `weighs`: `"chance"`, each state counts the total probability of the sequences of chance outcomes that can lead to it, in
      proportion to the likeliest state; `"histories"`, the sum of the probabilities of chance over all histories that lead to it,
      so that orders of the players' moves multiply it; `"once"`, one.
    - `cap`: the most states. With more, `BeliefTooLarge` is raised; or, if there is a `seed`, a part of them is drawn by it
      (`is_sample`): as many for each silent step as cannot come to more. From there on states count by histories.
    - `is_blind`: the viewer notices that it acts or is told something, but not what.
    """

    def __init__(
        self, game: Game, viewer: int, weighs: str = "chance", cap: int = DEFAULT_CAP, is_blind: bool = False,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        if viewer not in (0, 1):
            raise UnseenError(f"viewer is {viewer!r}, but must be 0 or 1.")
        if weighs not in WEIGHTS:
            raise UnseenError(f"weighs is {weighs!r}, but must be one of {', '.join(WEIGHTS)}.")
        self.game, self.viewer, self.weighs, self.cap = game, viewer, WEIGHTS.index(weighs), cap
        self.is_blind, self.seed = is_blind, seed
        self.is_sample, self._text = False, b""
        self._tells_luck = self.weighs == BY_CHANCE
        """Whether sequences of chance outcomes are told apart: until there are too many."""
        self._most = max(cap // (2 * game.width), 1)
        """States that can be gone on from at once; more would come to more than `cap`."""
        self._memory: dict[tuple[bytes, Percept], Worlds] = {}
        self._held = [0]
        self._fill(self._start)

    def _start(self) -> Bag:
        bag = new_bag(self.game, 64)
        plant(self.game, bag)
        return bag

    def _fill(self, begin: Callable[[], Bag]) -> None:
        """Finish what has just been come to, whose states are queued at level 0: what silently follows, level by level."""
        bag = _gathered(self.game, begin())
        n = int(bag.size[0])
        arriving = bag.arriving[0, :n]
        top = arriving.max(initial=0.0)
        if self._counting != ONCE and top > 0.0 and not 1e-100 < top < 1e100:
            arriving /= top  # only their proportions count, and long games would make them 0 or infinite
        self._turns: dict[bool, Turn] = {}
        order = np.lexsort((bag.luck[:n], *bag.words[:n].T))
        weights = (self._proportions(arriving)[order],) if self._counting != ONCE else ()
        arrays = bag.words[:n][order], bag.luck[:n][order], *weights
        self._text = bytes([self._counting]) + b"".join(array.tobytes() for array in arrays)
        """What these worlds are found again by: equal bytes, equal futures."""
        level, length, room = 0, 0, scratch(self.game)
        while bag.size[1 + level]:
            bag, done = self._thinned(bag, level, length), 0
            while done < bag.size[1 + level]:
                done = int(go_on_silently(self.game, bag, self.viewer, self._counting, level, done, *room))
                bag = self._checked(bag, done, done < bag.size[1 + level])
                if bag.size[0] > self.cap and not self.is_sample:
                    self.is_sample, self._tells_luck = not self._tells_luck, False
                    self._fill(begin)
                    return
            bag.size[1 + level] = 0
            level, length = 1 - level, length + 1
            if length > self.game.max_length + 1:
                raise GameFault(f"{self.game.spec}: the game goes on past max_length; `unseen check` says where.")
        n, none = int(bag.size[0]), np.zeros((2, 0))
        words, luck, weight = bag.words[:n].copy(), bag.luck[:n].copy(), bag.weight[:n].copy()
        self._bag = Bag(_as_states(words, bag), words, luck, weight, none, none.astype(np.int64), bag.slots[:0], bag.size)
        self._held[0] += 2 * words.nbytes + luck.nbytes + 1024

    @property
    def _counting(self) -> int:
        """What a state counts: by histories, once only some states or not all sequences of chance outcomes are told apart."""
        if self.weighs == BY_CHANCE:
            return BY_CHANCE if self._tells_luck and not self.is_sample else BY_HISTORIES
        return NUMBER if self.is_sample and self.weighs == ONCE else self.weighs

    def _proportions(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights as they are told: in proportion to the largest, if states count by chance and all of them are known."""
        return _rounded(weights) if self.weighs == BY_CHANCE and not self.is_sample else weights

    @property
    def count(self) -> int:
        """How many states there are."""
        words = self._bag.words
        return int(_differs(words[np.lexsort(words.T)]).sum()) if self._bag.luck.any() else len(words)

    def with_seed(self, seed: int) -> Worlds:
        """The same worlds; further ones are drawn by `seed`."""
        other = copy.copy(self)
        other.seed = seed
        return other

    def _drawn(self, n: int, most: int, place: int) -> NDArray[np.bool_]:
        """Which `most` of `n` states stay, by the seed and a place in the game."""
        self.is_sample, stays = True, np.zeros(n, np.bool_)
        stays[np.random.default_rng([self.seed or 0, crc32(self._text), n, place]).permutation(n)[: max(most, 1)]] = True
        return stays

    def _thinned(self, bag: Bag, level: int, length: int) -> Bag:
        """The bag with no more in the queue of `level` than can be gone on from."""
        n = int(bag.size[1 + level])
        if not self.is_sample or n <= self._most:
            return bag
        stays, queued, is_in = self._drawn(n, self._most, 1 + length), bag.queue[level, :n].copy(), np.ones(bag.size[0], np.bool_)
        gone, kept = queued[~stays], queued[stays]
        bag.arriving[level, gone] = NOT_QUEUED
        bag.arriving[level, kept] *= n / len(kept)
        is_in[gone[bag.weight[gone] == 0.0]] = False  # a state that was come to before stays for that
        bag.queue[level, : len(kept)] = kept
        bag.size[1 + level] = len(kept)
        return _part(self.game, bag, is_in)

    def _checked(self, bag: Bag, done: int, is_short: bool) -> Bag:
        if done == BROKEN:
            raise GameFault(f"{self.game.spec}: actions() returns a number of actions that it must not; `unseen check` says where.")
        if bag.size[0] > self.cap and self.seed is None and not self._tells_luck:
            raise BeliefTooLarge(f"{self.game.spec}: more than {self.cap} states fit what was seen; raise the cap to list them.")
        return _larger(self.game, bag, 2 * self.game.width) if is_short else bag

    def after(self, percept: Percept) -> Worlds:
        """The worlds after one more `percept`; there are none if it contradicts what was seen before."""
        place = (self._text, percept)
        if place in self._memory:
            found = self._memory[place]
            return found if found.seed == self.seed or self.seed is None else found.with_seed(self.seed)
        other = copy.copy(self)
        other._fill(lambda: other._seeing(np.array(percept, np.int64)))
        if self._held[0] > REMEMBERED:
            self._memory.clear()
            self._held[0] = 0
        if not other.is_sample:
            self._memory[place] = other
        return other

    def _seeing(self, percept: NDArray[np.int64]) -> Bag:
        """All that follows the worlds before with this percept, or what follows a part of them."""
        before, arrays = self._bag, scratch(self.game)
        while True:
            bag, done = new_bag(self.game, max(64, 2 * self.game.width)), 0
            while done < before.size[0] and bag.size[0] <= self.cap:
                done = int(go_on_seeing(self.game, before, done, bag, self.viewer, percept, self._counting, self.is_blind, *arrays))
                bag = self._checked(bag, done, done < before.size[0])
            if done == before.size[0]:
                return bag
            if self._tells_luck:
                self._tells_luck = False
                continue
            n = int(before.size[0])
            stays = self._drawn(n, n // 2, 0)
            before = _part(self.game, before, stays)
            before.weight[:] *= n / stays.sum()

    def after_all(self, percepts: Any) -> Worlds:
        """The worlds after several more `percepts`."""
        worlds = self
        for percept in percepts:
            worlds = worlds.after(Percept(*percept))
        return worlds

    @property
    def turn(self) -> Turn:
        """The states at which the viewer is to move, laid open (see `Game.lay_open`)."""
        return self._turn(True)

    @property
    def closed_turn(self) -> Turn:
        """The states at which the viewer is to move, as they are."""
        return self._turn(False)

    def _turn(self, to_open: bool) -> Turn:
        """One of these, which copies with other seeds share."""
        if to_open in self._turns:
            return self._turns[to_open]
        laid = new_bag(self.game, int(self._bag.size[0]) + 1)
        self._held[0] += 2 * self._bag.words.nbytes + self._bag.weight.nbytes
        lay_out(self.game, self._bag, self.viewer, self._counting, laid, to_open)
        self._turns[to_open] = self._sorted(laid, int(laid.size[0]))
        return self._turns[to_open]

    def _sorted(self, laid: Bag, n: int) -> Turn:
        """The distinct states, each with the weights of all sequences of chance outcomes together."""
        order = np.lexsort((laid.luck[:n], *laid.words[:n].T))
        words = laid.words[:n][order]
        starts = np.flatnonzero(_differs(words))
        weights = np.add.reduceat(laid.weight[:n][order], starts) if n else np.zeros(0)
        words, weights = words[starts], self._proportions(weights)
        text = words.tobytes() + (weights.tobytes() if self._counting != ONCE else b"")
        return Turn(_as_states(words, laid), weights, text)
