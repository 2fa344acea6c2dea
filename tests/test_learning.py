"""Learning from planning: the reservoir, training, self-play, a job that is killed and goes on; wrong input."""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import run_cli
from scipy.stats import chisquare

import unseen
from unseen import Encoding, Network, UnseenError
from unseen.learning import job
from unseen.learning.job import CHECKPOINT, LOG, NETWORK, learn
from unseen.learning.reservoir import Decisions, Reservoir, decisions
from unseen.learning.self_play import Assignment, Found, SelfPlay
from unseen.learning.settings import settings_for
from unseen.learning.training import Trainer, divergence, square_error
from unseen.reproduce import exit_oos

SMALL = {"simulations": 30, "layers": "8", "games": 4, "steps": 5, "batch": 16}


def numbered(first, count, encoding):
    """Decisions that can be told apart."""
    target = np.full((count, encoding.game.num_actions), np.nan, np.float32)
    target[:, 0] = np.arange(first, first + count)
    hot = np.zeros((count, -(-encoding.layout.percepts // 8)), np.uint8)
    hot[:, 0] = np.arange(first, first + count) % 256
    return Decisions(hot, np.zeros((count, encoding.layout.own), np.float32), target)


# The reservoir --------------------------------------------------------------------------------------------------------------------


def test_the_reservoir_holds_what_its_formula_says():
    """By age, in bins that are as likely: after `a` more a decision is there with probability p exp(-a / (k r))."""
    encoding, capacity, ratio, total = Encoding("kuhn_poker"), 200, 2.0, 4000
    rng, ages = np.random.default_rng(1), []
    for _ in range(60):
        reservoir = Reservoir(encoding, capacity, ratio)
        for first in range(0, total, 100):
            reservoir.add(numbered(first, 100, encoding), rng)
        ages += (total - 1 - reservoir.held.target[:, 0]).tolist()
    assert reservoir.chance == pytest.approx(capacity * (1.0 - np.exp(-1.0 / (ratio * capacity))))
    edges = np.append(-ratio * capacity * np.log(1.0 - np.arange(10) / 10.0), np.inf)  # a tenth of the formula's mass each
    counts = np.histogram(ages, edges)[0]
    expected = np.diff(-np.exp(-np.append(edges[:-1], np.inf) / (ratio * capacity))) * len(ages)
    assert chisquare(counts, expected).pvalue > 1e-4
    young = np.mean(np.array(ages) < 100) * capacity  # of the last hundred so many are there
    assert young == pytest.approx(reservoir.chance * np.exp(-np.arange(100) / (ratio * capacity)).sum(), rel=0.05)


def test_a_reservoir_that_is_not_full_holds_all():
    encoding = Encoding("leduc_poker")
    reservoir, rng = Reservoir(encoding, 50, 2.0), np.random.default_rng(0)
    reservoir.add(numbered(0, 30, encoding), rng)
    reservoir.add(numbered(30, 15, encoding), rng)
    assert reservoir.size == 45
    assert reservoir.held.target[:45, 0].tolist() == list(range(45))
    inputs, targets = reservoir.draw(500, rng)
    assert inputs.shape == (500, encoding.length)
    assert set(targets[:, 0]) <= set(range(45))


def test_there_must_be_memory_for_the_reservoir(tmp_path):
    with pytest.raises(UnseenError, match=r"the reservoir would take .* GB, which is more than this machine's memory"):
        learn("leduc_poker", out=tmp_path / "f", reservoir=10**10)
    assert not (tmp_path / "f").exists()


# Training -------------------------------------------------------------------------------------------------------------------------


def test_the_loss_is_the_divergence_over_legal_actions():
    import torch

    logits = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]], requires_grad=True)
    targets = torch.tensor([[0.25, 0.75, float("nan")], [0.0, 0.5, 0.5]])
    rows = [([1.0, 2.0], [0.25, 0.75]), ([0.0, 5.0, 1.0], [0.0, 0.5, 0.5])]
    expected = 0.0
    for row, wanted in rows:
        chosen = np.exp(row) / np.exp(row).sum()
        expected += sum(t * np.log(t / c) for t, c in zip(wanted, chosen, strict=True) if t > 0.0) / 2.0
    loss = divergence(torch, logits, targets)
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    loss.backward()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] == 0.0  # an illegal action teaches nothing


