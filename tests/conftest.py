"""Settings for every test."""

import gc
import os
import sys
from collections import Counter

import pytest
from hypothesis import settings

import sizes
from majorant.cli import main

# The same cases on every run, and no time limit per case: speed is measured in benchmarks/, never by a unit test.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)


def pytest_configure(config):
    """A run that takes the long tests too draws as much as they say.

    Cores are for processes here (-n): a BLAS that waits in a loop for a core which is never free takes up to 15 times
    as long.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sizes.LONG = config.option.markexpr != "not long"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed" if sizes.LONG else "quick"))


def pytest_terminal_summary(terminalreporter):
    """Say at the end what was left out and why, a line for each reason."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        terminalreporter.section("left out")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:>5}  {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without looking for garbage, which takes a quarter of the time: all that is made is kept."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that share a fixture of their module run on the same core, so that it is made once (--dist loadgroup)."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and (group := shared_fixtures(item)):
            item.add_marker(pytest.mark.xdist_group(group))


def shared_fixtures(item):
    """The module of a test that shares fixtures of it with others, and what those are made from; empty if it does not.

    Whoever shares one of them runs with those who share another: the second may be made from the first.
    """
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    here = item.nodeid.partition("::")[0]
    names = [name for name, defined in known.items() if defined[-1].scope == "module" and defined[-1].baseid == here]
    given = getattr(getattr(item, "callspec", None), "params", {})
    return " ".join([here, *(f"{name}={given[name]}" for name in sorted(names) if name in given)]) if names else ""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Call the command line in an empty folder: run("check", "votes.csv") -> (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("majorant.cli.progress.LONG", float("inf"))  # the same lines on a slow machine

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["majorant", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call
