"""A short run of the fuzzer of well-formed files; `make fuzz` is the long one."""

from __future__ import annotations

import importlib.util
import sys

from helpers import ROOT

SHORT = ("strategy", "network", "checkpoint of outcome_sampling in kuhn_poker", "log of a solver", "cell of an experiment", "cache")


def fuzzer():
    described = importlib.util.spec_from_file_location("fuzz_files", ROOT / "fuzz" / "files.py")
    module = sys.modules["fuzz_files"] = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


def test_absurd_files_end_in_one_sentence():
    report = fuzzer().fuzz(minutes=2, seed=7, files=60, kinds=SHORT)
    assert report.is_good, report.found
    assert report.files == report.loaded + report.refused == 60
    assert report.refused > 20
