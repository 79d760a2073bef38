"""The contract of every method, according to its traits; new methods are tested as soon as they are registered."""

from dataclasses import replace

import numpy as np
import pytest

from crowds import coins, informed_votes, random_votes, votes_of
from majorant.errors import NotIdentified
from majorant.items import take_items
from majorant.kernels import in_memory
from majorant.methods import ESTIMATORS
from majorant.votes import Votes
from sizes import many

EXACT = {"rtol": 0, "atol": 1e-9}
# What a method must be given before it can be built: settings for votes of K classes.
SETTINGS = {"map": lambda n_classes: {"confusion": 0.5 * np.eye(n_classes) + 0.5 / n_classes}}
ROUNDED = {"rtol": 0, "atol": 1e-6}  # sums in another order: on pure noise a flat likelihood widens their last digits


def each_method(held=lambda method: True):
    """A test of every method, or of those that declare so."""
    return pytest.mark.parametrize("name", [name for name, method in ESTIMATORS.items() if held(method)])


def n_classes_for(name, wanted=3):
    return ESTIMATORS[name].traits.classes or wanted


def needs(name):
    """What the votes must bring for a method to answer: gold labels, or workers who share items; or nothing."""
    return ESTIMATORS[name].traits.needs


def fit(name, votes, *, tight=False, **arguments):
    """The answer by default settings; `tight`: iterated until nothing moves, where paths differ but ends must not."""
    settings = SETTINGS.get(name, lambda n_classes: {})(len(votes.labels))
    if tight and hasattr(ESTIMATORS[name], "tol"):
        settings["tol"] = 1e-10
    if tight and hasattr(ESTIMATORS[name], "min_rise"):
        settings["min_rise"] = None  # do not stop early
    return ESTIMATORS[name](**settings).fit(votes, **arguments)


def fit_or_refuse(name, votes):
    """The answer, or None where a method that compares workers says that there is nothing to compare."""
    try:
        return fit(name, votes)
    except NotIdentified as refusal:
        assert needs(name) == "overlap"
        reason = str(refusal)
    assert "use " in reason  # what to use instead
    return None


def crowd(name, seed=0, **sizes):
    draw = informed_votes if needs(name) else random_votes
    return draw(np.random.default_rng(seed), **{"n_classes": n_classes_for(name), **sizes})


def recoded(votes, item_of=None, worker_of=None, label_of=None, order=None):
    """The same votes with other codes (old code -> new code), handed over in another order."""
    order = np.arange(votes.n_votes) if order is None else order
    maps = [
        np.arange(len(names)) if new is None else new
        for names, new in zip((votes.items, votes.workers, votes.labels), (item_of, worker_of, label_of), strict=True)
    ]
    names = [
        [old[i] for i in np.argsort(new)]
        for old, new in zip((votes.items, votes.workers, votes.labels), maps, strict=True)
    ]
    return Votes.from_codes(
        maps[0][votes.item_n[order]],
        maps[1][votes.worker_n[order]],
        maps[2][votes.label_n[order]],
        items=names[0],
        workers=names[1],
        labels=names[2],
        gold=None if votes.gold_i is None else np.append(maps[2], -1)[votes.gold_i[np.argsort(maps[0])]],
    )


@each_method()
def test_fits_have_the_right_shapes(name):
    votes = crowd(name)
    answer = fit(name, votes)
    I, J, K = votes.shape
    assert answer.method == name
    assert answer.posterior.shape == (I, K)
    np.testing.assert_allclose(answer.posterior.sum(axis=1), 1, **EXACT)
    assert (answer.posterior >= 0).all()
    np.testing.assert_allclose(answer.prior.sum(), 1, **EXACT)
    if answer.confusion is not None:
        assert answer.confusion.shape in {(J, K, K), (K, K)}
        np.testing.assert_allclose(answer.confusion.sum(axis=-1), 1, **EXACT)
    if answer.skill is not None:
        assert answer.skill.shape == (J,)
    assert len(answer.labels()) == I
    assert isinstance(answer.converged, bool)
    assert answer.n_iter >= 0
    assert not answer.posterior.flags.writeable


@each_method()
def test_fitting_twice_gives_the_same_answer_and_leaves_the_votes_alone(name):
    votes = crowd(name)
    before = [array.copy() for array in (votes.item_n, votes.worker_n, votes.label_n, votes.offsets_i)]
    first, second = fit(name, votes), fit(name, votes)
    np.testing.assert_array_equal(first.posterior, second.posterior)
    for old, new in zip(before, (votes.item_n, votes.worker_n, votes.label_n, votes.offsets_i), strict=True):
        np.testing.assert_array_equal(old, new)


@each_method(lambda method: method.traits.order_free)
def test_result_does_not_depend_on_vote_order(name):
    votes = crowd(name)
    shuffled = recoded(votes, order=np.random.default_rng(1).permutation(votes.n_votes))
    np.testing.assert_allclose(fit(name, shuffled).posterior, fit(name, votes).posterior, **ROUNDED)


