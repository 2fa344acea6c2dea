"""Networks: what they see, a forward pass in compiled code beside PyTorch's, files, whole strategies, playouts by them."""

from __future__ import annotations

import builtins
from itertools import pairwise

import faulty_games
import numpy as np
import pytest
from helpers import all_positions, run_cli
from test_reduced import Centre, Luck
from test_search import assert_expected, expected_updates, partial, targets, with_full_tree, with_playout

import unseen
from unseen import Encoding, Network, Position, SequenceForm, UnseenError, load, network_strategy
from unseen.arena.names import make_agent
from unseen.learning.training import ModulePolicy, Trainer
from unseen.networks.encoding import columns
from unseen.networks.network import compact, respond_all
from unseen.search.leaf import NetworkGuide, NetworkPlayout, OutsidePolicy, StrategyPlayout, UniformPlayout, leaf_of
from unseen.search.rules import OnlineOutcomeSampling
from unseen.search.searcher import Searcher

CASES = [
    ("kuhn_poker", "percepts"), ("leduc_poker", "percepts"), ("leduc_poker", "own"), ("leduc_poker", "both"),
    ("liars_dice(faces=3)", "both"), ("ii_goofspiel(cards=4)", "both"),
]  # fmt: skip


def a_network(spec, parts=None, hidden=(16, 8), seed=0, scale=1.5, outputs=None):
    """A network with random layers."""
    encoding, rng = Encoding(spec, parts), np.random.default_rng(seed)
    sizes = [encoding.length, *hidden, outputs or encoding.game.num_actions]
    layers = [(scale * rng.normal(size=(a, b)) / np.sqrt(a), 0.1 * rng.normal(size=b)) for a, b in pairwise(sizes)]
    return Network(encoding, layers)


def turns(game):
    """A position at each information set."""
    found = {}
    for position in all_positions(game):
        if position.player >= 0:
            found.setdefault((position.player, position.seen(position.player)), position)
    return list(found.values())


def arrays(game, positions):
    """Players, percepts, how many, and states of positions."""
    seen, states = np.zeros((len(positions), game.max_length, 3), np.int64), game.new_states(len(positions))
    for q, position in enumerate(positions):
        percepts = position.seen(position.player)
        seen[q, : len(percepts)] = np.array(percepts).reshape(-1, 3)
        position.state.write(states[q : q + 1])
    lengths = np.array([len(position.seen(position.player)) for position in positions])
    return np.array([position.player for position in positions]), seen, lengths, states


# What a network sees --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "parts"), [case for case in CASES if case[1] != "own"])
def test_nothing_that_was_seen_is_lost(spec, parts):
    game = load(spec)
    positions = turns(game)
    rows = Encoding(game, parts).rows(*arrays(game, positions))
    assert len({row.tobytes() for row in rows}) == len(positions)


def test_columns_of_percepts():
    """Kuhn poker, second player, a queen, after a pass: by hand."""
    encoding, position = Encoding("kuhn_poker"), Position("kuhn_poker", [0, 1, 0])
    layout = encoding.layout
    assert (layout.actions, layout.public, layout.private) == (2, 3, 4)  # two tokens and any other, three cards and any other
    row = encoding.row(1, position.seen(1))
    assert np.flatnonzero(row).tolist() == [0, 1 + 2 + 3 + 1, 1 + 9 + 2]  # the seat; the card; the pass
    assert encoding.length == 1 + 5 * 9


def test_many_tokens_have_bits_and_others_a_column_of_their_own():
    assert columns(0) == (0, False)
    assert columns(6) == (7, False)
    assert columns(100) == (8, True)
    encoding = Encoding("kuhn_poker")
    unknown, last = (encoding.row(0, [unseen.Percept(0, 0, token)]) for token in (99, 4))
    assert np.array_equal(unknown, last)
    assert np.flatnonzero(unknown).tolist() == [1 + 2 + 3 + 3]


