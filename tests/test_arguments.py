"""Public functions called with anything: what is wrong is told in one of our errors, never by what lies below."""

import inspect
import pickle
import signal
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import majorant as mj
from majorant import theory
from majorant.arguments import RANGES, check_argument, validated
from majorant.errors import ConfigError, MajorantError
from majorant.read.options import Reading

ROWS = [(f"i{i}", f"w{j}", "ny"[(i * i + j * i) % 3 % 2]) for i in range(12) for j in range(4)]
GOLD = {
    "item": [row[0] for row in ROWS],
    "worker": [row[1] for row in ROWS],
    "label": [row[2] for row in ROWS],
    "gold": ["ny"[int(row[0][1:]) % 2] for row in ROWS],
}
CONFUSION = [[0.8, 0.2], [0.3, 0.7]]
FUNCTIONS = {name: getattr(mj, name) for name in mj.__all__ if inspect.isfunction(getattr(mj, name))}
EXACT = {
    f"theory.{name}": getattr(theory, name) for name in theory.__all__ if inspect.isfunction(getattr(theory, name))
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Some calls write where they are told to."""
    monkeypatch.chdir(tmp_path)


class Unknown:
    """A value of a class that nobody has heard of."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """What only other calls make."""
    fit = mj.aggregate(ROWS, "dawid-skene")
    return {
        "folder": tmp_path_factory.mktemp("written"),
        "result": mj.check(ROWS),
        "state": fit.state(),
        "fit": fit,
        "votes": mj.read(ROWS),
        "design": mj.ask(ROWS, question="accuracy", between=["majority"], n=3),
    }


def usual(name, objects):
    """Arguments with which a function works."""
    given = {
        "votes": GOLD if name in ("judges", "rate") else [(i, j, (i * i + j) % 4) for i in range(9) for j in range(4)]
        if name == "scores" else ROWS,
        "source": ROWS,
        "histograms": {3: [1, 2, 5, 8]},
        "result": objects["result"],
        "matrix": [[0, 1], [1, 1]],
        "path": objects["folder"] / name,
        "state": objects["state"],
        "new_votes": [("new", "w0", "n")],
        "prior": [0.6, 0.4],
        "confusion": CONFUSION,
        "confusions": [CONFUSION] * 3,
        "share": [[0.5, 0.5], [0.4, 0.6]],
        "n_items": 10,
        "n_votes": 3,
        "noise": 0.2,
        "margin": 0.1,
        "grid": 11,
        "n_draws": 100,
        "n_boot": 20,
        "name": "votes",
        "rng": 0,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}


def anything(objects):
    """Values of all kinds, few of which any argument takes."""
    return [
        *(None, True, False, -1, 0, 1, 2, 3, 10**6, 10**30, -(10**30), 2**63, 1.0, 1.5, -0.5, 0.0, 0.5, 1e308),
        *(float("nan"), float("inf"), -float("inf"), 1j, Decimal("0.5"), b"x", object(), Unknown(), max, Unknown),
        *(
            "",
            "x",
            "y" * 10_000,
            "majority",
            "auto",
            "item",
            "\0",
            "é",
            "s3://x/y",
            "~x",
            "a,b,c",
            ".",
            Path("nothing"),
        ),
        *([], [1, 2], ["a", "b"], [None], [[1, 2], [3]], ["a", 1], (), (1,), (1, 2), [0.5, 0.5], [-1, 2], [0, 0]),
        *({}, {"a": 1}, {"a": [1, 2]}, {3: [1, 2]}, {1: "x"}, set(), {1, 2}, frozenset("a"), range(3), range(0)),
        *([("a", "b")], [("a", "b", "c")], [("a", "b", [1])], [("a", {}, 1)], {"item": [1], "worker": [2]}, iter([1])),
        *(np.array([]), np.zeros((2, 2)), np.array([[np.nan]]), np.array(["a", "b"]), np.array([object()])),
        *(np.float64(0.5), np.int64(2), np.bool_(True), pd.DataFrame(), pd.DataFrame({"a": [1, 2]}), pd.Series([1, 2])),
        *(np.random.default_rng(0), np.random.RandomState(0), objects["votes"], objects["result"], objects["fit"]),
        objects["state"],
    ]


def calls(functions, objects, *, reading=None):
    """Every function with every argument replaced by every value, the others as usual."""
    for name, function in functions.items():
        parameters = inspect.signature(function).parameters
        own = [p.name for p in parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        base = {key: value for key, value in usual(name, objects).items() if key in own}
        missing = [key for key in own if parameters[key].default is inspect.Parameter.empty and key not in base]
        assert not missing, f"{name} needs {missing}: say in usual() what they usually are"
        handed_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        more = Reading.__annotations__ if reading is None else reading
        for argument in [*own, *(key for key in more if handed_on and key not in own)]:
            for value in anything(objects):
                if not (argument in ("stage", "progress") and callable(value)):  # what a function of theirs raises
                    yield name, function, {**base, argument: value}, argument


def wrong(name, function, arguments, argument):
    """What is wrong about how a call ends: nothing where it works, or raises one of our errors."""
    signal.alarm(30)
    try:
        function(**arguments)
    except MajorantError:
        return None
    except Exception as error:
        return f"{name}({argument}={arguments[argument]!r:.60}): {type(error).__name__}: {str(error)[:80]}"
    finally:
        signal.alarm(0)
    return None


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
def test_random_calls_raise_our_errors_alone(objects, no_hang, functions, n):
    every = list(calls(functions, objects))
    drawn = np.random.default_rng(0).choice(len(every), n, replace=False)
    assert [fault for at in drawn if (fault := wrong(*every[at]))] == []


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("functions", [FUNCTIONS, EXACT], ids=["package", "theory"])
def test_all_calls_raise_our_errors_alone(objects, no_hang, functions):
    reading = ["item", "threshold", "empty"]
    assert [fault for call in calls(functions, objects, reading=reading) if (fault := wrong(*call))] == []


@pytest.mark.filterwarnings("ignore")
def test_methods_raise_our_errors_alone(objects, no_hang):
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
        (lambda: mj.read(ROWS, item=3), "item must be text, a list of texts or None, not 3."),
        (lambda: mj.check(ROWS, target=[]), "target must be a number, not []."),
        (lambda: mj.check(ROWS, level=1.5), "level must lie between 0.5 and 1, not 1.5."),
        (lambda: mj.scores([(0, 0, 1), (0, 1, 2)], n_boot=0), "n_boot must lie between 1 and 1,000,000, not 0."),
        (lambda: mj.plan(ROWS, max_votes=10**30), "max_votes must lie between 1 and 10,000, not so large a number."),
        (lambda: mj.plan_model([0.5, 0.5], CONFUSION, max_votes=1.0), "max_votes must be a whole number, not 1.0."),
        (lambda: mj.save_state(mj.aggregate(ROWS, "one-coin"), "s"), "state must be a State, not a Fit."),
        (lambda: mj.ask(ROWS, between="majority"), "between must be a list of texts or None, not 'majority'."),
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
def test_what_cannot_be_votes_is_told(source):
    with pytest.raises(MajorantError):
        mj.read(source)


def test_a_checked_function_is_the_function_still():
    assert pickle.loads(pickle.dumps(mj.check)) is mj.check
    assert pickle.loads(pickle.dumps(theory.gap)) is theory.gap
    assert "level" in inspect.signature(mj.check).parameters
    assert mj.check.__doc__
    with pytest.raises(TypeError, match="votes"):
        mj.check()


def test_values_that_numpy_and_pandas_make_are_taken():
    @validated
    def function(n: int, share: float, names: "list | None", order: "Sequence[str] | None" = None) -> int:  # noqa: F821
        return n

    assert function(np.int64(3), np.float32(0.5), None, np.array(["a", "b"])) == 3
    assert function(3, 1, None, pd.Series(["a", "b"])) == 3
    with pytest.raises(ConfigError, match="n must be a whole number, not True"):
        function(True, 0.5, None)
    for name, span in RANGES.items():
        middle = (span.low + span.high) / 2
        check_argument(name, middle, "float")
        with pytest.raises(ConfigError, match=name):
            check_argument(name, span.high * 2, "float")