def test_the_loss_of_values_is_over_legal_actions():
    import torch

    worths = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]], requires_grad=True)
    loss = square_error(torch, worths, torch.tensor([[1.5, 0.0, float("nan")], [0.0, 5.0, 0.0]]))
    assert loss.item() == pytest.approx((0.5**2 + 2.0**2 + 1.0) / 5.0)
    loss.backward()
    assert worths.grad[0, 2] == 0.0


def test_what_actions_are_worth_is_learnt_too():
    """Of a king that has met a king both bets win more than folding, which loses what was put in."""
    game = unseen.load("leduc_poker")
    settings = settings_for(game, expert="vr_oos", values=True, simulations=1000, prior=1.0)
    play, rng = SelfPlay(game, settings), np.random.default_rng(0)
    trainer, reservoir = Trainer(play.encoding, [32], 1e-2, 1, values=True), Reservoir(play.encoding, 3000, 2.0, values=True)
    for k in range(30):
        reservoir.add(play(Assignment((0, 0, k), trainer.layers())).decisions, rng)
    targets = reservoir.held.target[: reservoir.size]
    assert np.array_equal(np.isnan(targets[:, :3]), np.isnan(targets[:, 3:]))
    assert np.nansum(targets[:, :3], axis=1) == pytest.approx(1.0, abs=1e-5)
    trainer.train(reservoir, 500, 64, rng)
    found, state = trainer.network(), game.new_states(1)
    assert found.knows_values
    for who, history in enumerate(([4, 0, 1, 1, 5, 1, 2], [0, 4, 1, 1, 5, 2])):
        position = unseen.Position(game, history)
        position.state.write(state)
        worths = found.outputs(play.encoding.row(who, position.seen(who), state)[None])[0, 3:]
        assert (position.player, position.actions) == (who, [0, 1, 2])
        assert worths[0] < 0.0 < min(worths[1:])


def test_a_network_learns_what_it_is_shown():
    encoding = Encoding("leduc_poker")
    play, rng = SelfPlay(encoding.game, settings_for(encoding.game, simulations=200)), np.random.default_rng(0)
    trainer, reservoir = Trainer(encoding, [32], 1e-2, seed=1), Reservoir(encoding, 1000, 2.0)
    for k in range(20):
        reservoir.add(play(Assignment((0, 0, k), trainer.layers())).decisions, rng)
    first = trainer.train(reservoir, 1, 500, rng)
    trainer.train(reservoir, 200, 64, rng)
    assert trainer.train(reservoir, 1, 500, rng) < 0.3 * first


