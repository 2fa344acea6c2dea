"""Logs, pictures of convergence, trouble with the disk, and the reproduction of the MCCFR paper."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers import run_cli
from matplotlib.image import imread

import unseen
from unseen.reproduce import mccfr
from unseen.run import checkpoint
from unseen.run.logs import read_log
from unseen.show.convergence import labels
from unseen.solving.job import solve


def write_log(path, algorithm, seed=0):
    run_cli(
        "solve", "kuhn_poker", "--algorithm", algorithm, "--iterations", "200", "--seed", str(seed), "--log", str(path), "--json"
    )


def test_several_runs_on_one_picture(tmp_path):
    logs = [tmp_path / name for name in ("a", "b", "c")]
    for log, algorithm, seed in zip(logs, ("cfr", "external_sampling", "external_sampling"), (0, 0, 1), strict=True):
        write_log(log, algorithm, seed)
    picture = tmp_path / "p.png"
    done = run_cli("plot", *map(str, logs), "--out", str(picture), "--json")
    result = json.loads(done.stdout)
    assert [run["algorithm"] for run in result["runs"]] == ["cfr", "external_sampling", "external_sampling"]
    assert np.unique(imread(picture)[..., :3].reshape(-1, 3), axis=0).shape[0] > 50
    runs = [read_log(log) for log in logs]
    assert labels(runs) == ["cfr", "external_sampling, seed 0", "external_sampling, seed 1"]
    assert runs[0].against("nodes")[0] == [58 * 2 * p["iterations"] for p in runs[0].points]
    assert run_cli("plot", str(logs[0]), "--against", "nodes", "--out", str(picture)).returncode == 0


@pytest.mark.parametrize(("text", "words"), [
    ("", "it is empty"), ("hello", "line 1 is not an evaluation"), ('{"game": "kuhn_poker"}', "line 1 is not an evaluation"),
    (None, "cannot be read"),
])  # fmt: skip
def test_foreign_logs_are_refused(tmp_path, text, words):
    log = tmp_path / "log"
    if text is not None:
        log.write_text(text)
    done = run_cli("plot", str(log), "--out", str(tmp_path / "p.png"))
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "p.png").exists()
    assert run_cli("plot", str(log), "--out", "p.txt").returncode == 2


def test_a_resumed_job_keeps_its_log(tmp_path):
    out, log = str(tmp_path / "s"), tmp_path / "log"
    common = (
        "solve",
        "kuhn_poker",
        "--algorithm",
        "cfr",
        "--out",
        out,
        "--log",
        str(log),
        "--checkpoint",
        out + ".c",
        "--resume",
        "--json",
    )
    run_cli(*common, "--iterations", "50")
    before = log.read_text().splitlines()
    run_cli(*common, "--iterations", "400")
    after = log.read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) > len(before)


def test_solving_without_evaluation(tmp_path):
    """A game too large to enumerate can be sampled; what needs the whole game says so."""
    out = tmp_path / "s"
    spec = "liars_dice(dice1=2, dice2=2, rounds=true)"
    done = run_cli(
        "solve", spec, "--algorithm", "outcome_sampling", "--no-evaluate", "--iterations", "2000", "--out", str(out), "--json"
    )
    result = json.loads(done.stdout)
    assert result["iterations"] == 2000
    assert result["exploitability"] is None
    assert len(unseen.Strategy.load(out)) > 100
    wrong = run_cli("solve", "kuhn_poker", "--algorithm", "cfr", "--no-evaluate", "--until", "0.1")
    assert wrong.returncode == 2
    assert "without evaluation there is no exploitability" in wrong.stderr


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # writing more raises OSError, as a full disk does
sys.argv = ["unseen", "solve", "leduc_poker", "--algorithm", "cfr", "--iterations", "30", "--out", sys.argv[1]]
from unseen.cli import main
main()
"""


def test_no_space_on_the_disk(tmp_path):
    out = tmp_path / "s"
    unseen.Strategy.uniform("leduc_poker").save(out)
    before = out.read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert out.read_bytes() == before


def test_a_disk_that_fills_up_on_the_way_loses_nothing(tmp_path, monkeypatch):
    file = tmp_path / "c"
    written = []

    def write(path, *rest):
        if written:
            raise unseen.UnseenError(f"cannot write {path}: No space left on device.")
        written.append(path)
        original(path, *rest)

    original = checkpoint.write
    monkeypatch.setattr(checkpoint, "write", write)
    found = solve("kuhn_poker", "cfr", iterations=2000, save=file, save_every=0.01)
    assert found.last.iterations == 2000
    assert "No space left" in found.trouble
    monkeypatch.undo()
    again = solve("kuhn_poker", "cfr", iterations=2000, save=file, resume=True)  # from the checkpoint that was written
    np.testing.assert_array_equal(again.strategy.probability, found.strategy.probability)


def test_a_log_that_cannot_be_written_does_not_end_the_job(tmp_path):
    """The folder of the log goes away meanwhile."""
    source = f"""
import shutil, sys
from unseen.solving import job
original, folder = job._Job.evaluate, {str(tmp_path / "logs")!r}
def evaluate(self):
    shutil.rmtree(folder, ignore_errors=True)
    original(self)
job._Job.evaluate = evaluate
sys.argv = ["unseen", "solve", "kuhn_poker", "--iterations", "50", "--out", {str(tmp_path / "s")!r}, "--log", folder + "/log"]
from unseen.cli import main
main()
"""
    (tmp_path / "logs").mkdir()
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "cannot write" in done.stderr
    assert len(unseen.Strategy.load(tmp_path / "s")) == 12


@pytest.mark.parametrize(
    "arguments",
    [("--out", "."), ("--out", ".", "--resume"), ("--log", "no/such/folder/log"), ("--algorithm", "cfrr"), ("--seconds", "0")],
)
def test_wrong_arguments_are_refused_before_the_game_is_walked(tmp_path, arguments):
    done = run_cli("solve", "ii_goofspiel(cards=7)", "--iterations", "10", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "unexpected" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_paper_is_reproduced(tmp_path, monkeypatch):
    """The whole experiment, in games of a few histories; a second call finds all runs done."""
    tiny = ("kuhn_poker", "ii_goofspiel(cards=2)", "liars_dice(faces=2)", "goofspiel(cards=2)")
    rows = tuple(replace(row, quick=spec) for row, spec in zip(mccfr.GAMES, tiny, strict=True))
    monkeypatch.setattr(mccfr, "GAMES", rows)
    monkeypatch.setattr(mccfr, "SECONDS_TIMED", 0.01)
    arguments = ("reproduce", "mccfr", "--quick", "--nodes", "30000", "--out", str(tmp_path), "--json")
    result = json.loads(run_cli(*arguments).stdout)
    assert len(result["claims"]) == 7
    page = (tmp_path / "quick.md").read_text()
    for words in ("| OCP | 58 (22,400,000)", "| LTTT |", "figure1_quick.png", "did not hold", "unseen reproduce mccfr --quick"):
        assert words in page
    assert imread(tmp_path / "figure1_quick.png").shape[0] > 500
    again = run_cli(*arguments)
    assert json.loads(again.stdout) == result
    assert "walking" not in again.stderr
    assert "paper is 'chess', but must be mccfr, oos, oos_matches, smmcts, ppp, exit_oos" in run_cli("reproduce", "chess").stderr
