"""Promises about the source itself."""

from __future__ import annotations

import ast
import importlib.util
import inspect

import pytest
from helpers import ROOT

import unseen

described = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
rooms = importlib.util.module_from_spec(described)
described.loader.exec_module(rooms)

SOURCE = ROOT / "src" / "unseen"
COMPILED = {
    "game.py": {
        "start", "player", "actions", "chance", "apply", "utility", "settled", "rollout", "reduced", "bits", "lay_open",
        "knowledge", "most", "between_rounds", "ahead", "worth", "encode",
    },
    "minimax.py": {"world_of", "begin", "end", "descend", "enter_node", "fold", "leave"},
    "vectors.py": {"world_of", "begin", "end", "descend", "enter_node", "fold", "fold_action", "leave", "lower_caps", "look_up"},
    "comparison.py": {"_counted"},
    "rules.py": {
        "go_ahead", "choose", "drew", "learn", "reward", "utility", "find_baselines", "known", "catch_up", "expect", "expect_value",
    },
    "joint_rules.py": {"fill", "note", "choose", "drew", "learn", "advise", "utility", "scaled", "total"},
    "tree.py": {"has_room", "descend"},
    "leaf.py": {"has_seen", "saw", "begin_set", "draw"},
    "outcome.py": {"come_to", "follow"},
    "traversal.py": {"decide", "first_taken", "share", "expected"},
}  # fmt: skip
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


def test_no_negative_zero_is_shown():
    """Where a number is shown with its sign, what rounds to 0 is shown as +0: the format has a z."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
                form = "".join(str(part.value) for part in ast.walk(node.format_spec) if isinstance(part, ast.Constant))
                assert "+" not in form or "z" in form, f"{path.name}:{node.lineno} shows a number as {form!r}"


def test_imports_point_one_way():
    """Every import, lazy or not, is of a module further down; a module that is not in the order has no place."""
    for name, path in rooms.modules().items():
        if name == "__init__":
            continue  # public names of all rooms
        here = rooms.step_of(name)
        is_room = path.name == "__init__.py" and not list(rooms.imported(path))
        assert here is not None or is_room, f"{name} is not in the order of modules"
        for other in rooms.imported(path):
            there = rooms.step_of(other)
            assert there is not None, f"{name} imports {other}, which is not in the order of modules"
            assert there < here or (name.startswith("games.") and other.startswith("games.")), f"{name} imports {other}"
            assert (rooms.room_of(name), rooms.room_of(other)) not in rooms.APART, f"{name} imports {other}"


def test_the_law_of_imports_sees_every_form(tmp_path):
    """Statements anywhere, and calls; relative ones are refused."""
    file = tmp_path / "some.py"
    file.write_text(
        "import unseen.game\ndef f():\n    from unseen.search import rules\n    import importlib\n"
        "    importlib.import_module(f'unseen.games.{f}')\n    __import__('unseen.cli')\n"
    )
    assert set(rooms.imported(file)) == {"game", "search.rules", "games", "cli"}
    file.write_text("from . import game\n")
    with pytest.raises(ValueError, match="relative"):
        list(rooms.imported(file))


def test_only_one_room_knows_numba():
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "compiling":
            assert "import numba" not in path.read_text(), path
            assert "from numba" not in path.read_text(), path


RESULTS = {
    "AgentFault",
    "Choice", "Comparison", "Convergence", "DepthLimited", "Extraction", "Enumeration", "Equilibrium", "Evaluation", "Info",
    "Learned", "Losses", "Match", "Measured", "Percept", "Playouts", "RuleError", "Size", "Solved",
    "Tournament", "Values",
}  # fmt: skip
"""Public classes that the library makes, not its users."""


def documented(name):
    """The public functions and methods of a public name, each with the text that has to explain its arguments."""
    thing = getattr(unseen, name)
    if inspect.isfunction(thing):
        yield name, thing, thing.__doc__
    elif inspect.isclass(thing) and name not in RESULTS | {"Game"}:
        yield name, thing.__init__, thing.__doc__
        methods = {k: getattr(f, "__func__", f) for k, f in vars(thing).items() if not k.startswith("_")}
        yield from ((f"{name}.{k}", f, f.__doc__) for k, f in methods.items() if inspect.isfunction(f))


def test_every_argument_is_explained():
    for name in unseen.__all__:
        for full, function, text in documented(name):
            if inspect.isfunction(function):
                arguments = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
                assert not [p for p in arguments if f"`{p}" not in (text or "")], f"{full} does not explain all of {arguments}"
