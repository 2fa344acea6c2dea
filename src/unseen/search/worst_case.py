"""What the recommendations of one search over joint moves are worth against the best answer to them.

The depth-limited exploitability of M. Lanctot, V. Lisý and M. Winands, "Monte Carlo tree search in simultaneous move games with
applications to Goofspiel" (2013), Section 4.3. A player follows what the search recommends for `d` moves, of chance or of both
players, its opponent knows that, and after them both play as well as can be:

    W_0(s) = V*(s)
    W_d(s) = the mean of W_(d-1) over what chance does, at a chance node
    W_d(s) = min over the opponent's actions of the mean, over the player's recommended mix, of W_(d-1), where both choose
    Ex_d(s) = V*(s) - W_d(s)

for player 0; for player 1 it is the maximum, and W_d(s) - V*(s). If `d` is at least the length of the game this is the whole
exploitability, and no exact values are needed. One walk through what is left of the game computes both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unseen.compiling import kernel, piece
from unseen.engine import next_key, scratch, state_key, step, whole_states
from unseen.errors import GameFault, UnseenError
from unseen.game import CHANCE, TERMINAL, Game
from unseen.position import Position
from unseen.search.flights import Records, records
from unseen.search.tree import joint_key
from unseen.stacked.table import Folding, Words, find_state, folding, new_table
from unseen.stacked.walk import arrive, first_words
from unseen.tabular.table import NOWHERE, Table, find, kept_of_both, n_actions, n_second

if TYPE_CHECKING:
    from unseen.stacked.values import Values

DONE, MISSING, BROKEN, PAUSED = range(4)
STANDS_A_CALL = 5_000_000
"""So that Ctrl-C is noticed in between."""
NEW = -1
EVERYTHING = 1 << 40
"""More moves than any game has."""

STAND = np.dtype([
    ("left", "i8"),  # moves after which both play as well as can be
    ("key0", "u8"),  # of what each player has seen
    ("key1", "u8"),
    ("player", "i8"),
    ("action", "i8"),  # that led here; the second player's, if both chose
    ("before", "i8"),  # the first player's
    ("rows", "i8"),  # actions of the first player, or outcomes of chance
    ("columns", "i8"),
    ("cell", "i8"),  # how many joint moves or outcomes are done, or NEW
    ("low", "f8"),  # the least that player 0 gets by following the search
    ("high", "f8"),  # the most that it gets if player 1 follows the search
])  # fmt: skip


class Stack(NamedTuple):
    """Where a walk stands: at most `d` moves deep, with `w` actions at a time."""

    stand: Records  # (d,) STAND
    states: NDArray[Any]  # (d,)
    words: Words  # (d, k) the same memory
    actions: NDArray[np.int64]  # (d, 2, w) of both players, or the first row of chance
    mixes: NDArray[np.float64]  # (d, 2, w) what the search recommends to each
    sums: NDArray[np.float64]  # (d, 2, w) for each action of a player, what it gets if the *other* follows the search
    spare: NDArray[Any]  # (1,) a state, reduced, to look up
    spare_words: Words  # (1, k)
    spare_keys: Words  # (1, p) its key among the values
    tell: NDArray[np.int64]  # (3,)


class Notes(NamedTuple):
    """Where the recommendations for a player's information sets are written: `j` sets, `q` sequences; both may be none."""

    keys: NDArray[np.uint64]  # (j,) ascending
    first: NDArray[np.int64]  # (j,) where each set's actions begin
    found: NDArray[np.float64]  # (q,)


def _no_notes() -> Notes:
    return Notes(np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0))


def new_stack(game: Game, fold: Folding | None) -> Stack:
    d, w = game.max_length + 2, game.width
    spare, words = whole_states(game, 1)
    return Stack(
        records(STAND, d), *whole_states(game, d), np.zeros((d, 2, w), np.int64), np.zeros((d, 2, w)), np.zeros((d, 2, w)),
        spare, words, words if fold is None else np.zeros((1, 1), np.uint64), scratch(game)[1],
    )  # fmt: skip


@piece
def find_node(rule, table, words, c, key0, key1):
    """The joint node of the state `c` of these words, where players have seen what the keys say; or NOWHERE."""
    return find(table, state_key(words, c) if rule.share else joint_key(key0, key1))


