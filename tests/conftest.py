import sys
from pathlib import Path

import pytest

from unseen import position, random_play
from unseen.belief import trellis
from unseen.enumeration import whole
from unseen.search import searcher
from unseen.solving import solvers

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def untried(monkeypatch):
    """Let faulty games reach compiled code, without the trial games in plain Python that would stop them."""
    for module in (trellis, whole, position, random_play, searcher, solvers):
        monkeypatch.setattr(module, "try_out", lambda game: None)
