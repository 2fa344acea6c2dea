"""What a walk over a game may leave out because something else stands for it: settled endings and mirror images.

A history is *settled* if nothing still to come can change its payoffs. All that follows then adds the same to every choice, so
values at the root, regrets and best responses are the same whether a walk goes on or not.

A *symmetry* renames actions such that every history becomes a history of the same game, with the same players, chances, tokens
and payoffs. A walk may then keep to one history of each orbit, and a player to one information set of each: it turns what it has
done into the first of its images (`orientation` is the symmetry that does so; `stabiliser` those that would change nothing, as
bits).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import as_python, kernel, piece
from unseen.engine import extend_key, root_key
from unseen.enumeration.infosets import INFOSETS, SEQUENCES, Recall, Sets
from unseen.errors import UnseenError
from unseen.game import Game

MAX_SYMMETRIES = 62


class Reduction(NamedTuple):
    """What a walk leaves out. `g` symmetries, of which the first changes nothing."""

    stops_settled: bool  # whether to stop at settled histories
    image: NDArray[np.int64]  # (g, actions) what each symmetry makes of an action
    compose: NDArray[np.int64]  # (g, g) the symmetry that does the second, then the first


def reduction(game: Game, stops_settled: bool = False, symmetric: bool = False) -> Reduction:
    """The reduction that leaves out what it is told to."""
    identity = list(range(game.num_actions))
    images = game.symmetries() if symmetric else [identity]
    places = {tuple(image): g for g, image in enumerate(images)}
    try:
        compose = [[places[tuple(second[a] for a in first)] for first in images] for second in images]
        if any(sorted(image) != identity for image in images):
            raise KeyError
    except (KeyError, IndexError, TypeError):
        raise UnseenError(f"{type(game).__name__}.symmetries() is not a group of renamings of the actions.") from None
    if tuple(images[0]) != tuple(identity) or len(images) > MAX_SYMMETRIES:
        raise UnseenError(f"{type(game).__name__}.symmetries() must begin with [0, 1, 2, ...] and list up to {MAX_SYMMETRIES}.")
    return Reduction(stops_settled, np.array(images, np.int64), np.array(compose, np.int64))


@piece
def everything(reduction):
    """All symmetries, as bits: the stabiliser of having done nothing."""
    return (1 << len(reduction.image)) - 1


@piece
def turn(reduction, stabiliser, a):
    """The symmetry in `stabiliser` that makes the least action of `a`."""
    best = 0
    if stabiliser > 1:
        for g in range(1, len(reduction.image)):
            if stabiliser >> g & 1 and reduction.image[g, a] < reduction.image[best, a]:
                best = g
    return best


@piece
def still(reduction, stabiliser, a):
    """The symmetries in `stabiliser` that do not change `a`."""
    if stabiliser == 1:
        return stabiliser
    kept = 1
    for g in range(1, len(reduction.image)):
        if stabiliser >> g & 1 and reduction.image[g, a] == a:
            kept |= 1 << g
    return kept


@piece
def size(stabiliser):
    """How many symmetries there are in it."""
    n = 0
    while stabiliser:
        n += stabiliser & 1
        stabiliser >>= 1
    return n


@kernel
def fill_orbits(reduction, recall, sets, stabiliser, orbit):
    """For each sequence of each player, the number of its images; `stabiliser` gets that of each node. `orbit` has shape (2, q)."""
    stabiliser[0] = everything(reduction)
    stabiliser[1] = everything(reduction)
    for n in range(2, recall.size[0]):
        before = stabiliser[recall.parent[n]]
        stabiliser[n] = still(reduction, before, recall.own[n] - 1) if recall.own[n] > 0 else before
    for j in range(sets.sizes[INFOSETS]):
        for k in range(sets.n_actions[j]):
            kept = still(reduction, stabiliser[sets.node[j]], sets.actions[sets.cell[j] + k])
            orbit[sets.player[j], sets.first[j] + k] = len(reduction.image) // size(kept)


class Images(NamedTuple):
    """All information sets of the whole game, as images of those that a reduced walk has met. `i` images, `c` cells."""

    key: NDArray[np.uint64]  # (i,)
    n_actions: NDArray[np.int64]  # (i,)
    action: NDArray[np.int32]  # (c,)
    cell: NDArray[np.int64]  # (c,) the cell of the set that it is an image of
    share: NDArray[np.float64]  # (c,) the part of that cell's probability that it gets

    def themselves(self, sets: Sets) -> NDArray[np.int64]:
        """Which of them are the met sets themselves, shape (j,): of each set's images the first."""
        owner = np.searchsorted(sets.cell, self.cell[np.cumsum(self.n_actions) - self.n_actions], side="right") - 1
        return np.searchsorted(owner, np.arange(len(sets.player)))