def test_an_encoding_of_ones_own_is_checked():
    class Half(unseen.loading.registered("kuhn_poker")):
        encoding_size = 3

    with pytest.raises(UnseenError, match="encoding_size is 3, but encode\\(\\) is not written"):
        Half()
    with pytest.raises(UnseenError, match="has no encode"):
        Encoding("kuhn_poker", "own")
    with pytest.raises(UnseenError, match="encoding is 'all', but must be one of percepts, own, both"):
        Encoding("leduc_poker", "all")


class Peeking(unseen.loading.registered("leduc_poker")):
    """Tells a network the other's card."""

    name = "peeking"

    def encode(self, s, who, out):
        out[0] = s.card[1 - who]


class Moving(unseen.loading.registered("leduc_poker")):
    """Changes the state, and writes what is no number."""

    name = "moving"

    def encode(self, s, who, out):
        s.raises = 0
        out[0] = np.inf


def test_check_catches_an_encoding_that_looks_at_hidden_state():
    checks = {fault.check: fault for fault in unseen.testing.find_faults(Peeking(), histories=300, playouts=5, seconds=0).faults}
    assert set(checks) == {"infoset encoding"}
    assert checks["infoset encoding"].history  # it is named
    found = {fault.check for fault in unseen.testing.find_faults(Moving(), histories=300, playouts=5, seconds=0).faults}
    assert {"encode changes the state", "encode"} <= found


def test_trial_games_try_an_encoding():
    class PastTheEnd(faulty_games.Sound):
        encoding_size = 2

        def encode(self, s, who, out):
            out[s.moves] = 1.0

    class NoNumber(PastTheEnd):
        def encode(self, s, who, out):
            out[0] = np.nan

    with pytest.raises(UnseenError, match=r"encode raised IndexError .* at history \[\d, \d\]"):
        Encoding(PastTheEnd(), "percepts").row(0, [])
    with pytest.raises(UnseenError, match=r"encode writes \[nan, 0.0\], which must be finite, at history \[\] "):
        Encoding(NoNumber(), "percepts").row(0, [])


