"""Regret minimisers: what an information set does with its regrets, and how much each iteration counts in the average.

One recipe covers the family. In iteration t, with r the regrets of that iteration at one set:

- regrets grow: R <- d R + r, where d discounts the old ones: s^alpha / (s^alpha + 1) if they are positive, else
  s^beta / (s^beta + 1), with s = t - 1 (Brown and Sandholm 2019);
- with `floor`, negative sums become 0 (regret matching+, Tammelin 2014);
- the next behaviour is in proportion to the positive part of R + `prediction` * r (Farina, Kroer and Sandholm 2021), and even if
  that is nowhere positive;
- the plan of iteration t counts t^gamma in the average.
"""

from __future__ import annotations

from math import inf

from unseen.compiling import Compiled
from unseen.options import Declared, Value, parameter

LARGEST = 20.0
"""Powers of iteration numbers beyond this would leave the range of numbers."""


class Minimiser(Declared, Compiled):
    """A member of the family, given by the numbers of the recipe. The defaults are those of its plainest member."""

    alpha: float = parameter(
        inf, minimum=-LARGEST, help="positive regrets of before are multiplied with s^alpha / (s^alpha + 1), s = t - 1"
    )
    beta: float = parameter(inf, minimum=-LARGEST, help="the same for negative ones")
    gamma: float = parameter(0.0, minimum=-LARGEST, maximum=LARGEST, help="iteration t counts t^gamma in the average")
    prediction: float = parameter(
        0.0, minimum=-LARGEST, maximum=LARGEST,
        help="how many times the last regrets are added to the sum that the next behaviour is made from",
    )  # fmt: skip
    floor: bool = parameter(False, help="whether negative sums of regrets become 0")
    alternating: bool = parameter(
        True, help="whether the second player answers to the first one's new plan, or both to the old ones"
    )

    def discount(self, t: int, exponent: float) -> float:
        """What regrets from before iteration `t` are multiplied with."""
        if exponent == inf:
            return 1.0
        power = float(t - 1) ** exponent
        return power / (power + 1.0) if power < inf else 1.0

    def weight(self, t: int) -> float:
        """How much the plan of iteration `t` counts in the average."""
        return float(float(t) ** self.gamma)

    def add(self, regret: float, instant: float, positive: float, negative: float) -> float:
        """The new regret of an action: the old one, discounted, and that of this iteration."""
        total = regret * (positive if regret > 0.0 else negative) + instant
        return max(total, 0.0) if self.floor else total


MINIMISERS: dict[str, dict[str, Value]] = {
    "cfr": {},
    "cfr+": {"floor": True, "gamma": 1.0},
    "linear_cfr": {"alpha": 1.0, "beta": 1.0, "gamma": 1.0},
    "dcfr": {"alpha": 1.5, "beta": 0.0, "gamma": 2.0},
    "pcfr+": {"floor": True, "prediction": 1.0, "gamma": 2.0},
    "sapcfr+": {"floor": True, "prediction": 1.0 / 3.0, "gamma": 2.0},
}
"""The published members: Zinkevich et al. 2007; Tammelin 2014; Brown and Sandholm 2019 (two); Farina et al. 2021; Meng et al.
2026."""
