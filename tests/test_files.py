"""What is written: nobody else's file is lost, what was killed leaves nothing behind, and locks harm and hold up nobody."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import run_cli

import unseen
from unseen import Strategy, UnseenError
from unseen.compiling import locks
from unseen.compiling.cache import ContentCacheFile
from unseen.run import files, progress
from unseen.run.files import check_output, check_outputs, sealed_kind, write_atomically
from unseen.show.figures import MARKS, PICTURE, new_figure, save_picture
from unseen.stacked import values

KUHN, GAME = "kuhn_poker", "goofspiel(cards=3)"
WRITERS = {
    "s": ("value", KUHN, "--out"), "v.values": ("value", GAME, "--out"), "p.png": ("value", KUHN, "--picture"),
    "q.svg": ("strategy", KUHN, "--picture"), "t": ("solve", KUHN, "--iterations", "9", "--out"),
    "log": ("solve", KUHN, "--iterations", "9", "--log"), "c": ("solve", KUHN, "--iterations", "9", "--checkpoint"),
    "games": ("match", KUHN, "random", "random", "--games", "2", "--out"), "e": ("extract", KUHN, "random", "--out"),
    "m": ("measure", KUHN, "random", "--out"), "k": ("measure", KUHN, "oos(simulations=10)", "--keep"),
    "convergence.pdf": ("plot", "a.log", "--out"),
}  # fmt: skip
"""A command for each output of a file, by the name of the file."""


@contextlib.contextmanager
def unharmed(*paths: Path):
    """What is in some files stays in them."""
    before = [path.read_bytes() for path in paths]
    yield
    assert [path.read_bytes() for path in paths] == before


def refused(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("unseen: cannot write")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize("name", WRITERS)
def test_a_command_replaces_what_it_has_written_and_no_other_file(tmp_path, name):
    command, path, other = WRITERS[name], tmp_path / name, tmp_path / "precious"
    if command[0] == "plot":
        run_cli("solve", KUHN, "--iterations", "9", "--log", str(tmp_path / "a.log"))
    for _ in range(2):
        done = run_cli(*command, str(path), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    made = path.read_bytes()
    path.write_text("something precious\n")
    with unharmed(path):
        refused(run_cli(*command, str(path), cwd=tmp_path), "there is a file of that name")
    other.write_bytes(made)
    path.unlink()
    path.symlink_to(other)
    with unharmed(other):
        for force in ((), ("--force",)):
            refused(run_cli(*command, str(path), *force, cwd=tmp_path), "symbolic link")
    assert path.is_symlink()
    path.unlink()
    path.write_text("something precious\n")
    done = run_cli(*command, str(path), "--force", cwd=tmp_path)
    if name in ("c", "k"):  # a checkpoint has no business where something else is
        refused(done, "name another.")
    else:
        assert done.returncode == 0, done.stderr
        assert b"precious" not in path.read_bytes()
    path.unlink()
    for make in (path.mkdir, lambda: os.mkfifo(path)):
        make()
        refused(run_cli(*command, str(path), "--force", cwd=tmp_path), "name a file in a folder that exists")
        path.rmdir() if path.is_dir() else path.unlink()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".unseen-")]


def test_files_of_another_kind_are_other_files(tmp_path):
    strategy, picture = tmp_path / "s.strategy", tmp_path / "s.png"
    Strategy.random(KUHN).save(strategy)
    save_picture(new_figure(1, 1), picture)
    with unharmed(strategy, picture):
        for command, path in (("value", picture), ("extract", picture), ("solve", picture)):
            more = {"extract": ("random",), "solve": ("--iterations", "9")}.get(command, ())
            refused(run_cli(command, KUHN, *more, "--out", str(path)), "which is not a strategy of Unseen")
        refused(run_cli("measure", KUHN, "random", "--keep", str(strategy)), "which is not a checkpoint of Unseen")
        refused(run_cli("value", GAME, "--method", "induction", "--out", str(strategy)), "not a table of values of Unseen")
        refused(run_cli("match", KUHN, "random", "random", "--out", str(strategy)), "not a log of `unseen match` of Unseen")
    done = run_cli("extract", KUHN, "random", "--out", str(tmp_path / "new"), "--keep", str(tmp_path / "new"))
    refused(done, "two outputs have that name")
    (tmp_path / "t.checkpoint").write_text("something precious")
    with unharmed(tmp_path / "t.checkpoint"):  # beside the output
        refused(run_cli("solve", KUHN, "--iterations", "9", "--out", str(tmp_path / "t")), "t.checkpoint")


def test_functions_keep_the_same_rule(tmp_path):
    path = tmp_path / "precious.png"
    path.write_text("something precious")
    uniform = Strategy.uniform(KUHN)
    writers = (
        lambda **more: uniform.save(path, **more), lambda **more: uniform.draw(path, **more),
        lambda **more: unseen.solve(KUHN, iterations=9, log=path, **more),
        lambda **more: unseen.match(KUHN, "random", "random", 2, out=path, workers=1, **more),
        lambda **more: unseen.match(KUHN, "random", "random", 2, out=str(path), workers=1, **more),
        lambda **more: unseen.backward_induction(GAME, save=path, **more),
    )  # fmt: skip
    for write in writers:
        path.write_text("something precious")
        with unharmed(path), pytest.raises(UnseenError, match="there is a file of that name"):
            write()
        write(force=True)
        assert b"precious" not in path.read_bytes()
        write()


@pytest.mark.parametrize("suffix", MARKS)
def test_pictures_are_known_again_and_those_of_others_are_not_ours(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    figure = new_figure(2, 2)
    figure.subplots().set_title("unseen, /Creator (unseen, <dc:title>")
    figure.savefig(path)
    assert not PICTURE.is_of(path)
    save_picture(figure, path, force=True)
    assert PICTURE.is_of(path)
    assert not PICTURE.is_of(tmp_path)
    assert not PICTURE.is_of(tmp_path / "none")


def test_names_that_cannot_be_files(tmp_path):
    kind = sealed_kind("a thing", b"thing 1\n")
    for name in ("", ".", "x" * 300, "no/such/folder", "a\0b", "/", "..", "\ud800"):
        with pytest.raises(UnseenError, match="cannot write"):
            check_output(tmp_path / name if name else "", kind, force=True)
    check_outputs([(None, kind), (tmp_path / "a", kind), (None, kind), (tmp_path / "b", kind)])
    with pytest.raises(UnseenError, match="two outputs"):
        check_outputs([(tmp_path / "a", kind), (tmp_path / "." / "a", kind)])


def test_a_folder_that_holds_other_things_is_not_littered(tmp_path):
    (tmp_path / "precious").write_text("something precious")
    before = sorted(tmp_path.iterdir())
    for command in (("tournament", KUHN, "random", "random", "--games", "2"), ("reproduce", "mccfr", "--quick")):
        done = run_cli(*command, "--out", str(tmp_path))
        assert (done.returncode, done.stderr.count("\n"), "holds other files" in done.stderr) == (2, 1, True)
        assert sorted(tmp_path.iterdir()) == before
    ours = tmp_path / "new" / "folder"
    for _ in range(2):
        files.make_folder(ours, "an experiment")
        (ours / "page.md").write_text("what was found")
    with pytest.raises(UnseenError, match="holds other files"):
        files.make_folder(ours, "another thing")
    old = tmp_path / "old"
    old.mkdir()
    (old / "page.md").write_text("# A page\n\n`unseen reproduce oos --seed 0` made this page.")
    from unseen.reproduce.page import make_folder

    make_folder(old)  # of an earlier version


# What was killed ----------------------------------------------------------------------------------------------------------------


def test_what_killed_writes_have_left_is_swept(tmp_path):
    source = """
