"""Every execution of a sampling kernel, each with its probability, so that what it does on average is known exactly."""

from __future__ import annotations

import copy
import inspect
import types

from unseen.compiling import compiled_methods


class Script:
    """Stands in for the random choices of a kernel, so that every execution can be run, with its probability."""

    def __init__(self):
        self.taken: list[tuple[int, int]] = []  # (place, number of places) of each choice
        self.at = 0
        self.likelihood = 1.0

    def choose(self, chances):
        places = [k for k, p in enumerate(chances) if p > 0.0]
        if self.at == len(self.taken):
            self.taken.append((0, len(places)))
        place = places[self.taken[self.at][0]]
        self.at += 1
        self.likelihood *= chances[place]
        return place

    def next(self):
        """Make ready for the next execution; False if there is none."""
        while self.taken and self.taken[-1][0] + 1 == self.taken[-1][1]:
            self.taken.pop()
        if not self.taken:
            return False
        place, places = self.taken.pop()
        self.taken.append((place + 1, places))
        self.at, self.likelihood = 0, 1.0
        return True

    def sample_chance(self, game, s, out, n, rng):
        return self.choose([game.chance(s, out[k], n) for k in range(n)])


def scripted(function, script):
    """A kernel as plain Python with its random choices made by a script."""
    source = inspect.unwrap(getattr(function, "py_func", function))
    scope = dict(source.__globals__)
    for name in source.__code__.co_names:
        value = scope.get(name)
        if hasattr(script, name):
            scope[name] = getattr(script, name)
        elif hasattr(value, "py_func") or hasattr(value, "dispatcher"):
            scope[name] = scripted(value, script)
    return types.FunctionType(source.__code__, scope, source.__name__)


def scripted_object(obj, script):
    """A copy of a compiled object whose methods are plain Python with their random choices made by a script."""
    other = copy.copy(obj)
    for name, method in compiled_methods(type(obj)).items():
        setattr(other, name, types.MethodType(scripted(method, script), other))
    return other


def plain_records(array):
    """An array of records as lists of plain objects, which are quicker to read and write than NumPy's."""
    rows = Rows(
        plain_records(row) if row.ndim else types.SimpleNamespace(**{name: row[name] for name in row.dtype.names}) for row in array
    )
    rows.shape = array.shape
    return rows


class Rows(list):
    """A list that has a shape."""


class CopiedStates(list):
    """Plain states in a list, copied on assignment as records are."""

    def __setitem__(self, at, state):
        super().__setitem__(at, state.copy())


def exact_regrets(form, strategy, player):
    """Counterfactual regrets by (key, action), from the sequence form."""
    behaviours = form.behaviours(strategy)[:2]
    tree, other = form.players[player], form.players[1 - player]
    value = form.payoffs.against(player, other.plan(behaviours[1 - player]))
    found = {}
    for j in range(tree.infosets - 1, -1, -1):
        cells = range(tree.first[j], tree.first[j] + tree.count[j])
        expected = sum(behaviours[player][q] * value[q] for q in cells)
        found |= {(int(tree.keys[j]), int(tree.actions[q])): value[q] - expected for q in cells}
        value[tree.parent[j]] += expected
    return found


def plans_by_cell(form, strategy, player):
    tree = form.players[player]
    plan = tree.plan(form.behaviours(strategy)[player])
    return {
        (int(tree.keys[j]), int(tree.actions[q])): plan[q]
        for j in range(tree.infosets)
        for q in range(tree.first[j], tree.first[j] + tree.count[j])
    }