@piece
def advise(rule, table, w, first, second):
    """Write what both players should do at node `w` to `first`, (n,), and `second`, (m,)."""
    both, m = n_actions(table.halves, w), n_second(table.halves, w)
    kept = kept_of_both(table.floats, w, both - m, m, 0)
    played = kept_of_both(table.floats, w, both - m, m, rule.played)
    rule.advise(kept[0], played[0], first)
    rule.advise(kept[1], played[1], second)


@kernel
def advise_at(rule, table, words, key0, key1, first, second):
    """Overwrite even mixes with what a search recommends, if it knows the state."""
    w = find_node(rule, table, words, 0, key0, key1)
    if w != NOWHERE:
        advise(rule, table, w, first, second)


@piece
def open_stand(game, rule, table, stack, d, notes):
    """Begin with stand `d`, which is not the end: list its moves, and what the search recommends. Returns whether that works."""
    stand, s, width = stack.stand[d], stack.states[d], stack.actions.shape[2]
    stand.rows = game.actions(s, stack.actions[d, 0])
    stand.columns = 1
    stand.low = 0.0
    stand.high = 0.0
    if stand.rows < 1 or stand.rows > width:
        return False
    if stand.player == CHANCE:
        return True
    stack.spare[0] = s
    step(game, stack.spare[0], stack.actions[d, 0, 0], stack.tell)
    if stand.player != 0 or game.player(stack.spare[0]) != 1:
        return False
    stand.columns = game.actions(stack.spare[0], stack.actions[d, 1])
    if stand.columns < 1 or stand.columns > width:
        return False
    w = find_node(rule, table, stack.words, d, stand.key0, stand.key1)
    for who in range(2):
        n = stand.rows if who == 0 else stand.columns
        for k in range(n):
            stack.mixes[d, who, k] = 1.0 / n
            stack.sums[d, who, k] = 0.0
    if w != NOWHERE:
        advise(rule, table, w, stack.mixes[d, 0, : stand.rows], stack.mixes[d, 1, : stand.columns])
    note(notes[0], stand.key0, stack.mixes[d, 0], stand.rows)
    note(notes[1], stand.key1, stack.mixes[d, 1], stand.columns)
    return True


@piece
def note(notes, key, mix, n):
    """Write down the mix of a player's information set, if it is one of those to note."""
    low, high = 0, len(notes.keys)
    while low < high:
        middle = (low + high) // 2
        if notes.keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < len(notes.keys) and notes.keys[low] == key:
        for k in range(n):
            notes.found[notes.first[low] + k] = mix[k]


@piece
def move_on(game, stack, d):
    """Put the next stand where the present outcome or joint move leads. Returns False if the game is broken."""
    stand, then = stack.stand[d], stack.stand[d + 1]
    stack.states[d + 1] = stack.states[d]
    s, key0, key1 = stack.states[d + 1], stand.key0, stand.key1
    row, column, p = stand.cell // stand.columns, stand.cell % stand.columns, stand.player
    a = stack.actions[d, 0, row]
    then.before = a
    step(game, s, a, stack.tell)
    key0, key1 = next_key(key0, 0, p, a, stack.tell), next_key(key1, 1, p, a, stack.tell)
    if p == 0:
        if game.player(s) != 1:
            return False
        a = stack.actions[d, 1, column]
        step(game, s, a, stack.tell)
        key0, key1 = next_key(key0, 0, 1, a, stack.tell), next_key(key1, 1, 1, a, stack.tell)
    then.action = a
    then.key0 = key0
    then.key1 = key1
    then.left = stand.left - 1
    then.cell = NEW
    return True


@piece
def take_back(game, stack, d):
    """Add what the present outcome or joint move of stand `d` is worth, now that the next stand is done."""
    stand, then = stack.stand[d], stack.stand[d + 1]
    if stand.player == CHANCE:
        chance = game.chance(stack.states[d], stack.actions[d, 0, stand.cell], stand.rows)
        stand.low += chance * then.low
        stand.high += chance * then.high
    else:
        row, column = stand.cell // stand.columns, stand.cell % stand.columns
        stack.sums[d, 1, column] += stack.mixes[d, 0, row] * then.low
        stack.sums[d, 0, row] += stack.mixes[d, 1, column] * then.high
    stand.cell += 1


