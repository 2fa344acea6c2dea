"""Stepping a game in compiled code: what players are told, the keys of information sets, random numbers.

A *percept* is what one step of the game tells one viewer: (own, public, private), where `own` is 1 + the action if the viewer
made the move and 0 otherwise. A viewer's action-observation history is the sequence of its percepts that are not (0, 0, 0);
its 64-bit key is the fold of `extend_key` over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import piece
from unseen.compiling.bits import bit_count, nth_bit
from unseen.game import CHANCE, PUBLIC, Game


@piece
def mix(x):
    """A bijection on 64-bit numbers in which each input bit changes half of the output bits (the finaliser of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@piece
def root_key(viewer):
    """The key of having seen nothing; players 0 and 1 and the public have different ones."""
    return mix(np.uint64(viewer + 1))


@piece
def extend_key(key, own, public, private):
    """The key of a history that goes on with one more percept."""
    return mix(
        key
        + np.uint64(own) * np.uint64(0x9E3779B97F4A7C15)
        + np.uint64(public) * np.uint64(0xD1B54A32D192ED03)
        + np.uint64(private) * np.uint64(0x8CB92BA72F3D8DD7)
    )


@piece
def own_part(viewer, mover, a):
    """The first part of the percept that `viewer` has of `mover` playing `a`."""
    return a + 1 if viewer == mover else 0


@piece
def private_part(viewer, tell):
    """The last part of a percept: the public gets no private token."""
    return tell[viewer] if viewer != PUBLIC else 0


@piece
def next_key(key, viewer, mover, a, tell):
    """The key of what `viewer` has seen, after `mover` played `a` and the game told what is in `tell`. Silence changes nothing."""
    own = own_part(viewer, mover, a)
    if own == 0 and tell[PUBLIC] == 0 and tell[viewer] == 0:
        return key
    return extend_key(key, own, tell[PUBLIC], tell[viewer])


@piece
def state_key(words, c):
    """The key of a state, by its words, shape (c, k): equal states have equal keys.

    Words are mixed apart from each other, so that the processor does it at the same time.
    """
    key = np.uint64(0)
    for p in range(words.shape[1]):
        key += mix(words[c, p] + np.uint64(p + 1) * np.uint64(0x9E3779B97F4A7C15))
    return key


@piece
def step(game, s, a, tell):
    """Play `a` in `s`; `tell` holds what the game says about it."""
    tell[0] = 0
    tell[1] = 0
    tell[PUBLIC] = 0
    game.apply(s, a, tell)


@piece
def is_proper(out, n):
    """Whether `n` actions are in `out`, ascending, all of them numbers that a game of this width can have."""
    if n < 1 or n > len(out) or out[0] < 0 or out[n - 1] >= len(out):
        return False
    for k in range(1, n):
        if out[k] <= out[k - 1]:
            return False
    return True


@piece
def is_mover(p):
    """Whether it is the turn of a player or of chance."""
    return CHANCE <= p <= 1


@piece
def random_bits(rng):
    """53 bits from the SplitMix64 generator whose state is `rng[0]`."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    return mix(rng[0]) >> np.uint64(11)


@piece
def random(rng):
    """A number in [0, 1)."""
    return random_bits(rng) * (1.0 / 9007199254740992.0)


@piece
def random_index(n, rng):
    """A number below `n`, all equally likely."""
    if n > 2047:
        return np.int64(random(rng) * n)
    return np.int64(random_bits(rng) * np.uint64(n) >> np.uint64(53))  # the same, and the processor has it sooner


@piece
def coin(chance, rng):
    """Whether something of this probability happens."""
    return random(rng) < chance


@piece
def pick(chances, first, n, total, rng):
    """An index below `n`, drawn by the weights from `first` on, which sum to `total`."""
    u = random(rng) * total
    last = 0
    for k in range(n):
        if chances[first + k] > 0.0:
            last = k
            u -= chances[first + k]
            if u < 0.0:
                return k
    return last


@piece
def sample_chance(game, s, out, n, rng):
    """The place in `out` of a chance outcome, drawn by its probability."""
    if game.uniform_chance:
        return random_index(n, rng)
    u = random(rng)
    for k in range(n - 1):
        u -= game.chance(s, out[k], n)
        if u < 0.0:
            return k
    return n - 1


@piece
def random_action(game, s, p, out, rng):
    """What `p`, a player who chooses evenly or chance, does in `s`; -1 if it has no action, or too many. `out` is to write on."""
    if game.knows_bits and (p != CHANCE or game.uniform_chance):
        bits = game.bits(s)
        n = bit_count(bits)
        return nth_bit(bits, random_index(n, rng)) if n > 0 else -1
    n = game.actions(s, out)
    if n <= 0 or n > len(out):
        return -1
    return out[sample_chance(game, s, out, n, rng) if p == CHANCE else random_index(n, rng)]


def random_state(seed: int) -> NDArray[np.uint64]:
    """A generator for kernels, from a seed of any size."""
    return np.random.SeedSequence(seed).generate_state(2).view(np.uint64)


def scratch(game: Game) -> tuple[NDArray[Any], NDArray[Any]]:
    """`out` and `tell`: the arrays that `actions` and `apply` write to."""
    return np.zeros(game.width, np.int64), np.zeros(3, np.int64)


def whole_states(game: Game, count: int) -> tuple[NDArray[Any], NDArray[np.uint64]]:
    """Blank states, (n,), each at the beginning of a number of whole 64-bit words; and the same memory as words, (n, k)."""
    dtype = game.new_states(1).dtype
    words = np.zeros((count, -(-dtype.itemsize // 8)), np.uint64)
    return np.recarray(count, dtype, buf=words, strides=words.strides[:1]), words  # type: ignore[call-overload]