import os, signal, sys
from pathlib import Path
from unseen.run.files import write_atomically
def chunks():
    yield b"half of it"
    os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), chunks())
"""
    subprocess.run([sys.executable, "-c", source, str(tmp_path / "a")], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".unseen-")
    others = [tmp_path / name for name in ("a.tmp", ".unseen", ".unseen-x", ".unseen-xyz.tmp", left.name.replace("-", "-0", 1))]
    for other in others:
        other.write_text("")
    (tmp_path / ".unseen-link.tmp").symlink_to(others[0])
    files._swept.clear()
    write_atomically(tmp_path / "b", [b"first"])
    assert left.exists()  # its process may be on another machine that calls itself by this one's name
    then = time.time() - files.GONE_SECONDS - 1
    for path in (left, *others):
        os.utime(path, (then, then))
    files._swept.clear()
    write_atomically(tmp_path / "b", [b"second"])
    assert not left.exists()
    assert all(other.exists() for other in others)
    then -= files.OLD_SECONDS
    for path in others:
        os.utime(path, (then, then))
    os.utime(tmp_path / ".unseen-link.tmp", (then, then), follow_symlinks=False)
    files._swept.clear()
    write_atomically(tmp_path / "b", [b"third"])
    assert [other.exists() for other in others] == [True, True, True, False, False]
    assert (tmp_path / ".unseen-link.tmp").is_symlink()
    assert (tmp_path / "b").read_bytes() == b"third"


def test_a_finished_solve_leaves_its_strategy_alone(tmp_path):
    out, kept = tmp_path / "s", tmp_path / "kept"
    args = ("solve", KUHN, "--iterations", "9", "--out", str(out))
    assert run_cli(*args).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert "there is no checkpoint" in run_cli(*args, "--resume").stderr
    for more in ((), ("--resume",)):
        done = run_cli(*args, "--checkpoint", str(kept), *more)
        assert "there is no checkpoint" not in done.stderr
    assert "nothing was left to do" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"s", "kept"}


def test_values_are_saved_every_minute_if_that_takes_little_of_the_time(tmp_path, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: clock.now))
    assert values.SAVE_EVERY <= 120.0
    saving, saves, spent = progress.Saving(values.SAVE_EVERY), [], 0.0
    while clock.now < 36_000.0:
        clock.now += 1.0
        if saving.is_due:
            saves.append(clock.now)
            with saving:
                clock.now += len(saves)  # it takes longer and longer
                spent += len(saves)
    assert saves[0] <= values.SAVE_EVERY + 1.0
    assert saves[1] - saves[0] <= values.SAVE_EVERY + 3.0
    assert spent < 0.06 * clock.now


# Locks --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A folder of caches for one test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "cache" / "unseen"


def test_a_lock_keeps_others_out_and_nobody_waits_for_ever(cache, capsys, monkeypatch):
    monkeypatch.setattr(locks, "QUIET_SECONDS", 0.1)
    with locks.hold("a thing", 1.0, "nobody"):
        assert cache.stat().st_mode & 0o777 == 0o700
        assert locks.hold("a thing", 0.3, "what another is doing") is None
        assert "waiting for what another is doing" in capsys.readouterr().err
        locks.hold("another thing", 0.0, "nobody").release(remove=True)
    assert locks.hold("a thing", 0.0, "nobody").descriptor is not None
    assert len(list((cache / "locks").iterdir())) == 1
    assert capsys.readouterr().err == ""


def test_a_lock_ends_with_its_process(tmp_path):
    def take(path, ready):
        lock = locks.hold(path, 0.0, "nobody")
        ready.set()
        time.sleep(60.0 if lock else 0.0)

    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=take, args=(tmp_path / "lock", ready))
    process.start()
    ready.wait(20.0)
    assert locks.hold(tmp_path / "lock", 0.0, "it") is None
    process.kill()
    process.join()
    assert locks.hold(tmp_path / "lock", 0.0, "it") is not None


def test_links_and_folders_of_others_are_not_used(cache, tmp_path, monkeypatch):
    precious = tmp_path / "precious"
    precious.write_text("something precious")
    lock = locks.hold("a thing", 0.0, "nobody")
    lock.release(remove=True)
    lock.path.symlink_to(precious)
    os.mkfifo(tmp_path / "fifo")
    with unharmed(precious):
        for place in ("a thing", tmp_path / "fifo", tmp_path / "no" / "folder", tmp_path):
            assert locks.hold(place, 0.0, "nobody").descriptor is None  # it keeps nobody out, and work goes on
    cache.chmod(0o777)
    assert locks.lock_folder() == cache / "locks"
    assert cache.stat().st_mode & 0o777 == 0o700
    lock.path.unlink()
    (cache / "locks").rmdir()
    (cache / "locks").symlink_to(tmp_path)
    assert locks.lock_folder() is None
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert locks.lock_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(precious))
    assert locks.lock_folder() is None
    assert locks.hold("a thing", 0.0, "nobody").descriptor is None


def test_a_lock_on_windows(tmp_path, monkeypatch):
    held = set()

    def locking(descriptor, mode, count):
        inode = os.fstat(descriptor).st_ino
        if inode in held:
            raise PermissionError
        held.add(inode)

    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    lock = locks.hold(tmp_path / "lock", 0.0, "it")
    assert lock.descriptor is not None
    assert locks.hold(tmp_path / "lock", 0.0, "it") is None
    monkeypatch.setattr(locks, "msvcrt", None)
    assert locks.hold(tmp_path / "lock", 0.0, "it").descriptor is None


def test_compiling_goes_on_though_another_process_never_ends(cache, monkeypatch):
    monkeypatch.setattr("unseen.compiling.cache.WAIT_SECONDS", 0.1)
    file = ContentCacheFile.__new__(ContentCacheFile)
    file._cache_path, file._function = "folder", len
    assert file._wait_for_turn("kernel")
    assert file._wait_for_turn("kernel")  # the first time it did not compile
    lock = ContentCacheFile.turns.pop("kernel")  # as if it were another process's
    assert not file._wait_for_turn("kernel")
    lock.release()
    assert file._wait_for_turn("kernel")
    ContentCacheFile.end_turn("kernel")
    assert not list((cache / "locks").iterdir())
