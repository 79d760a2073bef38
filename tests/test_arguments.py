"""Public functions called with random arguments raise only our own errors."""

import inspect
import pickle
import signal

import numpy as np
import pandas as pd
import pytest

import majorant as mj
from corpus.calls import CONFUSION, EXACT, FUNCTIONS, ROWS, anything, calls, make_objects, wrong
from majorant import theory
from majorant.arguments import RANGES, check_argument, validated
from majorant.errors import ConfigError, MajorantError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Some calls write where they are told to."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """What only other calls make."""
    return make_objects(tmp_path_factory.mktemp("written"))


@pytest.fixture
def no_hang():
    """A call that takes half a minute fails."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("functions", "n"), [(FUNCTIONS, 700), (EXACT, 1500)], ids=["package", "theory"])
def test_random_calls_raise_only_our_errors(objects, no_hang, functions, n):
    every = list(calls(functions, objects))
    drawn = np.random.default_rng(0).choice(len(every), n, replace=False)
    assert [fault for at in drawn if (fault := wrong(*every[at]))] == []


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("functions", [FUNCTIONS, EXACT], ids=["package", "theory"])
def test_all_calls_raise_only_our_errors(objects, no_hang, functions):
    reading = ["item", "threshold", "empty"]
    assert [fault for call in calls(functions, objects, reading=reading) if (fault := wrong(*call))] == []


@pytest.mark.filterwarnings("ignore")
def test_methods_raise_only_our_errors(objects, no_hang):
    result, design, fit, folder = (objects[name] for name in ("result", "design", "fit", "folder"))
    base = {
        result.accuracy: {"rule": "majority"},
        result.save: {"folder": folder / "saved"},
        result.report: {"path": folder / "page.html"},
        result.plot: {"figure": "votes"},
        fit.labels: {},
        design.more: {"n": 2},
        design.after: {"n": 2, "answers": ()},
        design.evaluate: {"labels": {}},
        design.judge: {"answers": ()},
        design.write: {"path": folder / "to_label.csv"},
        mj.Votes.from_codes: {"item": [0, 0], "worker": [0, 1], "label": [0, 1], "items": "a", "workers": "uv",
                              "labels": "ny"},
    }  # fmt: skip
    every = []
    for method, arguments in base.items():
        for argument in inspect.signature(method).parameters:
            every += [(method.__name__, method, {**arguments, argument: v}, argument) for v in anything(objects)]
    drawn = np.random.default_rng(1).choice(len(every), 600, replace=False)
    assert [fault for at in drawn if (fault := wrong(*every[at]))] == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mj.read(ROWS, item=3), "item must be text, a list of strings or None, not 3."),
        (lambda: mj.check(ROWS, target=[]), "target must be a number, not []."),
        (lambda: mj.check(ROWS, level=1.5), "level must lie between 0.5 and 1, not 1.5."),
        (lambda: mj.scores([(0, 0, 1), (0, 1, 2)], n_boot=0), "n_boot must lie between 1 and 1,000,000, not 0."),
        (lambda: mj.plan(ROWS, max_votes=10**30), "max_votes must lie between 1 and 10,000, not a number that large."),
        (lambda: mj.plan(ROWS, max_votes=1.0), "max_votes must be a whole number, not 1.0."),
        (lambda: mj.ask(ROWS, between="majority"), "between must be a list of strings or None, not 'majority'."),
        (lambda: mj.simulate("x", CONFUSION, 3, 3), "prior must be an array of numbers, not 'x'."),
        (lambda: mj.check(ROWS, several="yes"), "several must be True or False, not 'yes'."),
        (lambda: mj.check(ROWS, rng=None), "rng must be a whole number or a numpy Generator, not None."),
        (lambda: theory.gap([0.5, 0.5], CONFUSION, "3"), "n_votes must be a whole number, not '3'."),
    ],
)
def test_the_message_names_the_argument(call, message):
    with pytest.raises(ConfigError) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("source", ["y" * 10_000, {"a": 1}, 3, b"votes", object(), [], {}, "\0"])
def test_values_that_cannot_be_votes_are_reported(source):
    with pytest.raises(MajorantError):
        mj.read(source)


def test_checked_function_keeps_its_metadata():
    assert pickle.loads(pickle.dumps(mj.check)) is mj.check
    assert pickle.loads(pickle.dumps(theory.gap)) is theory.gap
    assert "level" in inspect.signature(mj.check).parameters
    assert mj.check.__doc__
    with pytest.raises(TypeError, match="votes"):
        mj.check()


def test_numpy_and_pandas_values_are_accepted():
    @validated
    def function(n: int, share: float, names: "list | None", order: "Sequence[str] | None" = None) -> int:  # noqa: F821
        return n

    assert function(np.int64(3), np.float32(0.5), None, np.array(["a", "b"])) == 3
    assert function(3, 1, None, pd.Series(["a", "b"])) == 3
    scores = [(i, j, i % 3 + j % 2) for i in range(9) for j in range(3)]
    assert mj.check(scores, threshold=np.int64(2)).votes.n_votes == 27  # whose comparisons are no bool
    between = np.array(["majority", "one-coin"])  # its truth value is ambiguous
    assert mj.ask(ROWS, between=between, n=1).question.rules == ("majority", "one-coin")
    with pytest.raises(ConfigError, match="n must be a whole number, not True"):
        function(True, 0.5, None)
    for name, span in RANGES.items():
        middle = (span.low + span.high) / 2
        check_argument(name, middle, "float")
        with pytest.raises(ConfigError, match=name):
            check_argument(name, span.high * 2, "float")
