"""How large a game is, estimated by random games; and which sequence form fits it."""

from __future__ import annotations

import json
from math import isnan, prod

import pytest
from helpers import run_cli

import unseen
from unseen import Position, SequenceForm, Strategy, UnseenError
from unseen.exact import size, ways
from unseen.exact.ways import REDUCED, REDUCED_STREAMED, STORED, STREAMED, choose_way, form_for, stored_form
from unseen.solving import job


class Chosen:
    """Stands in for random numbers: makes given choices, each one of so many."""

    def __init__(self, choices):
        self.numbers = [(k + 0.5) / n for k, n in choices]

    def random(self):
        return self.numbers.pop(0)


def all_games(position):
    """The choices of every game, each as its place and the number of places."""
    if position.is_terminal:
        yield []
    n = len(position.actions)
    for k, action in enumerate(position.actions):
        for rest in all_games(position.child(action)):
            yield [(k, n), *rest]


@pytest.mark.parametrize("spec", ["kuhn_poker", "ii_goofspiel(cards=3)", "xi"])
def test_a_probe_is_right_on_average(spec):
    """Over all games that it can be, by their probabilities, it says exactly what a walk counts."""
    game, expected = unseen.load(spec), [0.0, 0.0, 0.0]
    for choices in all_games(Position(game)):
        found, length = size.probe(game, Chosen(choices))
        assert length == len(choices)
        for k, number in enumerate(found):
            expected[k] += number / prod(n for _, n in choices)
    walked, settled = unseen.enumerate_game(game), SequenceForm(game, streamed=True)
    assert expected == pytest.approx([walked.histories, walked.terminals, settled.histories], abs=1e-9)


def test_intervals_cover():
    """Of a hundred 95% intervals for the histories of Leduc poker most contain the number."""
    inside = 0
    for seed in range(100):
        _, low, high = unseen.estimate_size("leduc_poker", 500, seed).histories
        inside += low <= 9457 <= high
    assert inside >= 88


def test_a_sum_that_a_few_games_carry_has_no_interval():
    found = unseen.estimate_size("schnapsen", 2000)
    assert found.histories.mean > 1e18
    assert isnan(found.histories.low)
    assert "of the order of" in found.summary
    assert found.as_dict()["histories"]["ci"] == [None, None]
    json.dumps(found.as_dict(), allow_nan=False)
    assert "the same" in unseen.estimate_size("ii_goofspiel(cards=13)", 200).summary
    with pytest.raises(UnseenError, match="moves is 0"):
        unseen.estimate_size("kuhn_poker", 0)


