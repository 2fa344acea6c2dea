"""Runs the fuzzers that there are, one after the other, and prints one table; exits with code 1 if anything was found."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys

NAMES = ("files", "games", "commands")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(NAMES)} (all)")
    parser.add_argument(
        "--minutes", type=float, default=float(os.environ.get("FUZZ_MINUTES", "5")), help="in all (FUZZ_MINUTES, 5)"
    )
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FUZZ_SEED", "0")), help="of all choices (FUZZ_SEED, 0)")
    asked = parser.parse_args()
    names = [name for name in asked.names or NAMES if importlib.util.find_spec(f"fuzz.{name}") is not None]
    found: dict[str, dict[str, int]] = {}
    for name in names:
        result = importlib.import_module(f"fuzz.{name}").run(asked.minutes / len(names), asked.seed)
        found[name] = result.counts() if hasattr(result, "counts") else result
    print(table(found))
    return int(any(count for counts in found.values() for what, count in counts.items() if what != "tried"))


def table(found: dict[str, dict[str, int]]) -> str:
    """The counts of what each fuzzer tried and found."""
    lines = []
    for name, counts in found.items():
        wrong = ", ".join(f"{what} {count:,}" for what, count in counts.items() if what != "tried")
        lines.append(f"{name:10} tried {counts['tried']:>9,}   {wrong}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
