"""Progress that a run on stored votes shows in a terminal."""

import io
import sys

import pytest

from majorant.cli.progress import stages


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(monkeypatch):
    """A terminal in place of standard error; in a fixture, pytest would take it away before the test runs."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


@pytest.mark.parametrize(
    ("what", "done", "shown"),
    [
        ("counting", 2_500_000, "counting     2,500,000"),
        ("counting", 10_000_000, "counting done, computing"),
    ],
)
def test_progress_bar_advances_and_resets_after_each_stage(monkeypatch, what, done, shown):
    terminal = on_terminal(monkeypatch)
    with stages() as report:
        report(what, done, 10_000_000)
    assert shown in terminal.getvalue()


def test_no_progress_without_a_terminal(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    with stages() as report:
        report("counting", 1, 2)
    assert terminal.getvalue() == ""