def test_info_estimates_what_it_cannot_walk():
    done = run_cli("info", "schnapsen", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["estimated"] is True
    assert "--full" in run_cli("info", "schnapsen").stdout
    with pytest.raises(UnseenError, match="full=True does so anyway"):
        unseen.info("phantom_ttt")
    assert "estimated" not in json.loads(run_cli("info", "kuhn_poker", "--json").stdout)


@pytest.mark.parametrize(("spec", "options", "way"), [
    ("kuhn_poker", {}, STORED),
    ("leduc_poker", {}, STORED),
    ("leduc_poker", {"memory": 100_000}, STREAMED),
    ("phantom_ttt", {"memory": 10**10}, REDUCED),
    ("phantom_ttt", {"memory": 10**9}, REDUCED_STREAMED),
    ("phantom_ttt", {"memory": 10**10, "symmetric": False}, STREAMED),
    ("phantom_ttt", {"streamed": True}, STREAMED),
    ("phantom_ttt", {"streamed": False}, STORED),
    ("kuhn_poker", {"reduced": True}, REDUCED),
    ("ii_goofspiel(cards=7)", {"memory": 10**10, "symmetric": False}, REDUCED),
    ("princess_and_monster", {"memory": 10**10}, STORED),
    ("princess_and_monster", {"memory": 10**8}, STREAMED),
])  # fmt: skip
def test_the_form_that_fits(spec, options, way):
    assert choose_way(unseen.load(spec), **options) == way


@pytest.mark.parametrize("work", [
    lambda: unseen.exploitability("schnapsen", Strategy.uniform("schnapsen")),
    lambda: unseen.solve_exactly("schnapsen"),
    lambda: unseen.solve("schnapsen", iterations=1),
    lambda: unseen.measure("schnapsen", "random"),
    lambda: unseen.measure("schnapsen", "oos(simulations=1)"),
    lambda: unseen.extract("schnapsen", "oos(simulations=1)", seed=0),
    lambda: unseen.compare("schnapsen", ["random"]),
])  # fmt: skip
def test_what_is_hopeless_is_refused_at_once(work):
    with pytest.raises(UnseenError, match=r"schnapsen\(.*histories.*, too many"):
        work()


class Mirrored(unseen.Game):
    """Both choose one of two sides unseen; the first wins a point if they differ. The sides are alike."""

    state = unseen.load("kuhn_poker").state
    num_actions = 2
    max_length = 2

    def start(self, s):
        s.moves = 0
        s.bets = 0

    def player(self, s):
        return s.moves if s.moves < 2 else unseen.TERMINAL

    def actions(self, s, out):
        out[0] = 0
        out[1] = 1
        return 2

    def apply(self, s, a, tell):
        s.bets += a
        s.moves += 1

    def utility(self, s, who):
        u = 1.0 if s.bets == 1 else -1.0
        return u if who == 0 else -u

    def symmetries(self):
        return [[0, 1], [1, 0]]


def test_a_strategy_that_is_not_symmetric_gets_another_form(monkeypatch):
    """What a reduced form cannot hold is evaluated on one of the whole game, and all ways agree."""
    monkeypatch.setattr(ways, "LARGE", 1)  # so that no game is small
    game = Mirrored()
    left = Strategy.from_function(game, lambda position: {0: 1.0})
    assert form_for(game, [Strategy.uniform(game)]).way == "reduced"
    form = form_for(game, [left])
    assert form.way == "streamed"
    assert unseen.exploitability(game, left) == SequenceForm(game).evaluate(left).exploitability == 2.0
    with pytest.raises(UnseenError, match="does not respect"):
        unseen.exploitability(game, left, reduced=True)
    monkeypatch.setattr(job, "make_solver", lambda algorithm, game, form, seed: pytest.fail(form.way))
    for algorithm, way in (("cfr+", "reduced"), ("external_sampling", "streamed")):
        with pytest.raises(pytest.fail.Exception, match=f"^{way}$"):
            unseen.solve(game, algorithm, iterations=1)


def test_stored_forms_are_refused_without_room():
    assert stored_form("kuhn_poker").way == "stored"
    with pytest.raises(UnseenError, match="too many for the linear program"):
        stored_form("leduc_poker", memory=1000)


def test_certain_agents_are_measured_by_extraction():
    """A deterministic agent is asked each question once; the number is that of stitching."""
    for agent in ("ppp", "random"):
        found = unseen.measure("kuhn_poker", agent)
        assert (found.method, found.evaluation.form) == ("extraction", "stored")
        assert found.exploitability == pytest.approx(unseen.measure("kuhn_poker", agent, "stitching").exploitability, abs=1e-12)
    found = unseen.measure("kuhn_poker", "oos(simulations=5)")
    assert found.method == "stitching"
    with pytest.raises(UnseenError, match="draws random numbers"):
        unseen.measure("kuhn_poker", "oos(simulations=5)", "extraction")
    said = json.loads(run_cli("measure", "kuhn_poker", "ppp", "--json").stdout)
    assert (said["method"], said["form"]) == ("extraction", "stored")


def test_convergence_of_a_search_in_turns():
    """Its last point is what the root method measures, with as many simulations and the same seed."""
    curve = unseen.convergence("kuhn_poker", "oos", runs=1, simulations=300, every=100, seed=5, workers=1)
    whole = unseen.measure("kuhn_poker", "oos(simulations=300)", "root", seed=5, workers=1)
    assert curve.exploitability.shape == (1, 3)
    assert curve.exploitability[0, -1] == pytest.approx(whole.exploitability, abs=1e-12)
    for agent, words in (("rm", "method convergence of oos"), ("ppp", "does not search by simulations")):
        with pytest.raises(UnseenError, match=words):
            unseen.convergence("kuhn_poker", agent, runs=1, simulations=3, every=1)


@pytest.mark.parametrize("method", ["stitching", "aggregate"])
def test_searches_are_measured_on_a_form_without_settled_endings(monkeypatch, method):
    """What is left out changes nothing: each search has a seed of its own, and no choice there matters."""
    work = ("ii_goofspiel", "oos(simulations=20)", method)
    whole = unseen.measure(*work, games=20, workers=1)
    monkeypatch.setattr(ways, "LARGE", 1)
    part = unseen.measure(*work, games=20, workers=1)
    assert (whole.evaluation.form, part.evaluation.form) == ("stored", "reduced")
    assert part.searches < whole.searches or method == "aggregate"
    assert part.exploitability == pytest.approx(whole.exploitability, abs=1e-9)
