"""The one search loop: simulations begin at a root, go down the tree, end at a leaf, and are learnt from on the way back.

What differs between searches is plugged in: the *roots* (`root.py`), the *aim* (where the play is, `aim.py`), the *tree* (what a
node is, `tree.py`), the *rule* (what a node does, `rules.py`, `joint_rules.py`) and the *leaf* (how a simulation ends where the
tree does, `leaf.py`).
"""

from __future__ import annotations

from unseen.compiling import kernel, piece
from unseen.search.flights import IDLE, IN_THE_AIR, WAITING
from unseen.search.leaf import BROKEN, MUST_WAIT, play_out
from unseen.search.root import begin
from unseen.search.rules import LAZY, SCALED


@piece
def backward(rule, memory, flight, choices, then, is_alone):
    """Learn from a simulation, from its last choice to its first.

    Where others may have learnt since it came by, averages that are added up lazily are first brought up to date.
    """
    i = flight.number & 1
    if rule.averaging == LAZY and not is_alone:
        for d in range(flight.depth):
            rule.catch_up(memory, choices[d].node)
    value = rule.utility(flight.value, i) / flight.g
    for d in range(flight.depth - 1, -1, -1):
        value = rule.learn(memory, choices[d], then[d], i, value)
    if rule.weighting == SCALED and rule.delta > 0.0:  # its mean is at least 1, its estimate might not be
        totals = memory.totals[0]
        totals.ratio = max(1.0, totals.ratio + (1.0 - rule.decay) * (flight.ratio - totals.ratio))


@kernel
def run(game, tree, rule, leaf, aim, roots, may_grow, memory, known, flights, work, t, end):
    """Simulations `t` to `end` - 1, updating the players in turn, as far as they come without an answer from outside.

    Returns the next simulation: earlier than `end` if a node might find no room, or if all flights wait; BROKEN if a game went on
    past `max_length`, or offered no action.
    """
    totals, length, width, is_alone = memory.totals[0], flights.choices.shape[1], len(work.out), len(flights.flight) == 1
    for f in range(len(flights.flight)):
        flight = flights.flight[f]
        while flight.status != WAITING:
            if flight.status == IDLE:
                if t >= end or (may_grow and not tree.has_room(rule, memory.table, memory.baselines, length, width)):
                    break
                totals.now = float(t + 1) ** rule.power if rule.power != 0.0 else 1.0
                totals.weight += totals.now
                flight.number = t
                t += 1
                if not begin(game, rule, leaf, aim, roots, flights, f, work):
                    continue
                flight.own *= totals.ratio
                if not tree.descend(game, rule, leaf, known, aim, may_grow, memory, flights, f, work):
                    return BROKEN
                flight.status = IN_THE_AIR
            reached = play_out(game, leaf, known, flights, f, work)
            if reached == BROKEN:
                return BROKEN
            if reached == MUST_WAIT:
                flight.status = WAITING
            else:
                backward(rule, memory, flight, flights.choices[f], flights.then[f], is_alone)
                flight.status = IDLE
    return t
