"""What the documents show runs, and pages that are made from code are up to date."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
from fnmatch import fnmatch

import pytest
from helpers import ROOT, run_cli

DOCUMENTS = [
    "README.md",
    "docs/writing-a-game.md",
    "docs/solving.md",
    "docs/searching.md",
    "docs/simultaneous.md",
    "docs/perfect.md",
    "docs/learning.md",
]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_python_in_documents_runs(name, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "story.py").write_text("\n".join(blocks))
    runpy.run_path("story.py", run_name="__main__")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_in_documents_run(name, tmp_path):
    text = (ROOT / name).read_text()
    commands = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    commands = [line.removeprefix("$ ") for line in commands if line.removeprefix("$ ").startswith("unseen ")]
    assert commands
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands:
        done = run_cli(*shlex.split(command, comments=True)[1:], cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_the_agent_of_ones_own_plays(tmp_path):
    """What the page on tournaments shows of it, its error included."""
    _, _, rest = (ROOT / "docs/arena.md").read_text().partition("## Agents of your own")
    section = rest.partition("\n## ")[0]
    (tmp_path / "my_agents.py").write_text(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0])
    commands = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)[0].splitlines()
    assert len(commands) == 4
    for command in commands:
        done = run_cli(*shlex.split(command)[1:], cwd=tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    done = run_cli("match", "kuhn_poker", "my_agents.py:Shy(p=2)", "random", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == re.findall(r"```text\n(.*?)```", section, re.DOTALL)[0]


def test_what_documents_write_is_ignored():
    """Whoever tries their commands in a clone has nothing new to commit."""
    patterns = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if not line.startswith("#")]
    for path in (ROOT / "README.md", *ROOT.glob("docs/*.md")):
        for block in re.findall(r"```(?:sh|text|python)\n(.*?)```", path.read_text(), re.DOTALL):
            options = re.findall(r"(?:^unseen|^ ) .*?--(?:out|log|picture|keep) (\S+)", block, re.MULTILINE)
            for written in options + re.findall(r"\.(?:save|draw|savefig)\(\"([^\"]+)", block):
                assert any(fnmatch(written.split("/")[0], pattern) for pattern in patterns), f"{path.name}: {written}"


def test_nothing_is_said_to_be_on_an_index():
    """There is no release, so what is installed is a checkout."""
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("examples/*.py")):
        assert not re.search(r"pip install \W?unseen", path.read_text()), path


def test_pages_are_up_to_date():
    described = importlib.util.spec_from_file_location("make_pages", ROOT / "docs/make_pages.py")
    make_pages = importlib.util.module_from_spec(described)
    described.loader.exec_module(make_pages)
    for path, text in make_pages.pages().items():
        assert path.read_text() == text, f"{path} is out of date: run `make docs`"


def test_the_example_is_short():
    assert len((ROOT / "examples/smuggler.py").read_text().splitlines()) <= 80


def test_the_demo_runs(tmp_path, monkeypatch):
    """With smaller budgets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    demo = importlib.import_module("demo")
    players = {name.replace("10000", "30"): text for name, text in demo.PLAYERS.items()}
    for name, value in {"PLAYERS": players, "GAMES": 4, "LARGE_GAMES": 4, "BUDGET": 20}.items():
        monkeypatch.setattr(demo, name, value)
    demo.main()
    assert {path.name for path in tmp_path.glob("demo/*")} == {"solved.png", "leduc.strategy"}


def test_the_example_of_ratings_runs(tmp_path):
    """With fewer games."""
    example = runpy.run_path(str(ROOT / "examples/leduc_ratings.py"))
    found = example["main"](4, tmp_path / "ratings")
    assert found.standings(0).exploitability["solved"] < 0.01
    assert (tmp_path / "ratings/page.html").exists()