@each_method()
def test_result_does_not_depend_on_names(name):
    votes, rng = crowd(name), np.random.default_rng(2)
    item_of, worker_of, label_of = (rng.permutation(n) for n in votes.shape)
    if not ESTIMATORS[name].traits.order_free:
        item_of = np.arange(votes.shape[0])  # other item codes would be another order
    original = fit(name, votes, tight=True)
    renamed = fit(name, recoded(votes, item_of, worker_of, label_of), tight=True)
    np.testing.assert_allclose(renamed.posterior[item_of][:, label_of], original.posterior, **ROUNDED)
    if original.skill is not None:
        np.testing.assert_allclose(renamed.skill[worker_of], original.skill, **ROUNDED)


@each_method(lambda method: method.traits.monotone)
def test_objective_never_decreases(name):
    trace = np.array(fit(name, crowd(name)).trace)
    assert len(trace) > 1
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


@each_method(lambda method: method.traits.distributed)
def test_block_size_and_threads_do_not_matter(name):
    votes = crowd(name, n_items=20, n_votes=100)
    expected = fit(name, votes, tight=True).posterior
    for block_items, threads in ((1, 1), (7, 2), (20, 3)):
        engine = in_memory(votes, block_items=block_items, threads=threads)
        np.testing.assert_allclose(fit(name, votes, tight=True, engine=engine).posterior, expected, **ROUNDED)


@each_method(lambda method: method.traits.distributed)
def test_merging_equal_items_does_not_matter(name):
    votes, truth = votes_of(np.random.default_rng(0), coins([0.9, 0.8, 0.7, 0.6], 2), n_items=5_000, n_votes=3)
    votes = replace(votes, gold_i=truth)  # for methods that learn from it
    merged, apart = fit(name, votes, tight=True), fit(name, votes, tight=True, engine=in_memory(votes))
    np.testing.assert_allclose(merged.posterior, apart.posterior, rtol=0, atol=1e-6)
    np.testing.assert_allclose(merged.prior, apart.prior, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "sizes",
    [
        {"n_items": 1},
        {"n_workers": 1},
        {"n_items": 1, "n_workers": 1, "n_votes": 1},
        {"n_items": 40, "n_workers": 40, "n_votes": 40},
        {"n_items": 2, "n_workers": many(5_000, quick=1_000), "n_votes": many(10_000, quick=2_000)},
        {"n_items": 200, "n_votes": 2_000, "n_classes": 50},
    ],
    ids=["one item", "one worker", "one vote", "about one vote each", "very many votes on an item", "50 classes"],
)
@each_method()
def test_smallest_and_largest_inputs(name, sizes):
    votes = crowd(name, **{**sizes, "n_classes": n_classes_for(name, sizes.get("n_classes", 3))})
    answer = fit_or_refuse(name, votes)
    if answer is None:
        return
    assert np.isfinite(answer.posterior).all()
    np.testing.assert_allclose(answer.posterior.sum(axis=1), 1, **EXACT)


@each_method()
def test_an_item_without_votes_gets_no_label(name):
    votes = Votes.from_codes(
        [0, 0, 0, 2, 2, 2, 3, 3],
        [0, 1, 2, 0, 1, 2, 0, 1],
        [0, 0, 0, 1, 1, 1, 1, 1],
        items=["a", "silent", "b", "c"],
        workers=["w", "x", "y"],
        labels=["no", "yes"],
        gold=[0, 1, 1, -1],
    )
    answer = fit(name, votes)
    assert answer.labels()[0] == "no"
    for ties in ("flag", "first", "random", "prior"):
        assert answer.labels(ties=ties, rng=0)[1] is None


@each_method()
def test_an_item_that_counts_twice_equals_two_items(name):
    votes = crowd(name, n_items=30, n_votes=150)
    weights = np.random.default_rng(3).integers(1, 4, size=30)
    copies = take_items(votes, np.repeat(np.arange(30), weights))
    weighted, copied = fit(name, votes, tight=True, weights=weights), fit(name, copies, tight=True)
    first = np.cumsum(weights) - weights
    np.testing.assert_allclose(weighted.posterior, copied.posterior[first], rtol=0, atol=1e-6)


@each_method(lambda method: method.traits.iterative)
def test_fit_can_start_from_an_earlier_fit(name):
    votes = crowd(name)
    steps = []
    first = fit(name, votes, tight=True)
    again = fit(name, votes, tight=True, start=first, progress=lambda step, objective: steps.append(step))
    assert first.converged
    assert again.n_iter <= max(3, first.n_iter // 2)
    assert len(steps) >= 1
    np.testing.assert_allclose(again.posterior, first.posterior, rtol=0, atol=1e-3)


@each_method(lambda method: hasattr(method, "clamp_gold"))
def test_gold_items_keep_their_class(name):
    votes = crowd(name, **({} if needs(name) else {"gold": True}))  # informed votes have gold anyway
    answer = ESTIMATORS[name](clamp_gold=True).fit(votes)
    known = np.flatnonzero(votes.gold_i >= 0)
    np.testing.assert_allclose(answer.posterior[known, votes.gold_i[known]], 1, **EXACT)
