"""Running items of the paper: caching, recomputation, missing data and interruptions."""

import json

import pytest

from majorant.errors import ConfigError
from paper import registry, run, store
from paper.item import Item, Outcome, Picture, compare


def make(calls, *, data=(), fail=None):
    def one(context):
        calls.append(context)
        if fail is not None:
            raise fail
        missing = tuple(name for name in data if context.data(name) is None)
        cell = compare("a", 0.5, 0.5004, error=0.01)
        return Outcome(cells=(cell,), pictures=(Picture("one", "A picture.", "<svg/>"),), missing=missing)

    return Item("one", "An item", one, data)


@pytest.fixture
def calls(monkeypatch):
    made = []
    use(monkeypatch, make(made))
    return made


def use(monkeypatch, *items):
    monkeypatch.setattr(registry, "items", lambda: {item.name: item for item in items})
    monkeypatch.setattr(run, "items", registry.items)


def test_a_finished_item_is_used_again(calls, tmp_path):
    first = run.reproduce(["one"], tmp_path, rng=0)
    again = run.reproduce([], tmp_path, rng=0)
    assert len(calls) == 1
    assert first == again
    assert {path.name for path in tmp_path.iterdir() if path.name[0] != "."} == {
        "one.json",
        "one.svg",
        "index.html",
        "reproduction.md",
    }


@pytest.mark.parametrize("change", [{"rng": 1}, {"rng": 0, "quick": True}])
def test_other_settings_make_it_again(calls, tmp_path, change):
    run.reproduce([], tmp_path, rng=0)
    run.reproduce([], tmp_path, **change)
    assert len(calls) == 2


def test_other_printed_numbers_make_it_again(calls, tmp_path, monkeypatch):
    run.reproduce([], tmp_path, rng=0)
    monkeypatch.setattr(store, "printed_text", lambda name: "{}")
    run.reproduce([], tmp_path, rng=0)
    assert len(calls) == 2


@pytest.mark.parametrize("damage", ["one.svg", "one.json"])
def test_a_damaged_item_is_made_again(calls, tmp_path, damage):
    run.reproduce([], tmp_path, rng=0)
    (tmp_path / damage).write_text("{")
    run.reproduce([], tmp_path, rng=0)
    assert len(calls) == 2
    assert (tmp_path / "one.svg").read_text() == "<svg/>"


def test_missing_data_are_named_and_their_arrival_makes_the_item_again(tmp_path, monkeypatch):
    made = []
    use(monkeypatch, make(made, data=("SP",)))
    monkeypatch.setattr(run, "available", lambda name: None)
    done = run.reproduce([], tmp_path, rng=0)
    assert done[0].outcome.missing == ("SP",)
    assert run.summary(done)["missing"] == ["SP"]
    assert "data set SP was not available" in (tmp_path / "index.html").read_text()
    monkeypatch.setattr(run, "available", lambda name: "digest")
    monkeypatch.setattr(run.datasets, "load", lambda name: "votes")
    assert run.reproduce([], tmp_path, rng=0)[0].outcome.missing == ()
    assert len(made) == 2


def test_an_interruption_keeps_what_is_finished_and_leaves_no_half_file(tmp_path, monkeypatch):
    made, stopped = [], []
    finished = make(made)
    other = make(stopped, fail=KeyboardInterrupt())
    use(monkeypatch, finished, Item("two", "Another", other.run))
    with pytest.raises(KeyboardInterrupt):
        run.reproduce([], tmp_path, rng=0)
    assert {path.name for path in tmp_path.iterdir() if path.name[0] != "."} == {
        "one.json",
        "one.svg",
        "index.html",
        "reproduction.md",
    }
    use(monkeypatch, finished)
    run.reproduce([], tmp_path, rng=0)
    assert len(made) == 1


def test_an_interruption_while_writing_leaves_no_half_file(calls, tmp_path, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        run.reproduce([], tmp_path, rng=0)
    assert not list(tmp_path.iterdir())


def test_the_page_escapes_what_it_shows(calls, tmp_path, monkeypatch):
    def one(context):
        return Outcome(cells=(compare("<b>", 0.1, 0.2, why="a < b & c"),))

    use(monkeypatch, Item("one", "<script>", one))
    run.reproduce([], tmp_path, rng=0)
    page = (tmp_path / "index.html").read_text()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "a &lt; b &amp; c" in page


def test_cells_survive_the_file(calls, tmp_path):
    done = run.reproduce([], tmp_path, rng=0)
    assert store.load("one", tmp_path) == done[0]
    assert json.loads((tmp_path / "one.json").read_text())["outcome"]["cells"][0]["mark"] == "equal"


def test_unknown_names_are_refused_with_the_list():
    with pytest.raises(ConfigError, match=r"no item 'figure9'.*figure2"):
        registry.chosen(["figure9"])


def test_page_lists_the_errata_and_cells_of_each_item(tmp_path, monkeypatch):
    cells = tuple(compare(f"cell {at}", 0.1, 0.2, errata=(4,)) for at in range(15))
    use(monkeypatch, Item("one", "An item", lambda context: Outcome(cells=cells)))
    run.reproduce([], tmp_path, rng=0)
    assert "| `one` |  |  | 15 |  |  | An item | 4 |" in (tmp_path / "reproduction.md").read_text()
    page = (tmp_path / "index.html").read_text()
    assert page.count("explained by erratum 4") == 15


def test_a_complete_run_that_writes_another_page_is_reported(calls, tmp_path):
    done = run.reproduce([], tmp_path, rng=0)
    assert run.is_complete(done)
    same = tmp_path / "committed.md"
    same.write_text((tmp_path / "reproduction.md").read_text())
    assert run.stale_lines(tmp_path, same) == []
    same.write_text(same.read_text() + "A line that no run writes.\n")
    assert run.stale_lines(tmp_path, same)[-1] == "-A line that no run writes."
    assert not run.is_complete(run.reproduce([], tmp_path, rng=1))