# The forward pass -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "parts"), CASES)
def test_compiled_forward_passes_are_those_of_numpy_and_pytorch(spec, parts):
    import torch

    network = a_network(spec, parts)
    game, positions = network.game, turns(network.game)
    players, seen, lengths, states = arrays(game, positions)
    found = np.zeros((len(positions), game.width))
    respond_all(
        game, network.encoding.layout, compact(network), players, seen, lengths, states, np.zeros(game.width, np.int64), found
    )  # fmt: skip
    rows, legal = network.encoding.rows(players, seen, lengths, states), np.zeros((len(positions), game.num_actions), np.bool_)
    for q, position in enumerate(positions):
        legal[q, position.actions] = True
    trainer = Trainer(network.encoding, (16, 8), 1e-3, seed=0)
    with torch.no_grad():
        for linear, (weights, bias) in zip(trainer.linear, network.layers, strict=True):
            linear.weight.copy_(torch.from_numpy(weights.T))
            linear.bias.copy_(torch.from_numpy(bias))
        logits = trainer.module(torch.from_numpy(rows)).numpy()
    assert np.allclose(network.outputs(rows), logits, atol=1e-5)
    by_numpy = network.probabilities(rows, legal)
    for q, position in enumerate(positions):
        assert found[q, : len(position.actions)] == pytest.approx(by_numpy[q, position.actions], abs=1e-5)
    assert all(
        np.array_equal(a, b)
        for one, other in zip(trainer.layers(), network.layers, strict=True)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize(("spec", "parts"), [("leduc_poker", "both"), ("ii_goofspiel(cards=4)", "percepts"), ("kuhn_poker", None)])
def test_the_whole_strategy_is_what_the_agent_plays(spec, parts, tmp_path):
    network = a_network(spec, parts)
    network.save(tmp_path / "n.safetensors")
    agent, strategy = make_agent(f"net(file={tmp_path}/n.safetensors)", network.game), network_strategy(network)
    for position in turns(network.game):
        if position.state is not None and network.game.settled(position.state):
            continue  # nothing matters any more, so nobody was asked
        agent.begin(network.game, position.player, 1)
        for percept in position.seen(position.player):
            agent.observe(percept)
        assert agent.choose(position.actions) == pytest.approx(strategy[position], abs=1e-5)
    assert unseen.extract(network.game, f"net(file={tmp_path}/n.safetensors)").strategy[position] == strategy[position]


class Boxes(Luck):
    """The same, with numbers of its own; where the first look finds it, the second changes nothing."""

    encoding_size = 3

    def encode(self, s, who, out):
        if who == 0:
            out[0] = s.worth
        elif s.last >= 0:
            out[1] = s.last
            out[2] = s.found

    def settled(self, s):
        return s.moves == 3 and s.found == 1


@pytest.mark.parametrize(("kind", "parts"), [(Centre, "percepts"), (Centre, "both"), (Boxes, "both"), (Boxes, "own")])
def test_a_strategy_respects_symmetries(kind, parts, tmp_path):
    """Asked about one information set of all that are images of each other, it is what the agent plays at each of them."""
    network = a_network(kind(), parts)
    network.save(tmp_path / "n.safetensors")
    agent, strategy = make_agent(f"net(file={tmp_path}/n.safetensors)", network.game), network_strategy(network)
    for position in turns(network.game)[:: 3 if kind is Centre else 1]:
        if network.game.settled(position.state):
            continue
        agent.begin(network.game, position.player, 1)
        for percept in position.seen(position.player):
            agent.observe(percept)
        assert agent.choose(position.actions) == pytest.approx(strategy[position], abs=1e-5)
    reduced = SequenceForm(network.game, reduced=True)
    whole = SequenceForm(network.game).evaluate(strategy)
    if kind is Centre:
        assert len(strategy) > 7 * sum(reduced.infosets)
        assert whole.missing == 0
    assert reduced.evaluate(strategy).exploitability == pytest.approx(whole.exploitability, abs=1e-9)


# Playouts -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "parts"), [("kuhn_poker", None), ("ii_goofspiel(cards=3)", "both")])
def test_playouts_of_a_network_are_exact_on_average(spec, parts):
    """By enumeration: the updates are those of a tabular strategy with the network's probabilities."""
    network = a_network(spec, parts)
    form, strategy = SequenceForm(spec), network_strategy(network)
    strategy = form.strategy(*form.behaviours(strategy)[:2])
    searcher = partial(with_full_tree(spec, OnlineOutcomeSampling(delta=0.5), "infoset", leaf=NetworkPlayout(network)), 4)
    together = with_playout(searcher, strategy)
    for position in targets(form.game, "infoset")[::5]:
        searcher.aim(position.player, position.seen(position.player))
        for player in (0, 1):
            assert_expected(expected_updates(searcher, player), searcher, form, together, player)


def test_remembered_answers_change_nothing():
    network, found = a_network("leduc_poker"), []
    for remembered in (1, 64, 1 << 14):
        searcher = Searcher(
            "leduc_poker", OnlineOutcomeSampling(), leaf=NetworkPlayout(network, remembered), targeting="none", seed=1
        )
        searcher.run(2000)
        found.append(searcher.learnt.table.floats[: searcher.learnt.table.size[1]].copy())
    assert np.array_equal(found[0], found[1], equal_nan=True)
    assert np.array_equal(found[0], found[2], equal_nan=True)


def first_move(leaf):
    """The mix of many short searches at a turn in Leduc poker: mean and standard error of its first probability."""
    searcher, position, found = Searcher("leduc_poker", OnlineOutcomeSampling(), leaf=leaf), Position("leduc_poker", [4, 1]), []
    for seed in range(300):
        each = searcher.fork(seed)
        each.aim(0, position.seen(0))
        each.run(40)
        found.append(each.behaviour(0, position.seen(0), 2)[0])
    return np.mean(found), np.std(found) / np.sqrt(len(found))


def assert_alike(*found):
    """Means within four standard errors of their differences."""
    for mean, error in found[1:]:
        assert abs(mean - found[0][0]) < 4.0 * np.hypot(error, found[0][1])


def test_a_network_that_is_even_gives_the_statistics_of_even_playouts():
    even = a_network("leduc_poker", scale=0.0)
    even = Network(even.encoding, [(w, 0.0 * b) for w, b in even.layers])
    policy = ModulePolicy(lambda x: x[:, :3] * 0.0, even.encoding)
    assert_alike(*(first_move(leaf) for leaf in (UniformPlayout(), NetworkPlayout(even), OutsidePolicy(policy, 1))))


def test_a_module_finds_what_the_compiled_network_does():
    network = a_network("leduc_poker", hidden=(16,), scale=6.0)
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(network.sizes[0], 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    with torch.no_grad():
        for linear, (weights, bias) in zip((module[0], module[2]), network.layers, strict=True):
            linear.weight.copy_(torch.from_numpy(weights.T))
            linear.bias.copy_(torch.from_numpy(bias))
    policy = ModulePolicy(module, network.encoding)
    positions = turns(network.game)[::50]
    strategy, (players, seen, lengths, states) = network_strategy(network), arrays(network.game, positions)
    actions = np.full((len(positions), 6), -1)
    for q, position in enumerate(positions):
        actions[q, : len(position.actions)] = position.actions
    keys = np.array([position.infoset for position in positions], np.uint64)
    counts = np.array([len(position.actions) for position in positions])
    asked = unseen.search.leaf.Questions(np.arange(len(positions)), players, keys, counts, actions, seen, lengths, states)
    for row, position in zip(policy(asked), positions, strict=True):
        assert dict(zip(position.actions, row, strict=False)) == pytest.approx(strategy[position], abs=1e-5)
    assert_alike(*(first_move(leaf) for leaf in (StrategyPlayout(strategy), NetworkPlayout(network), OutsidePolicy(policy, 1))))


# Files ----------------------------------------------------------------------------------------------------------------------------


def test_saving_and_loading_changes_nothing(tmp_path):
    network = a_network("leduc_poker")
    network.about["iterations"] = 7
    network.save(tmp_path / "n.safetensors")
    for again in (Network.load(tmp_path / "n.safetensors"), Network.load(tmp_path / "n.safetensors", "leduc_poker")):
        assert again.about == {"iterations": 7}
        assert again.encoding == network.encoding
        for one, other in zip(again.layers, network.layers, strict=True):
            assert np.array_equal(one[0], other[0])
            assert np.array_equal(one[1], other[1])


def test_damaged_and_foreign_files_are_refused(tmp_path):
    file = tmp_path / "n.safetensors"
    a_network("leduc_poker").save(file)
    good, rng = file.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        at = int(rng.integers(len(good)))
        file.write_bytes(good[:at] + bytes([good[at] ^ 1 << int(rng.integers(8))]) + good[at + 1 :])
        try:
            again = Network.load(file, "leduc_poker")  # a word about itself may have changed
        except UnseenError as error:
            assert str(error).startswith(f"network {file}: ")  # noqa: PT017
        else:
            assert all(np.array_equal(a[0], b[0]) for a, b in zip(again.layers, a_network("leduc_poker").layers, strict=True))
    for cut in (0, 5, 100, len(good) - 1):
        file.write_bytes(good[:cut])
        with pytest.raises(UnseenError, match="damaged"):
            Network.load(file, "leduc_poker")
    file.write_bytes(b"PK\x03\x04" + good)
    with pytest.raises(UnseenError, match="damaged"):
        Network.load(file)


@pytest.mark.parametrize(
    ("game", "words"),
    [
        ("kuhn_poker", "it is for leduc_poker"),
        ("leduc_poker(ranks=4)", "not for leduc_poker(ranks=4"),
        ("leduc_poker", "takes 199 numbers, but the encoding of leduc_poker"),
    ],
)
def test_networks_of_others(game, words, tmp_path):
    network = a_network("leduc_poker", "both")
    if game == "leduc_poker":
        unseen.networks.file.write(
            tmp_path / "n",
            network.game,
            network.encoding,
            [(network.layers[0][0][1:], network.layers[0][1]), *network.layers[1:]],
            {},
        )
    else:
        network.save(tmp_path / "n")
    done = run_cli("match", game, f"net(file={tmp_path}/n)", "random", "--games", "2")
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert done.stderr.count("\n") == 1


def test_other_rules_are_refused(tmp_path, monkeypatch):
    a_network("leduc_poker").save(tmp_path / "n")
    monkeypatch.setattr("unseen.run.headers.fingerprint", lambda game: "another")
    with pytest.raises(UnseenError, match="with other rules than today's"):
        Network.load(tmp_path / "n")


def test_a_file_cannot_make_us_run_code(tmp_path, monkeypatch):
    """A header is data: its game is looked up by name, and its parameters are never put into a text that names a file."""
    (tmp_path / "kuhn_poker(v=2.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    network = a_network("kuhn_poker")
    real = unseen.run.headers.header_of(network.game)
    for change, words in (
        ({"parameters": {"v": "2.py:Evil(b=1"}}, "the parameters of kuhn_poker are cards"),
        ({"game": "2.py:Evil"}, r"not a game of the library; pass the game: Network.load\(path, game\)"),
        ({"parameters": {"cards": "3, v=2.py:Evil(b=1"}}, "must be a whole number"),
        ({"fingerprint": None}, "with other rules than today's"),
    ):
        monkeypatch.setattr("unseen.networks.file.header_of", lambda game, change=change: real | change)
        network.save(tmp_path / "n")
        with pytest.raises(UnseenError, match=words):
            Network.load(tmp_path / "n")
    assert not (tmp_path / "ran").exists()


class Other(unseen.loading.registered("leduc_poker")):
    """The same game, which encodes otherwise."""

    name = "leduc_poker"

    def encode(self, s, who, out):
        out[0] = float(who)


def test_another_encode_is_noticed(tmp_path):
    a_network("leduc_poker").save(tmp_path / "n")
    with pytest.raises(UnseenError, match="with another encode"):
        Network.load(tmp_path / "n", Other())
    a_network("leduc_poker", "percepts").save(tmp_path / "n")
    assert Network.load(tmp_path / "n", Other()).game == Other()


def test_percepts_that_cannot_be_are_refused():
    encoding, percept = Encoding("kuhn_poker"), unseen.Percept
    for seen, words in (
        ([percept(0, 1, 1)] * 6, "has up to 5 percepts, not 6"),
        ([percept(3, 0, 0)], "has 1 \\+ an action, or 0"),
        ([percept(-1, 0, 0)], "has 1 \\+ an action, or 0"),
        ([percept(0, 0, -1)], "two tokens from 0 to"),
        ([percept(0, 2**40, 0)], "two tokens from 0 to"),
    ):
        with pytest.raises(UnseenError, match=words):
            encoding.row(0, seen)


def test_a_tournament_of_a_missing_network_leaves_nothing(tmp_path):
    for agent in (f"net(file={tmp_path}/missing)", f"oos(playout={tmp_path}/missing)"):
        done = run_cli("tournament", "kuhn_poker", "random", agent, "--out", str(tmp_path / "t"))
        assert done.returncode == 2
        assert "cannot be read" in done.stderr
        assert not (tmp_path / "t").exists()


def test_a_prior_needs_a_network():
    done = run_cli("match", "kuhn_poker", "oos(prior=3)", "random", "--games", "2")
    assert done.returncode == 2
    assert "without a playout network there is none" in done.stderr


def test_a_prior_is_what_new_sets_begin_with():
    """After a single simulation the first set plays its own regrets: what the network says, and what it has learnt since."""
    network = a_network("kuhn_poker")
    guided = Searcher("kuhn_poker", OnlineOutcomeSampling(gamma=0.0), leaf=NetworkGuide(network, 1e9), targeting="none", seed=3)
    guided.run(2000)  # so large that nothing which is learnt counts
    strategy = network_strategy(network)
    for position in turns(network.game):
        player, seen = position.player, position.seen(position.player)
        assert guided.behaviour(player, seen, 2) == pytest.approx(list(strategy[position].values()), abs=1e-3)


def test_what_actions_are_worth_is_what_baselines_begin_with():
    """Where baselines follow so slowly that nothing which is found counts, they are what the network says to each player."""
    network = a_network("kuhn_poker", outputs=4)
    assert network.knows_values
    rule = OnlineOutcomeSampling(baseline="infoset", step=1e-9)
    guided = Searcher("kuhn_poker", rule, leaf=leaf_of(network, 0.0, rule), targeting="none", seed=3)
    guided.run(2000)
    positions = turns(network.game)
    expected = network.outputs(network.encoding.rows(*arrays(network.game, positions)))[:, 2:]
    for position, worths in zip(positions, expected, strict=True):
        assert guided.worths(position.player, position.seen(position.player), 2) == pytest.approx(worths, abs=1e-5)


def test_sharpness_is_a_power(tmp_path):
    network = a_network("leduc_poker", outputs=6)
    plain, sharp = network_strategy(network), network_strategy(network.sharpened(2.5))
    for position in turns(network.game)[::7]:
        powers = np.array(list(plain[position].values())) ** 2.5
        assert list(sharp[position].values()) == pytest.approx(powers / powers.sum(), abs=1e-5)
    network.save(tmp_path / "n")
    agent = make_agent(f"net(file={tmp_path}/n, sharpness=2.5)", network.game)
    rows = np.zeros((1, network.sizes[0]), np.float32)
    assert np.array_equal(agent.network.outputs(rows), network.sharpened(2.5).outputs(rows))
    assert np.array_equal(agent.network.outputs(rows)[:, 3:], network.outputs(rows)[:, 3:])  # what actions are worth stays
    done = run_cli("match", "leduc_poker", f"net(file={tmp_path}/n, sharpness=0)", "random", "--games", "2")
    assert done.returncode == 2
    assert "sharpness is 0.0, but must be a number above 0" in done.stderr


def test_without_the_library_for_files(tmp_path, monkeypatch):
    a_network("kuhn_poker").save(tmp_path / "n")
    real = builtins.__import__

    def none(name, *args, **kwargs):
        if name.startswith("safetensors"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(UnseenError, match=r'pip install -e "\.\[learn\]"'):
        Network.load(tmp_path / "n")


def test_a_network_is_needed():
    done = run_cli("match", "kuhn_poker", "net", "random", "--games", "2")
    assert done.returncode == 2
    assert "say which network" in done.stderr
    done = run_cli("match", "kuhn_poker", "oos(playout=nowhere)", "random", "--games", "2")
    assert done.returncode == 2
    assert "network nowhere: it cannot be read" in done.stderr


def test_bad_layers():
    encoding = Encoding("kuhn_poker")
    for layers, words in (
        ([], "at least one layer"),
        ([(np.zeros((5, 2)), np.zeros(2))], "takes 5 numbers"),
        ([(np.zeros((encoding.length, 3)), np.zeros(3))], "gives 3 numbers"),
        ([(np.zeros((encoding.length, 3)), np.zeros(2))], "is not a matrix of weights, and as many numbers to add"),
        ([(np.zeros((encoding.length, 3)), np.zeros(3)), (np.zeros((4, 2)), np.zeros(2))], "do not fit together"),
        ([(np.full((encoding.length, 2), 1e30), np.zeros(2))], "so large that what it says may not be a number"),
        ([(np.full((encoding.length, 2), np.nan), np.zeros(2))], "not finite"),
    ):
        with pytest.raises(UnseenError, match=words):
            Network(encoding, layers)