def test_examples_are_decisions_with_distributions():
    game = unseen.load("leduc_poker")
    play = SelfPlay(game, settings_for(game, simulations=50))
    found = play(Assignment((3, 0, 1), Trainer(play.encoding, [4], 1e-3, 0).layers()))
    assert np.nansum(found.decisions.target, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert found.simulations == 50 * len(found.decisions.target)
    again = SelfPlay(game, settings_for(game, simulations=50))(Assignment((3, 0, 1), Trainer(play.encoding, [4], 1e-3, 0).layers()))
    for one, other in zip(found.decisions, again.decisions, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_mirror_images_are_examples_too():
    """All eight ways to turn a board of Phantom Tic-Tac-Toe, each with what its own position looks like."""
    game = unseen.load("phantom_ttt")
    play, history = SelfPlay(game, settings_for(game)), [0, 0, 4]
    found = {0: Found([0, 8], [0.75, 0.25], []), 2: Found([4], [1.0], [])}
    examples = play.examples(history, found)
    assert examples.target.shape == (16, 9)
    for k, image in enumerate(game.symmetries()):
        assert examples.target[2 * k, image[0]] == 0.75
        assert examples.target[2 * k, image[8]] == 0.25
        position = unseen.Position(game, [image[0], image[0]])  # O tried the square of X's mark
        state = game.new_states(1)
        position.state.write(state)
        row = play.encoding.row(1, position.seen(1), state)
        expected = decisions(play.encoding, row[None], examples.target[:1])
        assert np.array_equal(examples.hot[2 * k + 1], expected.hot[0])
        assert np.array_equal(examples.own[2 * k + 1], expected.own[0])
    assert len(SelfPlay(game, settings_for(game, symmetric=False)).examples(history, found).target) == 2


def test_the_papers_settings():
    goofspiel, leduc = settings_for(unseen.load("ii_goofspiel(cards=13)")), settings_for(unseen.load("leduc_poker"))
    assert (goofspiel.hidden, goofspiel.steps) == ([128, 128, 64], 512)
    assert (leduc.hidden, leduc.steps) == ([128], 128)
    for each, game, targeting in ((goofspiel, "ii_goofspiel(cards=13)", "infoset"), (leduc, "leduc_poker", "public")):
        search = each.expert_for(unseen.load(game)).pattern
        assert (search.rule.epsilon, search.rule.delta, search.rule.gamma, search.rule.decay) == (0.4, 0.9, 0.01, 0.99)
        assert (search.rule.settings["weighting"], search.settings["targeting"]) == ("scaled", targeting)
        assert (each.simulations, each.games, each.rate, each.reservoir, each.keep) == (10_000, 32, 1e-3, 32_000, 2.0)


# Jobs -----------------------------------------------------------------------------------------------------------------------------


def parameters(folder):
    return Network.load(folder / NETWORK).layers


def same(one, other):
    return all(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True))


def log_of(folder):
    """The log without what depends on the machine."""
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in (folder / LOG).read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A job that nothing has disturbed, and its folder."""
    folder = tmp_path_factory.mktemp("learning") / "f"
    return learn(
        "leduc_poker", out=folder, iterations=6, workers=1, evaluate_every=3, evaluation_games=4, snapshot_every=3, **SMALL
    ), folder


def test_what_a_job_leaves(whole):
    result, folder = whole
    assert {path.name for path in folder.iterdir()} == {
        NETWORK, LOG, CHECKPOINT, "learning.png", "network-3.safetensors", "network-6.safetensors"
    }  # fmt: skip
    rows = log_of(folder)
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["exploitability"] is not None for row in rows] == [False, False, True, False, False, True]
    form = unseen.SequenceForm("leduc_poker")
    assert form.evaluate(unseen.network_strategy(Network.load(folder / NETWORK))).exploitability == pytest.approx(
        rows[-1]["exploitability"], abs=1e-9
    )
    assert rows[-1]["games"] == 24
    assert Network.load(folder / NETWORK).about["iterations"] == 6
    assert "exploitability of the network" in str(result.rows())
    assert json.dumps(result.as_dict())
    assert "6" in repr(result)


@pytest.mark.parametrize("asked", [True, False])
def test_exact_evaluations_can_be_asked_for_or_not(whole, asked, tmp_path):
    """Asked for, by a reduced form, which may be that of a large game: the same number."""
    found = learn(
        "leduc_poker",
        out=tmp_path / "f",
        iterations=3,
        workers=1,
        evaluate_every=3,
        evaluation_games=0,
        exploitability=asked,
        **SMALL,
    )
    expected = whole[0].iterations[2].exploitability
    assert found.iterations[-1].exploitability == (pytest.approx(expected, abs=1e-9) if asked else None)


def test_a_job_can_go_on_with_other_evaluations(tmp_path):
    """By matches first, then exactly: the picture has both, each where it is known."""
    more = {"out": tmp_path / "f", "workers": 1, "evaluate_every": 1, **SMALL}
    learn("leduc_poker", iterations=1, evaluation_games=2, exploitability=False, **more)
    found = learn("leduc_poker", iterations=2, evaluation_games=0, resume=True, **more)
    assert [(i.exploitability is None, i.against_random is None) for i in found.iterations] == [(True, False), (False, True)]
    assert len(found.figure().axes) == 3
    assert learn("leduc_poker", iterations=2, resume=True, **more).iterations == found.iterations


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_can_be_repeated_in_parts(whole, tmp_path, workers):
    """With other workers and an interruption, from the command line; what it is to go on with need not be said again."""
    options = ["--evaluate-every", "3", "--evaluation-games", "4", "--workers", str(workers)]
    first = [
        "--simulations", "30", "--layers", "8",
        *(word for name in ("games", "steps", "batch") for word in ("--set", f"{name}={SMALL[name]}")),
    ]  # fmt: skip
    for iterations, more in ((4, first), (6, ["--resume"])):
        done = run_cli(
            "learn", "leduc_poker", "--out", str(tmp_path / "f"), "--iterations", str(iterations), *options, *more, "--json"
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["iterations"] == 6
    assert same(parameters(tmp_path / "f"), parameters(whole[1]))
    mine, theirs = log_of(tmp_path / "f"), log_of(whole[1])
    assert [row["loss"] for row in mine] == [row["loss"] for row in theirs]


def begin(folder, *more):
    """A job in a process of its own."""
    command = [
        sys.executable, "-m", "unseen", "learn", "leduc_poker", "--out", str(folder), "--iterations", "40", "--simulations", "30",
        "--layers", "8", "--evaluate-every", "0", "--workers", "1",
        *(word for name in ("games", "steps", "batch") for word in ("--set", f"{name}={SMALL[name]}")), *more,
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_ten_kills(tmp_path):
    """Whenever it is killed, it goes on after the last whole iteration, and comes to the same network."""
    assert begin(tmp_path / "whole").wait() == 0
    rng, kills, seen = random.Random(0), 0, 0
    while True:
        process = begin(tmp_path / "f", "--resume")
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            if kills < 10 and (tmp_path / "f" / LOG).exists() and len(log_of(tmp_path / "f")) > seen:
                time.sleep(rng.uniform(0.0, 0.05))
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                process.wait()
            time.sleep(0.001)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        rows = log_of(tmp_path / "f")
        assert [row["iteration"] for row in rows] == list(range(1, len(rows) + 1))
        assert len(rows) >= seen
        seen = len(rows)
    assert kills >= 5
    assert same(parameters(tmp_path / "f"), parameters(tmp_path / "whole"))
    assert log_of(tmp_path / "f") == log_of(tmp_path / "whole")


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    """The work goes on, says so, and what was written before is still there."""
    real, full = job.checkpoint.write, []

    def write(*arguments):
        if full:
            raise UnseenError("cannot write checkpoint: No space left on device.")
        real(*arguments)

    monkeypatch.setattr(job.checkpoint, "write", write)
    result = learn(
        "kuhn_poker",
        out=tmp_path / "f",
        iterations=4,
        workers=1,
        evaluate_every=0,
        watch=lambda i: i.iteration == 2 and full.append(1),
        **SMALL,
    )
    assert "No space left" in result.trouble
    done = run_cli(
        "learn",
        "kuhn_poker",
        "--out",
        str(tmp_path / "f"),
        "--iterations",
        "5",
        "--resume",
        "--evaluate-every",
        "0",
    )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    full.clear()
    again = learn("kuhn_poker", out=tmp_path / "f", iterations=4, resume=True, workers=1, evaluate_every=0, **SMALL)
    assert again.trouble == ""
    assert same(result.network.layers, again.network.layers)


def test_nothing_is_left_where_nothing_could_be_written(tmp_path, monkeypatch):
    """A disk that is full at once leaves a folder that can be used when it is not any more."""

    def write(*arguments):
        raise UnseenError("cannot write checkpoint: No space left on device.")

    with monkeypatch.context() as patched:
        patched.setattr(job.checkpoint, "write", write)
        with pytest.raises(UnseenError, match="No space left"):
            learn("kuhn_poker", out=tmp_path / "f", iterations=1, workers=1, **SMALL)
    (tmp_path / "f" / ".unseen-abc.tmp").write_text("half of a file")  # as a kill leaves it
    os.utime(tmp_path / "f" / ".unseen-abc.tmp", (0.0, 0.0))  # long ago
    assert len(learn("kuhn_poker", out=tmp_path / "f", iterations=1, workers=1, evaluate_every=0, **SMALL).iterations) == 1
    assert {path.name for path in (tmp_path / "f").iterdir()} == {NETWORK, LOG, CHECKPOINT}


def test_copies_that_could_not_be_written_are_written_later(tmp_path, monkeypatch, capsys):
    real, failed = Network.save, []

    def save(self, path):
        if path.name == "network-2.safetensors" and not failed:
            failed.append(path)
            raise UnseenError("cannot write network-2: No space left on device.")
        real(self, path)

    monkeypatch.setattr(Network, "save", save)
    result = learn("kuhn_poker", out=tmp_path / "f", iterations=3, workers=1, evaluate_every=0, snapshot_every=2, **SMALL)
    assert failed
    assert result.trouble == ""
    assert "No space left on device. The work goes on." in capsys.readouterr().err
    assert Network.load(tmp_path / "f" / "network-2.safetensors").about["iterations"] == 2
    assert len(log_of(tmp_path / "f")) == 3


def test_ctrl_c_in_an_evaluation_ends_the_job(tmp_path, monkeypatch):
    """The iteration that was being evaluated is not kept: one that goes on does it again, whole."""
    real = job.match

    def match(*arguments, **options):
        found = real(*arguments, **options)
        found.stopped = True  # as if Ctrl-C had ended it
        return found

    with monkeypatch.context() as patched:
        patched.setattr(job, "match", match)
        result = learn("kuhn_poker", out=tmp_path / "f", iterations=4, workers=1, evaluate_every=2, evaluation_games=4, **SMALL)
    assert result.stopped
    assert len(result.iterations) == result.network.about["iterations"] == 1
    again = learn(
        "kuhn_poker", out=tmp_path / "f", iterations=4, resume=True, workers=1, evaluate_every=2, evaluation_games=4, **SMALL
    )
    whole = learn("kuhn_poker", out=tmp_path / "g", iterations=4, workers=1, evaluate_every=2, evaluation_games=4, **SMALL)
    assert same(again.network.layers, whole.network.layers)
    assert log_of(tmp_path / "f") == log_of(tmp_path / "g")


def test_ctrl_c_keeps_whole_iterations(tmp_path):
    def watch(iteration):
        if iteration.iteration == 2:
            raise KeyboardInterrupt

    result = learn("kuhn_poker", out=tmp_path / "f", iterations=9, workers=1, evaluate_every=0, watch=watch, **SMALL)
    assert result.stopped
    assert len(log_of(tmp_path / "f")) == len(result.iterations) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chess"], "game 'chess' is unknown"),
        (["kuhn_poker", "--layers", "a-b"], "layers is 'a-b', but must be sizes from 1 to 4096"),
        (["kuhn_poker", "--set", "speed=3"], "--set is 'speed=3', but must be NAME=VALUE; the names are: simulations"),
        (["kuhn_poker", "--set", "evenly=2"], "parameter evenly is 2.0, but must be a number from 0 to 1"),
        (["kuhn_poker", "--set", "encoding=own"], "encoding is 'own', but kuhn_poker(cards=3) has no encode() of its own"),
        (["kuhn_poker", "--set", "expert=oos(targeting=up)"], "targeting is 'up', but must be one of none, infoset, public"),
        (["kuhn_poker", "--set", "games=--5"], "parameter games is '--5', but must be a whole number, at least 1"),
        (["kuhn_poker", "--layers", "²"], "layers is '²', but must be sizes from 1 to 4096"),
        (["kuhn_poker", "--set", "rate=inf"], "parameter rate is inf, but must be a number above 0 and up to 1"),
        (["kuhn_poker", "--set", "expert=ismcts(keep=false)"], "but its keep is not used in self-play; leave it out"),
        (["kuhn_poker", "--set", "expert=random"], "expert is 'random', but must be oos, vr_oos or ismcts, without a budget"),
        (["kuhn_poker", "--set", "expert=ismcts", "--set", "prior=1"], "prior is 1, but 'ismcts' has no regrets that could begin"),
        (["kuhn_poker", "--exploitability", "--evaluate-every", "0"], "with evaluate_every 0 the network is never evaluated"),
        (["kuhn_poker", "--set", "values=true"], "but without baselines it does not say what actions are worth"),
        (["kuhn_poker", "--set", "expert=oos(simulations=5)"], "without a budget of its own"),
    ],
)
def test_bad_input(arguments, words, tmp_path):
    done = run_cli("learn", *arguments, "--out", str(tmp_path / "f"), "--iterations", "1")
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "f").exists()


def test_folders_of_others(whole, tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "letter").write_text("dear")
    for folder, more, words in (
        (tmp_path / "f", [], "holds other files"),
        (whole[1], [], "holds what was learnt before; --resume goes on"),
        (whole[1], ["--resume", "--seed", "7"], "it is of seed 0, not 7"),
        (whole[1], ["--resume", "--set", "rate=0.5"], "rate is 0.5, but was 0.001 when"),
    ):
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        done = run_cli("learn", "leduc_poker", "--out", str(folder), "--iterations", "9", *more)
        assert done.returncode == 2
        assert words in done.stderr
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    (tmp_path / "f" / "letter").unlink()
    (tmp_path / "f" / CHECKPOINT).write_bytes((whole[1] / CHECKPOINT).read_bytes()[:-7])
    done = run_cli("learn", "leduc_poker", "--out", str(tmp_path / "f"), "--iterations", "9", "--resume")
    assert done.returncode == 2
    assert "cut off or damaged" in done.stderr


def test_absurd_checkpoints_are_refused_and_run_no_code(whole, tmp_path):
    """With a right checksum: an expert that is a file would be imported, and the rest would train on what was never learnt."""
    (tmp_path / "evil.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n")
    (tmp_path / "f").mkdir()
    magic, line, content = (whole[1] / CHECKPOINT).read_bytes().split(b"\n", 2)
    good = json.loads(line)
    rows, random, learning = good["iterations"], good["random"], good["learning"]
    for change, words in (
        ({"learning": learning | {"expert": f"{tmp_path}/evil.py:Evil"}}, "an expert that is not of the library, .*: say it again"),
        ({"learning": learning | {"layers": "8-x"}}, "layers is '8-x'"),
        ({"iterations": rows[1:]}, "does not say how far learning had come"),
        ({"iterations": [*rows[:-1], rows[-1] | {"loss": "x"}]}, "does not say how far learning had come"),
        ({"iterations": [*rows[:-1], rows[-1] | {"against_random": [1]}]}, "does not say how far learning had come"),
        ({"iterations": rows[:-1]}, "is not that of 25 steps"),
        ({"seconds": -1.0}, "does not say how far learning had come"),
        ({"random": random | {"state": {"state": -1, "inc": 2**400}}}, "does not hold the state of random numbers"),
        ({"random": random | {"bit_generator": "MT19937"}}, "does not hold the state of random numbers"),
        ({"arrays": good["arrays"][1:]}, "does not list the arrays"),
    ):
        body = magic + b"\n" + json.dumps(good | change).encode() + b"\n" + content[:-32]
        (tmp_path / "f" / CHECKPOINT).write_bytes(body + hashlib.sha256(body).digest())
        with pytest.raises(UnseenError, match=words):
            learn("leduc_poker", out=tmp_path / "f", iterations=9, resume=True, workers=1, progress=False)
    assert not (tmp_path / "ran").exists()


def test_without_pytorch(tmp_path, monkeypatch):
    real = builtins.__import__

    def none(name, *args, **kwargs):
        if name == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", none)
    done = run_cli("learn", "kuhn_poker", "--out", str(tmp_path / "f"), "--iterations", "1")
    assert done.returncode == 2
    assert 'learning needs PyTorch, which is not installed: in a checkout of Unseen, pip install -e ".[learn]"' in done.stderr
    assert not (tmp_path / "f").exists()


def test_only_one_module_knows_pytorch():
    source = Path(unseen.__file__).parent
    knowing = [path for path in source.rglob("*.py") if "import torch" in path.read_text()]
    assert [path.relative_to(source).as_posix() for path in knowing] == ["learning/training.py"]


def test_the_paper_is_reproduced(tmp_path, monkeypatch):
    """Very small runs: the page has its figure, tables and claims, and nothing is done twice."""
    more = {**SMALL, "steps": 2}
    curves = tuple(
        exit_oos.Run(f"{n} simulations", "leduc_poker", (2, 4), {}, more | {"simulations": n}, 2, is_curve=True) for n in (5, 20)
    )
    kuhn = exit_oos.Run("Kuhn", "kuhn_poker", (2, 4), {4: (61, 40)}, more, 2, is_rated=True)
    dice = exit_oos.Run("Dice", "kuhn_poker", (2,), {2: (65, 53)}, more, 2)
    monkeypatch.setattr(exit_oos, "FULL", exit_oos.Scale((*curves, kuhn, dice), games=10, rated_games=4))
    said, again = [], []
    claims = exit_oos.reproduce(tmp_path, say=said.append, workers=1)
    assert len(claims) == 5
    page = (tmp_path / "page.md").read_text()
    for words in (
        "| 20 simulations | 4 |",
        "| Kuhn | 4 |",
        "| 61 |",
        "network, 2 iterations | 1500 (fixed)",
        "figure1.png",
        "## Claims",
        "to the power of 3: against random",
    ):
        assert words in page
    assert exit_oos.reproduce(tmp_path, say=again.append, workers=1) == claims
    assert len(said) == 7 + 12 + 2
    assert not again