def new_images(images: int, cells: int) -> Images:
    return Images(
        np.zeros(images, np.uint64), np.zeros(images, np.int64), np.zeros(cells, np.int32), np.zeros(cells, np.int64),
        np.zeros(cells),
    )  # fmt: skip


@kernel
def fill_keys(reduction, recall, keys):
    """The key of each image of each node, shape (g, n)."""
    for g in range(len(reduction.image)):
        keys[g, 0] = root_key(0)
        keys[g, 1] = root_key(1)
        for n in range(2, recall.size[0]):
            own = recall.own[n]
            if own > 0:
                own = reduction.image[g, own - 1] + 1
            keys[g, n] = extend_key(keys[g, recall.parent[n]], own, recall.public[n], recall.private[n])


@kernel
def fill_images(reduction, sets, stabiliser, keys, images):
    """Write the images of all sets; returns how many images and cells there are. With empty arrays it only counts."""
    count = 0
    cells = 0
    is_counting = len(images.key) == 0
    for j in range(sets.sizes[INFOSETS]):
        node = sets.node[j]
        for g in range(len(reduction.image)):
            is_new = True
            for earlier in range(g):
                is_new = is_new and keys[earlier, node] != keys[g, node]
            if not is_new:
                continue
            start = cells
            for a in range(reduction.image.shape[1]):  # the image has action g(a) if the set has a, or something like it
                kind = reduction.image[turn(reduction, stabiliser[node], a), a]
                for k in range(sets.n_actions[j]):
                    if sets.actions[sets.cell[j] + k] != kind:
                        continue
                    if not is_counting:
                        at = cells
                        while at > start and images.action[at - 1] > reduction.image[g, a]:
                            images.action[at] = images.action[at - 1]
                            images.cell[at] = images.cell[at - 1]
                            images.share[at] = images.share[at - 1]
                            at -= 1
                        images.action[at] = reduction.image[g, a]
                        images.cell[at] = sets.cell[j] + k
                        images.share[at] = size(still(reduction, stabiliser[node], kind)) / size(stabiliser[node])
                    cells += 1
            if not is_counting:
                images.key[count] = keys[g, node]
                images.n_actions[count] = cells - start
            count += 1
    return count, cells


def images_of(reduced: Reduction, recall: Recall, sets: Sets) -> Images:
    """The images of all information sets."""
    stabiliser = np.zeros(len(recall.parent), np.int64)
    fill_orbits(reduced, recall, sets, stabiliser, np.zeros((2, int(sets.sizes[SEQUENCES:].max())), np.int64))
    keys = np.zeros((len(reduced.image), len(recall.parent)), np.uint64)
    fill_keys(reduced, recall, keys)
    images = new_images(*fill_images(reduced, sets, stabiliser, keys, new_images(0, 0)))
    fill_images(reduced, sets, stabiliser, keys, images)
    return images


class Turned(NamedTuple):
    """How a player has turned the board so far: as a walk does, so that what it has done is the first of its images."""

    reduced: Reduction
    stabiliser: int
    orientation: int = 0

    def after(self, action: int) -> tuple[int, Turned]:
        """An action of its own as the player sees it, and how the board is turned then."""
        reduced, own = self.reduced, int(self.reduced.image[self.orientation, action])
        g = as_python(turn)(reduced, self.stabiliser, own)
        own = int(reduced.image[g, own])
        return own, Turned(reduced, as_python(still)(reduced, self.stabiliser, own), int(reduced.compose[g, self.orientation]))

    def alike(self, action: int) -> list[int]:
        """The actions that are one to the player, as it sees them: `action`, turned in all ways that change nothing so far."""
        own = self.reduced.image[self.orientation, action]
        return [int(image[own]) for g, image in enumerate(self.reduced.image) if self.stabiliser >> g & 1]


@lru_cache(maxsize=16)
def upright(game: Game) -> Turned:
    """The board of a game that has just begun."""
    reduced = reduction(game, symmetric=True)
    return Turned(reduced, as_python(everything)(reduced))


def orbits_of(reduced: Reduction, recall: Recall, sets: Sets) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How many images each sequence of each player has, shapes (q0,) and (q1,)."""
    orbit = np.ones((2, int(sets.sizes[SEQUENCES:].max())), np.int64)
    fill_orbits(reduced, recall, sets, np.zeros(len(recall.parent), np.int64), orbit)
    return orbit[0, : sets.sizes[SEQUENCES]].astype(float), orbit[1, : sets.sizes[SEQUENCES + 1]].astype(float)
