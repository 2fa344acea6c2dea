"""The order of all modules, and what each imports: the law that imports point one way, and the diagram in design.md.

Each module imports only from those before it, at its top or anywhere else. A test holds the library to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "unseen"
ORDER = [
    "errors", "version", "arguments", "html", "compiling.checking", "compiling.lowering", "compiling.digest", "compiling.locks",
    "compiling.cache", "compiling.types", "compiling.explaining", "compiling.interrupts", "compiling.notice",
    "compiling.memory", "compiling.bits", "compiling.decorators", "compiling", "options", "game", "games", "loading", "engine",
    "position", "random_play", "run.ticks", "run.cluster", "run.workers", "run.progress", "run.files", "run.checked",
    "run.reading", "run.checkpoint", "run.headers", "run.ahead",
    "run.rows", "run.logs", "enumeration.infosets", "enumeration.symmetry", "enumeration.bundles", "enumeration.walk",
    "enumeration.walker", "enumeration.whole", "belief.trellis", "belief.belief", "belief.worlds", "show.results",
    "show.figures", "show.markdown", "show.mixes", "show.playthrough", "show.strategies", "show.convergence",
    "tabular.strategy_file", "tabular.strategy", "tabular.regret_matching", "tabular.table", "tabular.averaging",
    "exact.treeplex", "exact.size", "exact.info", "exact.payoffs", "exact.sequence_form", "exact.ways", "exact.equilibrium",
    "stacked.openness", "stacked.simplex", "stacked.table", "stacked.walk", "stacked.rounds", "stacked.job", "stacked.values",
    "testing.survey", "testing.report", "testing.compiled_rules", "testing.lockstep", "testing.laid_open", "testing.pairs",
    "testing.watchdog", "testing.inspector", "testing.conformance", "testing", "agents", "solving.minimisers", "solving.cfr",
    "solving.traversal", "solving.outcome", "solving.solvers", "solving.algorithms", "solving.job", "solving.online",
    "solving.agents", "networks.encoding", "networks.file", "networks.network", "networks.whole", "networks.agents",
    "search.aim", "search.flights", "search.root", "search.rules", "search.joint_rules", "search.leaf", "search.tree",
    "search.worst_case", "search.loop", "search.searcher", "search.agents", "perfect.table", "perfect.minimax",
    "perfect.solver", "perfect.vectors", "perfect.knowledge", "perfect.mixing", "perfect.agents", "arena.asking", "arena.names",
    "arena.referee", "arena.human", "arena.intervals", "arena.nash", "arena.ratings", "arena.sprt", "arena.matches",
    "arena.measures",
    "arena.plans", "arena.losses", "arena.extraction", "arena.measured", "arena.comparison", "arena.records", "arena.standings",
    "arena.tournament_page", "arena.tournament", "learning.settings", "learning.reservoir", "learning.self_play",
    "learning.training", "learning.job", "bench", "reproduce.page", "reproduce.cells", "reproduce.mccfr", "reproduce.oos",
    "reproduce.oos_matches", "reproduce.smmcts_setup", "reproduce.smmcts_page", "reproduce.smmcts", "reproduce.ppp_page",
    "reproduce.ppp", "reproduce.exit_oos", "cli.common", "cli.games", "cli.exact", "cli.solving", "cli.searching",
    "cli.learning", "cli", "__main__",
]  # fmt: skip
"""Every module; of `games`, the parts may import each other."""
APART = {("search", "solving"), ("solving", "search")}
"""Rooms that know nothing of each other."""


def modules() -> dict[str, Path]:
    """Every file of the library by the name of its module; of a package, that of its `__init__`."""
    paths = {path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", "."): path for path in SOURCE.rglob("*.py")}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


def step_of(module: str) -> int | None:
    """The place of a module in the order; None if it has none."""
    name = "games" if module.startswith("games.") else module
    return ORDER.index(name) if name in ORDER else None


def imported(path: Path) -> Iterator[str]:
    """The modules of the library that a file imports, at its top or anywhere else, by statement or by call."""
    known = modules()
    for node in ast.walk(ast.parse(path.read_text())):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"{path} imports relative to itself")
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [full if full.removeprefix("unseen.") in known else str(node.module) for full in inside]
        elif isinstance(node, ast.Call) and _name(node.func) in ("import_module", "__import__"):
            written = node.args[0].values[0] if isinstance(node.args[0], ast.JoinedStr) else node.args[0]
            found = [str(getattr(written, "value", "")).rstrip(".")]
        for module in found:
            if module.startswith("unseen."):
                yield module.removeprefix("unseen.")


def _name(function: ast.expr) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))


def room_of(module: str) -> str:
    return module.split(".")[0]


def diagram() -> str:
    """A row for each room, lowest first, with a mark under each room that it imports: all marks are left of the diagonal."""
    rooms = list(dict.fromkeys(map(room_of, ORDER)))
    uses: dict[str, set[str]] = {room: set() for room in rooms}
    for name, path in modules().items():
        if room_of(name) in uses:
            uses[room_of(name)] |= {room_of(other) for other in imported(path)}
    wide = max(map(len, rooms))
    lines = []
    for k, room in enumerate(rooms):
        marks = "".join(" o" if other in uses[room] else " ." for other in rooms[:k])
        lines.append(f"{room:{wide}}{marks} {chr(9632)}")
    return "\n".join(lines)
