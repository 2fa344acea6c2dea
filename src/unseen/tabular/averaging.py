"""Lazy averaging: the average strategy of sampled play, exactly, though a simulation comes to few information sets.

The average weights each iteration's behaviour at a set by its player's own reach probability. A set's behaviour changes only when a
simulation comes there, and then its player's earlier sets are visited, too. So the weight that has gathered since the last visit is
known exactly: the growth, meanwhile, of the average of the choice that leads here. That needs no importance weights.
"""

from __future__ import annotations

from unseen.compiling import kernel, piece
from unseen.tabular.regret_matching import add_behaviour, positive_sum
from unseen.tabular.table import NOWHERE, SETS, first_block, kept, n_actions, next_block, set_field


@piece
def arrive(keeps, table, w, total, gamma, before, iterations, is_new):
    """Come to set `w` by a choice of its player whose average is at `before`, or NOWHERE; bring its average up to date.

    `iterations` is what all of them count so far, the weight of a player's first sets. What `keeps` must keep: for a set, the
    weight seen last and the choice before; for an action, regrets and averages.
    """
    weight = table.floats[before] if before != NOWHERE else iterations
    seen = set_field(w, keeps.weight_seen)
    if not is_new:
        n, growth = n_actions(table.halves, w), weight - table.floats[seen]
        regret, average = kept(table.floats, w, n, keeps.regrets), kept(table.floats, w, n, keeps.averages)
        add_behaviour(regret, total, gamma, average, growth)
    table.floats[seen] = weight
    table.ints[set_field(w, keeps.choice_before)] = before


@piece
def catch_up(keeps, table, w, gamma, iterations):
    """Bring the average of set `w` up to date, if those of its player's earlier sets are."""
    total = positive_sum(kept(table.floats, w, n_actions(table.halves, w), keeps.regrets))
    arrive(keeps, table, w, total, gamma, table.ints[set_field(w, keeps.choice_before)], iterations, False)


@kernel
def catch_up_all(keeps, table, gamma, iterations):
    """The same at all sets, each after those that its player passes on the way to it."""
    w = first_block(table.size)
    for _ in range(table.size[SETS]):
        catch_up(keeps, table, w, gamma, iterations)
        w = next_block(table.size, table.halves, w)
