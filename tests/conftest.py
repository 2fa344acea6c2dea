import sys
from pathlib import Path

import pytest

from unseen import Game

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def untried(monkeypatch):
    """Let faulty games reach compiled code, without the trial games in plain Python that would stop them."""
    monkeypatch.setattr(Game, "trial", None)