@piece
def close_stand(stack, d):
    """All moves of a stand are done: each player's opponent takes what is best against the mix."""
    stand = stack.stand[d]
    if stand.player == 0:
        stand.low, stand.high = np.inf, -np.inf
        for k in range(stand.columns):
            stand.low = min(stand.low, stack.sums[d, 1, k])
        for k in range(stand.rows):
            stand.high = max(stand.high, stack.sums[d, 0, k])


@piece
def is_optimal_from(stand):
    """Whether both play as well as can be from a stand on. Chance with one more move is: what follows is V*, whose mean is V*.

    So the states after chance need not be looked up, which are not in the table.
    """
    return stand.left == 0 or (stand.left == 1 and stand.player == CHANCE)


@kernel
def worst_case(game, rule, table, fold, values, notes, stack, d, budget):
    """Walk on from stand `d`, for so many stands. Returns DONE, PAUSED, MISSING if a state is not among the values, or BROKEN; and
    the stand."""
    while budget > 0:
        budget -= 1
        stand = stack.stand[d]
        if stand.cell == NEW:
            stand.player = game.player(stack.states[d])
            stand.cell = 0
            stand.rows = 0
            stand.columns = 1
            if stand.player == TERMINAL:
                stand.low = game.utility(stack.states[d], 0)
                stand.high = stand.low
            elif is_optimal_from(stand):
                stack.spare[0] = stack.states[d]
                decided, sign, is_open = arrive(game, stack.spare[0])
                if is_open:
                    bits = find_state(values, stack.spare_words, stack.spare_keys, fold)
                    if bits == 0:
                        return MISSING, d
                    decided += sign * np.uint64(bits).view(np.float64)
                stand.low = decided
                stand.high = decided
            elif d + 1 == len(stack.stand) or not open_stand(game, rule, table, stack, d, notes):
                return BROKEN, d
        if stand.cell < stand.rows * stand.columns:
            if not move_on(game, stack, d):
                return BROKEN, d
            d += 1
            continue
        if stand.rows > 0:
            close_stand(stack, d)
        if d == 0:
            return DONE, 0
        d -= 1
        take_back(game, stack, d)
    return PAUSED, d


def walk(
    game: Game, rule: Any, table: Table, history: Sequence[int], depth: int | None = None, values: Values | None = None,
    notes: tuple[Notes, Notes] | None = None,
) -> tuple[float, float]:  # fmt: skip
    """W_d for both players at a history, in payoffs to player 0, of the recommendations in a table; without a depth, to the end."""
    position = Position(game, history)
    if position.player == 1:
        raise UnseenError(f"{position}: a joint move is being made there; give the history before it.")
    if depth is not None and (values is None or depth < 0):
        raise UnseenError(f"depth is {depth}, but must be at least 0, and needs the exact values of the game.")
    if values is not None:
        values.check(game)
    if values is not None and depth is not None and depth <= position.is_chance:  # the mean of V* is V*
        value = values.at(position).value
        return value, value
    entered: list[int] = []
    while True:
        fold, slots = _no_values(game) if values is None else (values.fold, values.slots)
        stack = new_stack(game, fold)
        position.state.write(stack.states[:1])
        root = stack.stand[0]
        root.left, root.cell = EVERYTHING if depth is None else depth, NEW
        root.key0, root.key1 = (np.uint64(position.key(who)) for who in (0, 1))
        status, d = PAUSED, 0
        while status == PAUSED:
            status, d = worst_case(game, rule, table, fold, slots, notes or (_no_notes(), _no_notes()), stack, d, STANDS_A_CALL)
        if status == DONE:
            return float(root.low), float(root.high)
        missing = [*history, *_led_to(stack, d)]
        if status == BROKEN or values is None or missing == entered:
            raise GameFault(f"{game.spec}: a walk after the search broke the protocol; `unseen check` says where.")
        values.enter(missing)
        entered = missing


def _no_values(game: Game) -> tuple[Folding | None, Words]:
    """A table for walks to the end, which ask for no values."""
    first = first_words(game)
    fold = folding(first, np.zeros_like(first))
    return fold, new_table(1, 1 + (len(first) if fold is None else 1))


def _led_to(stack: Stack, d: int) -> list[int]:
    """The moves from the first stand to stand `d`."""
    moves: list[int] = []
    for here, then in zip(stack.stand[:d], stack.stand[1 : d + 1], strict=True):
        moves += [int(then.action)] if here.player == CHANCE else [int(then.before), int(then.action)]
    return moves
