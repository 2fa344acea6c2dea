"""Promises about the source itself."""

from __future__ import annotations

import ast

from helpers import ROOT

SOURCE = ROOT / "src" / "unseen"
COMPILED = {
    "game.py": {"start", "player", "actions", "chance", "apply", "utility", "settled", "rollout"},
    "rules.py": {"choose", "drew", "learn", "reward", "find_baselines", "known", "catch_up"},
    "joint_rules.py": {"choose", "drew", "learn"},
    "tree.py": {"has_room", "descend"},
    "leaf.py": {"draw"},
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


ORDER = [
    "errors", "version", "compiling", "options", "game", "games", "loading", "engine", "position", "random_play",
    "run.workers", "run.progress", "run.files", "run.checkpoint", "run.logs", "enumeration.infosets",
    "enumeration.symmetry", "enumeration.bundles", "enumeration.walk", "enumeration.walker", "enumeration.whole",
    "belief.trellis", "belief.belief", "show.results", "show.figures", "show.playthrough", "show.strategies",
    "show.convergence", "tabular.strategy_file", "tabular.strategy", "tabular.regret_matching", "tabular.table",
    "tabular.averaging", "exact.treeplex", "exact.info", "exact.payoffs", "exact.sequence_form", "exact.equilibrium",
    "testing.survey", "testing.conformance", "testing", "agents", "solving.minimisers", "solving.cfr",
    "solving.traversal", "solving.outcome", "solving.solvers", "solving.algorithms", "solving.job", "solving.online",
    "solving.agents", "search.aim", "search.flights", "search.root", "search.rules", "search.joint_rules",
    "search.leaf", "search.tree", "search.loop", "search.searcher", "search.agents", "arena.names", "arena.referee",
    "arena.human", "arena.matches", "arena.measures", "bench", "reproduce.page", "reproduce.mccfr", "reproduce.oos",
    "cli.common", "cli.games", "cli.exact", "cli.solving", "cli.searching", "cli", "__main__",
]  # fmt: skip
"""Every module, or every package of which all parts are on one step: each imports only from those before it."""
APART = {("search", "solving"), ("solving", "search")}
"""Rooms that know nothing of each other."""


def step_of(module: str) -> int | None:
    """The place of a module in the order, by its own name or that of the longest part of it that is listed."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ORDER:
            return ORDER.index(".".join(parts[:length]))
    return None


def imported(path, name):
    """The modules of the library that a file imports, at its top or anywhere else, by statement or by call."""
    modules = {p.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".") for p in SOURCE.rglob("*.py")}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relative to itself"
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [full if full.removeprefix("unseen.") in modules else str(node.module) for full in inside]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            written = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            found = [str(written.value).rstrip(".")]
        else:
            continue
        for module in found:
            if module.split(".")[0] == "unseen" and module != "unseen":
                yield module.removeprefix("unseen.")


def test_imports_point_one_way():
    """Every import, lazy or not, is of a module further down; a module that is not in the order has no place."""
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if name == "__init__":
            continue  # public names of all rooms
        here = step_of(name)
        is_room = path.name == "__init__.py" and not list(imported(path, name))
        assert here is not None or is_room, f"{name} is not in the order of modules"
        for other in imported(path, name):
            there = step_of(other)
            assert there is not None, f"{name} imports {other}, which is not in the order of modules"
            assert there < here or ORDER[there] == ORDER[here] == "games", f"{name} imports {other}"
            assert (name.split(".")[0], other.split(".")[0]) not in APART, f"{name} imports {other}"


def test_only_one_module_knows_numba():
    for path in SOURCE.rglob("*.py"):
        if path.name != "compiling.py":
            assert "import numba" not in path.read_text(), path
            assert "from numba" not in path.read_text(), path
