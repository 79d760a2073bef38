"""An update fits all votes, old and new; states survive files."""

from pathlib import Path

import numpy as np
import pytest

from crowds import informed_votes
from majorant.errors import ConfigError, DataError
from majorant.items import take_items
from majorant.methods import ESTIMATORS, load_state, save_state, update
from majorant.methods.dawid_skene import DawidSkene
from majorant.methods.ibcc import IBCC
from majorant.methods.one_coin import OneCoin
from majorant.methods.online import fit_or_update
from majorant.methods.state_file import parse_state, state_bytes
from majorant.votes import Account, Votes

REMEMBERING = pytest.mark.parametrize("model", [DawidSkene(), OneCoin(), IBCC()], ids=lambda model: model.name)


def named(triples, repeats="each"):
    """Votes from (item, worker, label) in the caller's words."""
    columns = [list(column) for column in zip(*triples, strict=True)]
    names = [list(dict.fromkeys(column)) for column in columns]
    names[2].sort()
    codes = [[known.index(value) for value in column] for known, column in zip(names, columns, strict=True)]
    account = Account(source="test", rows=len(triples), votes=len(triples), repeats=repeats)
    return Votes.from_codes(*codes, items=names[0], workers=names[1], labels=names[2], account=account)


def triples(votes):
    return [
        (votes.items[i], votes.workers[j], votes.labels[l])
        for i, j, l in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    ]


@pytest.fixture(scope="module")
def history():
    return informed_votes(np.random.default_rng(1), n_items=150, n_votes=900)


@pytest.fixture
def batch():
    """Further votes on known items, new items, a new worker."""
    known = [(f"item {i}", f"worker {i % 9}", f"label {i % 3}") for i in range(20)]
    new = [(f"new {i}", f"worker {j}", f"label {(i + (j == 2)) % 3}") for i in range(30) for j in range(4)]
    return named([*known, *new, *((f"new {i}", "newcomer", f"label {i % 3}") for i in range(30))])


@REMEMBERING
def test_an_update_labels_new_items_as_a_fit_to_all_votes(model, history, batch):
    fit = update(model.fit(history).state(), batch)
    votes = named([*triples(history), *triples(batch)])
    whole = model.fit(votes)
    rows = [votes.items.index(item) for item in batch.items]
    np.testing.assert_allclose(fit.posterior, whole.posterior[rows], atol=1e-9)
    np.testing.assert_array_equal(fit.votes_i, whole.votes_i[rows])
    workers = [votes.workers.index(worker) for worker in batch.workers]
    np.testing.assert_allclose(fit.confusion, whole.confusion[workers], atol=1e-9)


@REMEMBERING
def test_an_update_leaves_the_old_state_alone(model, history, batch):
    before = model.fit(history).state()
    kept = {name: array.copy() for name, array in before.arrays.items()}
    fit = update(before, batch)
    for name, array in kept.items():
        np.testing.assert_array_equal(before.arrays[name], array)
    assert update(before, batch).posterior.tolist() == fit.posterior.tolist()


@REMEMBERING
def test_many_batches_give_the_same_labels_as_one(model):
    votes = informed_votes(np.random.default_rng(5), n_items=400, n_votes=2400, n_classes=2, skill=0.7)
    fit = model.fit(take_items(votes, np.arange(100)))
    for span in ((100, 150), (150, 250), (250, 310), (310, 400)):
        fit = update(fit.state(), take_items(votes, np.arange(*span)))
    np.testing.assert_allclose(fit.posterior, model.fit(votes).posterior[310:], atol=1e-9)


def test_a_fit_can_start_from_an_update(history, batch):
    fit = update(IBCC().fit(history).state(), batch)
    assert IBCC().fit(batch, start=fit).converged


@REMEMBERING
def test_new_labels_grow_the_model(model, history):
    state = model.fit(history).state()
    new = named([(f"new {i}", f"worker {j}", "other" if i % 2 else "label 1") for i in range(40) for j in range(5)])
    fit = update(state, new)
    assert fit.label_values == ("label 0", "label 1", "label 2", "other")
    assert fit.labels() == ["other" if i % 2 else "label 1" for i in range(40)]
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1)
    assert fit.state().labels == fit.label_values


