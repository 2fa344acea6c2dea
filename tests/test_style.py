"""Promises about the source itself."""

from __future__ import annotations

import ast

from helpers import ROOT

SOURCE = ROOT / "src" / "unseen"
COMPILED = {
    "game.py": {"start", "player", "actions", "chance", "apply", "utility", "settled"},
    "rules.py": {"arrive", "spread", "learn", "reward"},
    "loop.py": {"draw"},
}
"""Methods that are compiled, and typed by the compiler."""


def test_all_but_kernels_and_rules_is_annotated():
    """mypy lets kernels be without types; nothing else may hide behind that."""
    missing = []
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "games":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            decorators = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
            is_rule = node.name in COMPILED.get(path.name, ())
            annotated = node.returns is not None and all(a.annotation or a.arg in ("self", "cls") for a in node.args.args)
            if not annotated and not is_rule and not decorators & {"kernel", "piece"}:
                missing.append(f"{path.name}:{node.lineno} {node.name}")
    assert not missing


def test_arrows_point_one_way():
    """Lower rooms do not import upper ones."""
    order = [
        "errors", "compiling", "game", "engine", "position", "infosets", "walk", "enumeration", "belief", "loading", "testing",
        "strategy", "exact", "solving", "search", "arena", "reproduce", "cli",
    ]  # fmt: skip
    exceptions = {("position", "loading"), ("game", "loading")}
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room not in order:
            continue
        tree = ast.parse(path.read_text())
        for node in tree.body:  # imports at the top of the module
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unseen."):
                other = node.module.split(".")[1]
                if other in order and (room, other) not in exceptions:
                    assert order.index(other) <= order.index(room), f"{path.name} imports {node.module}"


def test_only_one_module_knows_numba():
    for path in SOURCE.rglob("*.py"):
        if path.name != "compiling.py":
            assert "import numba" not in path.read_text(), path
            assert "from numba" not in path.read_text(), path
