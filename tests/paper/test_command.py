"""`python -m paper`: what it prints, writes and returns."""

import json
import sys

import pytest

from majorant.cli import run as run_command
from paper import registry, run
from paper.command import reproduce
from paper.item import Item, Outcome, compare


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["paper", *arguments])
        with pytest.raises(SystemExit) as stop:
            run_command(reproduce, "python -m paper")
        said = capsys.readouterr()
        return stop.value.code, said.out, said.err

    return command


def use(monkeypatch, **items):
    made = {name: Item(name, name.title(), function) for name, function in items.items()}
    monkeypatch.setattr(registry, "items", lambda: made)
    monkeypatch.setattr(run, "items", lambda: made)


def test_a_figure_is_written_and_summed_up(call, tmp_path):
    code, out, err = call("figure1", "--out", "made")
    assert (code, err) == (0, "")
    assert "figure1             a figure" in out
    assert "Wrote    made/index.html" in out
    assert {path.name for path in (tmp_path / "made").iterdir() if path.name[0] != "."} == {
        "figure1.json",
        "figure1.svg",
        "index.html",
        "reproduction.md",
    }


def test_list_names_all_items_and_computes_nothing(call, tmp_path):
    code, out, _ = call("--list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(registry.items())
    assert not list(tmp_path.iterdir())


def test_prefix_selects_all_matching_names(call):
    _, out, _ = call("figure3", "--list")
    assert [line.split()[0] for line in out.splitlines()] == [f"figure3{letter}" for letter in "abcdef"]


def test_unknown_names_exit_with_2_and_write_nothing(call, tmp_path):
    code, out, err = call("figure9")
    assert (code, out) == (2, "")
    assert "no item 'figure9'" in err
    assert not list(tmp_path.iterdir())


def test_an_unexplained_difference_exits_with_1_and_json_says_which(call, monkeypatch):
    use(monkeypatch, odd=lambda context: Outcome(cells=(compare("a", 0.1, 0.2),)))
    code, out, _ = call("--json")
    assert code == 1
    facts = json.loads(out)
    assert facts["marks"]["unexplained"] == 1
    assert facts["items"][0]["cells"][0]["mark"] == "unexplained"
    assert call("-q")[:2] == (1, "")


def test_missing_data_are_named(call, monkeypatch):
    use(monkeypatch, odd=lambda context: Outcome(missing=("SP",)))
    code, out, _ = call()
    assert code == 0
    assert "Missing  SP" in out
    assert "a figure; without SP" in out


def test_an_interruption_exits_with_130(call, monkeypatch, tmp_path):
    def stop(context):
        raise KeyboardInterrupt

    use(monkeypatch, one=lambda context: Outcome(), two=stop)
    code, out, err = call()
    assert (code, out) == (130, "")
    assert "Interrupted" in err
    assert not list((tmp_path / "paper-out").glob("*.part"))
    assert (tmp_path / "paper-out" / "one.json").is_file()
