"""What the documents show runs, and pages that are made from code are up to date."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest
from helpers import ROOT

DOCUMENTS = ["README.md", "docs/writing-a-game.md", "docs/solving.md", "docs/searching.md"]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_python_in_documents_runs(name, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "story.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "story.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_in_documents_run(name, tmp_path):
    text = (ROOT / name).read_text()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in commands if line.removeprefix("$ ").startswith("unseen ")]
    assert commands
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    env = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
        assert done.returncode == 0, (command, done.stderr)


def test_pages_are_up_to_date():
    described = importlib.util.spec_from_file_location("make_pages", ROOT / "docs/make_pages.py")
    make_pages = importlib.util.module_from_spec(described)
    described.loader.exec_module(make_pages)
    for path, text in make_pages.pages().items():
        assert path.read_text() == text, f"{path} is out of date: run `make docs`"


def test_the_example_is_short():
    assert len((ROOT / "examples/smuggler.py").read_text().splitlines()) <= 80


def test_the_demo_runs(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "examples/demo.py"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("*.png"))