def test_start_from_an_unrelated_crowd_is_ignored(history):
    state = DawidSkene().fit(history).state()
    new = named([(f"new {i}", f"stranger {j}", f"label {(i + (j == i % 7)) % 3}") for i in range(40) for j in range(7)])
    assert update(state, new).labels() == [f"label {i % 3}" for i in range(40)]


def test_repeated_votes_are_resolved_by_the_policy_of_the_new_batch():
    old = [(f"i{i}", f"w{j}", "ny"[i % 2]) for i in range(20) for j in range(3)]
    state = DawidSkene().fit(named(old)).state()

    def count(policy, *new):
        arrays = update(state, named(list(new), policy)).state().arrays
        return len(arrays["item"]), int((arrays["label"][arrays["item"] == 1] == 0).sum())

    assert count("error", ("i1", "w0", "y")) == (60, 0)  # the same again is merged
    with pytest.raises(DataError, match="Worker 'w0' labelled item 'i1' 'y' in an earlier batch and 'n' now"):
        count("error", ("i5", "w9", "n"), ("i1", "w0", "n"))
    assert count("first", ("i1", "w0", "n")) == (60, 0)
    assert count("last", ("i1", "w0", "n")) == (60, 1)
    assert count("each", ("i1", "w0", "n")) == (61, 1)
    last = update(state, named([("i1", f"w{j}", "n") for j in range(3)], "last"))
    assert last.labels() == ["n"]


def test_state_keeps_its_settings(history, batch, tmp_path):
    model = DawidSkene(smoothing=2.0)
    state = model.fit(history).state()
    assert dict(state.settings) == {"smoothing": 2.0}
    save_state(state, tmp_path / "s.state")
    later = update(load_state(tmp_path / "s.state"), batch)
    np.testing.assert_array_equal(later.posterior, update(state, batch).posterior)
    assert not np.allclose(later.posterior, update(DawidSkene().fit(history).state(), batch).posterior)


def test_fits_without_a_state_raise_a_clear_error(history):
    gold = Votes.from_codes(history.item_n, history.worker_n, history.label_n, items=history.items,
                            workers=history.workers, labels=history.labels, gold=history.gold_i)  # fmt: skip
    fits = (
        ESTIMATORS["majority"]().fit(history),
        DawidSkene().fit(history, weights=np.ones(150)),
        DawidSkene(clamp_gold=True).fit(gold),
    )
    for fit in fits:
        with pytest.raises(ConfigError, match="is not an online method, or was fitted with weights, gold or an engine"):
            fit.state()
    with pytest.raises(ConfigError, match="belongs to dawid-skene, not to ibcc"):
        fit_or_update(history, "ibcc", DawidSkene().fit(history).state())


# Files


@pytest.fixture
def state_file(tmp_path, history):
    path = tmp_path / "my.state"
    save_state(DawidSkene().fit(history).state(), path)
    return path


@REMEMBERING
def test_a_state_survives_a_file(model, history, batch, tmp_path):
    state = model.fit(history).state()
    save_state(state, tmp_path / "my.state")
    assert (tmp_path / "my.state").read_bytes() == state_bytes(state)  # the same bytes each time
    back = load_state(tmp_path / "my.state")
    for name in ("method", "items", "workers", "labels"):
        assert getattr(back, name) == getattr(state, name)
    assert update(back, batch).posterior.tolist() == update(state, batch).posterior.tolist()


def test_a_file_cut_off_or_altered_anywhere_is_refused(state_file):
    content = state_file.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 1, 10, *rng.integers(len(content), size=40).tolist(), len(content) - 1]:
        state_file.write_bytes(content[:length])
        with pytest.raises(DataError, match=r"not a state file|is truncated or was modified"):
            load_state(state_file)
    for place in rng.integers(len(content), size=60).tolist():
        broken = bytearray(content)
        broken[place] ^= 0x55
        state_file.write_bytes(bytes(broken))
        with pytest.raises(DataError):
            load_state(state_file)


