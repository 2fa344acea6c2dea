"""An exact equilibrium by linear programming.

The sequence-form program of D. Koller, N. Megiddo and B. von Stengel (1996): choose player 0's plan x and the values p of
player 1's information sets to maximise p_0, subject to E x = e (x is a plan) and F'p <= A'x (no sequence of player 1 holds
player 0 below its value). The dual variables of the inequalities are player 1's plan. HiGHS solves it; what it returns is then
judged by the exact best responses to both plans, which bracket the value of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from unseen.errors import UnseenError
from unseen.exact.payoffs import StoredPayoffs
from unseen.exact.sequence_form import Evaluation, SequenceForm
from unseen.exact.treeplex import Floats, Treeplex
from unseen.exact.ways import stored_form
from unseen.game import Game
from unseen.show.results import Result, number
from unseen.tabular.strategy import Strategy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Equilibrium(Result):
    """The value of a game to player 0, and a profile that attains it."""

    value: float
    strategy: Strategy
    evaluation: Evaluation
    """Player 0 can be held to at most `best_response[0]` and can be sure of at least -`best_response[1]`."""

    @property
    def exploitability(self) -> float:
        """That of the profile (sum): the width of the bracket that best responses put around the value."""
        return self.evaluation.exploitability

    @property
    def title(self) -> str:
        return self.strategy.game.spec

    def as_dict(self) -> dict[str, Any]:
        return {
            "game": self.title, "value": self.value, "best_response": list(self.evaluation.best_response),
            "exploitability": self.exploitability, "form": self.evaluation.form,
        }  # fmt: skip

    def rows(self) -> dict[str, Any]:
        best = self.evaluation.best_response
        return {
            "value to the first player": number(self.value),
            "certified to lie in": f"[{number(-best[1])}, {number(best[0])}]",
            "exploitability of the profile (sum)": number(self.exploitability),
        }

    def figure(self) -> Figure:
        """The equilibrium as a Matplotlib figure."""
        return self.strategy.figure()


def solve_exactly(game: SequenceForm | Game | str) -> Equilibrium:
    """The value of `game` and an equilibrium, by one linear program. `game` may be its sequence form, if there is one already."""
    form = stored_form(game)
    if not isinstance(form.payoffs, StoredPayoffs):
        raise UnseenError(
            f"{form.game.spec}: the linear program needs all payoffs stored; build SequenceForm without streamed or reduced."
        )
    plan0, plan1 = _solve(form.payoffs.matrix, *form.players)
    strategy = form.strategy(form.players[0].behaviour(plan0), form.players[1].behaviour(plan1))
    evaluation = form.evaluate(strategy)
    return Equilibrium(evaluation.value, strategy, evaluation)


def constraints(tree: Treeplex) -> tuple[csr_array, Floats]:
    """The matrix and right side of `E x = e`: sequence 0 has weight 1, and each set passes on the weight that it gets."""
    sets = np.arange(tree.infosets)
    rows = np.concatenate([[0], 1 + sets, 1 + tree.infoset_of])
    columns = np.concatenate([[0], tree.parent, np.arange(1, tree.sequences)])
    entries = np.concatenate([[1.0], -np.ones(tree.infosets), np.ones(tree.sequences - 1)])
    right = np.zeros(tree.infosets + 1)
    right[0] = 1.0
    return coo_array((entries, (rows, columns)), shape=(tree.infosets + 1, tree.sequences)).tocsr(), right


def _solve(payoffs: csr_array, first: Treeplex, second: Treeplex) -> tuple[Floats, Floats]:
    """Both players' plans at an equilibrium."""
    e_matrix, e_right = constraints(first)
    f_matrix, f_right = constraints(second)
    n = first.sequences
    # Variables are (x, p). Maximise f'p subject to E x = e, F'p - A'x <= 0, x >= 0.
    scale = float(np.abs(payoffs.data).max(initial=0.0)) or 1.0  # HiGHS takes very small numbers for zeros
    objective = np.concatenate([np.zeros(n), -f_right])
    equal = hstack([e_matrix, csr_array((len(e_right), len(f_right)))]).tocsr()
    below = hstack([-payoffs.T / scale, f_matrix.T]).tocsr()
    bounds = np.column_stack([np.concatenate([np.zeros(n), np.full(len(f_right), -np.inf)]), np.full(n + len(f_right), np.inf)])
    answer = linprog(
        objective, A_ub=below, b_ub=np.zeros(second.sequences), A_eq=equal, b_eq=e_right, bounds=bounds,
        method="highs", options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if answer.x is None:
        raise UnseenError(f"the linear program was not solved: {answer.message}")
    return answer.x[:n], -answer.ineqlin.marginals
