import os
import sys
from pathlib import Path

import pytest

from unseen import Game
from unseen.run import checked

sys.path.insert(0, str(Path(__file__).parent))

_worker = os.environ.get("PYTEST_XDIST_WORKER")
if _worker and hasattr(os, "sched_setaffinity"):  # each has a core of its own, so that what it runs does not start more processes
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_worker.removeprefix("gw")) % len(_cores)]})


@pytest.fixture(autouse=True)
def checked_folder(tmp_path_factory, monkeypatch):
    """A folder of the tests' own: what passes a check here says nothing of a user's games."""
    monkeypatch.setattr(checked, "folder", lambda: tmp_path_factory.getbasetemp() / "checked")


@pytest.fixture
def untried(monkeypatch):
    """Let faulty games reach compiled code, without the trial games in plain Python that would stop them."""
    monkeypatch.setattr(Game, "trial", None)