def test_foreign_and_newer_files_are_named(state_file, tmp_path):
    content = state_file.read_bytes()
    for foreign in (b"item,worker,label\n", b"{}", b"\x93NUMPY"):
        state_file.write_bytes(foreign)
        with pytest.raises(DataError, match=r"my\.state: not a state file"):
            load_state(state_file)
    np.savez(state_file, a=np.arange(3))
    with pytest.raises(DataError, match="not a state file"):
        load_state(state_file)
    state_file.write_bytes(content.replace(b"majorant-state 1 ", b"majorant-state 2 "))
    with pytest.raises(DataError, match="state version 2, this majorant reads version 1"):
        load_state(state_file)
    with pytest.raises(DataError, match=r"nowhere: cannot be read \(No such file"):
        load_state(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="'majority' is not an online method"):
        update(
            type(parse_state(content, "here"))(method="majority", workers=(), labels=(), arrays={}),
            named([("a",) * 3]),
        )


def test_invalid_numbers_in_a_state_are_rejected(history):
    state = DawidSkene().fit(history).state()

    def other(**arrays):
        names = {"items": state.items, "workers": state.workers, "labels": state.labels}
        return type(state)(method="dawid-skene", arrays={**state.arrays, **arrays}, **names)

    with pytest.raises(DataError, match="worker holds impossible numbers, 0 to 99"):
        other(worker=np.where(state.arrays["worker"] == 8, 99, state.arrays["worker"]))
    with pytest.raises(DataError, match=r"label must have shape \(900,\), not \(2,\)"):
        other(label=[0, 1])
    with pytest.raises(DataError, match="given holds impossible numbers, nan to nan"):
        type(state)(method="la-one-pass", workers="w", labels="ny", arrays={"right": [1.0], "given": [np.nan]})
    with pytest.raises(DataError, match="dawid-skene needs item, worker, label"):
        type(state)(method="dawid-skene", workers=(), labels=(), arrays={})
    odd = Votes.from_codes([0], [0], [0], items="a", workers=[frozenset()], labels="01")
    with pytest.raises(ConfigError, match="frozenset"):
        state_bytes(DawidSkene().fit(odd).state())


# The command line


def write_votes(name, rows):
    Path(name).write_text("item,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows))


@pytest.mark.parametrize("method", ["dawid-skene", "la-one-pass"])
def test_the_command_line_continues_from_a_file(run, method):
    first = [(f"a{i}", f"w{j}", "no" if (i + (j == 0)) % 2 else "yes") for i in range(30) for j in range(3)]
    second = [(f"b{i}", f"w{j}", "no" if (i + (j == 0)) % 2 else "yes") for i in range(10) for j in range(4)]
    write_votes("1.csv", first)
    write_votes("2.csv", second)
    code, out, _ = run("aggregate", "1.csv", "--method", method, "--state", "my.state")
    assert code == 0
    assert "Wrote    my.state" in out
    code, _, err = run("aggregate", "2.csv", "--method", method, "--state", "my.state", "--out", "2-labels.csv", "-q")
    assert (code, err) == (0, "")
    assert len(Path("2-labels.csv").read_text().splitlines()) == 11
    expected = update(ESTIMATORS[method]().fit(named(first)).state(), named(second)).state()
    found = load_state("my.state")
    assert found.workers == ("w0", "w1", "w2", "w3")
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(np.sort(found.arrays[name]), np.sort(array))


def test_invalid_call_leaves_labels_and_state_unchanged(run):
    write_votes("1.csv", [("a", "w", "yes"), ("a", "x", "no")])
    assert run("aggregate", "1.csv", "--method", "dawid-skene", "--state", "s.state", "-q")[0] == 0
    before = {path: path.read_bytes() for path in Path().iterdir()}
    write_votes("2.csv", [("a", "w", "no")])
    before[Path("2.csv")] = Path("2.csv").read_bytes()
    for arguments, message in (
        (("2.csv", "--method", "dawid-skene", "--state", "s.state"), "in an earlier batch and 'no' now"),
        (("1.csv", "--method", "ibcc", "--state", "s.state"), "belongs to dawid-skene, not to ibcc"),
        (("1.csv", "--state", "s.state"), "'auto' is not an online method"),
        (("1.csv", "--method", "dawid-skene", "--state", "1.csv"), "1.csv: not a state file"),
        (("1.csv", "--method", "dawid-skene", "--state", "s.state", "--out", "no/where.csv"), "Cannot write"),
    ):
        code, _, err = run("aggregate", *arguments)
        assert (code, message in err) == (2, True), err
        assert {path: path.read_bytes() for path in Path().iterdir()} == before
