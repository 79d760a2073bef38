"""Agreement coefficients: loops over pairs of votes, published tables, the krippendorff package, degenerate data."""

from dataclasses import fields
from functools import partial

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from majorant.errors import ConfigError
from majorant.results.agreement import Agreement, Estimate
from majorant.results.agreement import agreement as measure_agreement
from majorant.results.agreement import coefficients as coefficients_module
from majorant.results.agreement import measure as measure_module
from majorant.values import Missing
from majorant.votes import Votes
from oracles import agreement as oracle

NAMES = ("percent", "cohen", "fleiss", "krippendorff", "krippendorff_ordinal", "gwet")


def agreement(votes, **settings):
    """All pairs of workers averaged, so that small tables serve."""
    return measure_agreement(votes, **({"min_common": 1, "rng": None} | settings))


def from_matrix(matrix, labels=None):
    """Items x workers, -1 for no vote."""
    matrix = np.asarray(matrix)
    item, worker = np.nonzero(matrix >= 0)
    labels = range(int(matrix.max(initial=0)) + 1) if labels is None else labels
    n_items, n_workers = matrix.shape
    return Votes.from_codes(
        item, worker, matrix[item, worker], items=range(n_items), workers=range(n_workers), labels=tuple(labels)
    )


def from_counts(rows):
    """Anonymous votes: the columns are classes; the n-th vote of every item is given the same worker."""
    return from_matrix(
        [np.repeat(np.arange(len(row)), row).tolist() + [-1] * (max(map(sum, rows)) - sum(row)) for row in rows]
    )


def from_table(table):
    """Two workers, the items of each cell of their table."""
    return from_matrix([(a, b) for (a, b), n in np.ndenumerate(np.asarray(table)) for _ in range(n)])


def ballots(matrix):
    return [[(j, int(label)) for j, label in enumerate(row) if label >= 0] for row in np.asarray(matrix)]


matrices = st.integers(1, 5).flatmap(
    lambda n_workers: st.lists(
        st.lists(st.integers(-1, 3), min_size=n_workers, max_size=n_workers), min_size=1, max_size=12
    )
)


@given(matrices)
def test_every_coefficient_equals_a_loop_over_pairs_of_votes(matrix):
    found, votes = agreement(from_matrix(matrix)), ballots(matrix)
    used = {label for ballot in votes for _, label in ballot}
    assume(any(len(ballot) > 1 for ballot in votes))
    assert found.percent.value == pytest.approx(oracle.percent(votes), abs=1e-12)
    if len(used) > 1:
        assert found.fleiss.value == pytest.approx(oracle.fleiss(votes), abs=1e-12)
        assert found.gwet.value == pytest.approx(oracle.gwet(votes), abs=1e-12)
    if len({label for ballot in votes if len(ballot) > 1 for _, label in ballot}) > 1:
        distance = oracle.ordinal_distance(votes)
        assert found.krippendorff.value == pytest.approx(oracle.krippendorff(votes), abs=1e-12)
        assert found.krippendorff_ordinal.value == pytest.approx(oracle.krippendorff(votes, distance), abs=1e-12)
    else:
        assert found.krippendorff.value is None
    mean = oracle.mean_cohen(votes)
    assert found.cohen.value == (None if mean is None else pytest.approx(mean, abs=1e-12))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("ordinal", [False, True])
def test_alpha_equals_the_krippendorff_package(seed, ordinal):
    rng = np.random.default_rng(seed)
    n_items, n_workers, n_classes = rng.integers(5, 200), rng.integers(2, 9), rng.integers(2, 8)
    truth = rng.integers(n_classes, size=(n_items, 1))
    matrix = np.where(rng.random((n_items, n_workers)) < 0.6, truth, rng.integers(n_classes, size=(n_items, n_workers)))
    matrix[rng.random(matrix.shape) < 0.4] = -1
    found = agreement(from_matrix(matrix))
    data = np.where(matrix < 0, np.nan, matrix).T
    expected = krippendorff.alpha(data, level_of_measurement="ordinal" if ordinal else "nominal")
    ours = found.krippendorff_ordinal if ordinal else found.krippendorff
    assert ours.value == pytest.approx(expected, abs=1e-12)


def test_fleiss_1971_table():
    """Ten items, fourteen votes each, five classes: the worked example usually given for the 1971 paper."""
    rows = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    found = agreement(from_counts(rows))
    assert found.fleiss.value == pytest.approx(0.210, abs=5e-4)
    assert found.percent.value == pytest.approx(0.378, abs=5e-4)


def test_cohen_two_by_two():
    """20, 5, 10, 15 of 50: observed .7, chance .5, kappa .4."""
    found = agreement(from_table([[20, 5], [10, 15]]))
    assert found.percent.value == pytest.approx(0.7)
    assert found.cohen.value == pytest.approx(0.4)
    assert found.pairs.items_p.tolist() == [50]
    assert found.pairs.kappa_p.tolist() == [pytest.approx(0.4)]


def test_two_abstractors_as_published_by_gwet():
    """100 records, 3 classes; the numbers that Gwet's package irrCAC prints for this table."""
    found = agreement(from_table([[13, 0, 0], [0, 20, 7], [0, 4, 56]]))
    assert found.percent.value == pytest.approx(0.89)
    assert found.cohen.value == pytest.approx(0.7964094, abs=5e-8)
    assert found.fleiss.value == pytest.approx(0.7962397, abs=5e-8)  # two workers: Scott's pi
    assert found.gwet.value == pytest.approx(0.8493305, abs=5e-8)
    assert found.krippendorff.value == pytest.approx(0.7972585, abs=5e-8)


FOUR_OBSERVERS = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)


def test_four_observers_with_missing_votes():
    """Krippendorff's example with gaps (alpha .743, ordinal .815); Fleiss and AC1 with unequal numbers of votes."""
    found = agreement(from_matrix(FOUR_OBSERVERS))
    assert found.krippendorff.value == pytest.approx(0.743, abs=5e-4)
    assert found.krippendorff_ordinal.value == pytest.approx(0.815, abs=5e-4)
    assert found.percent.value == pytest.approx(9 / 11)
    assert found.gwet.value == pytest.approx(0.77544, abs=5e-6)
    assert found.fleiss.value == pytest.approx(0.76117, abs=5e-6)
    assert (found.n_items, found.n_paired, found.n_classes) == (12, 11, 5)


@given(matrices, st.randoms(use_true_random=False))
def test_values_do_not_depend_on_names_or_order(matrix, random):
    matrix = np.asarray(matrix)
    rows, columns, classes = list(range(len(matrix))), list(range(matrix.shape[1])), list(range(4))
    for values in (rows, columns, classes):
        random.shuffle(values)
    renamed = np.where(matrix < 0, -1, np.asarray(classes)[matrix])[rows][:, columns]
    one, two = agreement(from_matrix(matrix, range(4))), agreement(from_matrix(renamed, range(4)))
    for name in set(NAMES) - {"krippendorff_ordinal"}:
        first, second = getattr(one, name).value, getattr(two, name).value
        assert first == (second if second is None else pytest.approx(second, abs=1e-12))


def test_order_sets_the_ordinal_alpha_and_numbers_are_sorted():
    numbers = agreement(from_matrix(FOUR_OBSERVERS)).krippendorff_ordinal.value
    words = from_matrix(FOUR_OBSERVERS, ["a", "b", "c", "d", "e"])
    assert agreement(words, order="abcde").krippendorff_ordinal.value == numbers
    assert agreement(words, order="edcba").krippendorff_ordinal.value == pytest.approx(numbers, abs=1e-12)
    assert agreement(words, order="acbde").krippendorff_ordinal.value != pytest.approx(numbers, abs=1e-3)
    without = agreement(words).krippendorff_ordinal
    assert without.value is None
    assert without.reason is Missing.NO_ORDER
    with pytest.raises(ConfigError, match="each label once"):
        agreement(words, order="abcd")


def reasons(found: Agreement) -> dict[str, str]:
    return {name: getattr(found, name).reason for name in NAMES if getattr(found, name).value is None}


@pytest.mark.parametrize("rng", [None, 0])
def test_a_single_class_leaves_only_percent(rng):
    found = agreement(from_matrix([[0, 0], [0, 0], [0, -1]]), rng=rng)
    assert found.percent.value == 1
    assert set(reasons(found)) == set(NAMES) - {"percent"}
    assert found.fleiss.reason is Missing.ONE_LABEL
    assert found.cohen.reason is Missing.FEW_COMMON_ITEMS
    assert found.pairs.defined_p.tolist() == [False]


@pytest.mark.parametrize("matrix", [[[0], [1], [0]], [[0, -1], [-1, 1]], [[-1, -1]]])
@pytest.mark.parametrize("rng", [None, 0])
def test_agreement_is_undefined_without_two_votes_on_an_item(matrix, rng):
    found = agreement(from_matrix(matrix, [0, 1]), rng=rng)
    assert set(reasons(found)) == set(NAMES)
    assert found.fleiss.reason is Missing.NO_PAIRED_VOTES
    assert found.n_paired == 0


def test_votes_without_any_item():
    found = agreement(Votes.from_codes([], [], [], items=[], workers=[], labels=[]), rng=0)
    assert set(reasons(found)) == set(NAMES)
    assert found.n_items == 0


def test_all_ties():
    """One vote each way on every item: no two votes agree."""
    found = agreement(from_matrix([[0, 1], [1, 0], [0, 1], [1, 0]]), rng=0)
    assert found.percent.value == 0
    assert found.fleiss.value == -1
    assert found.cohen.value == -1


def test_items_without_votes_and_unused_labels_change_nothing():
    more = np.vstack([FOUR_OBSERVERS, np.full((3, 4), -1)])
    one, two = agreement(from_matrix(FOUR_OBSERVERS), rng=3), agreement(from_matrix(more, range(9)), rng=3)
    for name in NAMES:
        assert getattr(one, name) == getattr(two, name)


def test_constant_pairs_with_single_votes():
    """Fleiss knows of the other class from items with one vote, Krippendorff drops these."""
    found = agreement(from_matrix([[0, 0], [0, 0], [1, -1]]), rng=0)
    assert found.fleiss.value is not None
    assert found.krippendorff.value is None
    assert found.krippendorff.reason is Missing.ONE_LABEL


def test_repeated_votes_count_and_a_worker_is_never_paired_with_themselves():
    votes = Votes.from_codes([0, 0, 0, 1, 1], [0, 0, 1, 0, 1], [0, 1, 0, 1, 1], items="ab", workers="wx", labels=(0, 1))
    found = agreement(votes, rng=0)
    assert found.pairs.n_pairs == 1
    assert found.pairs.items_p.tolist() == [2]
    assert found.cohen.value == pytest.approx(oracle.cohen({(0, 0): 1, (1, 0): 1, (1, 1): 1}))


def crowd(rng, n_items, n_workers=6, n_classes=3, right=0.7, missing=0.3):
    truth = rng.integers(n_classes, size=(n_items, 1))
    matrix = np.where(
        rng.random((n_items, n_workers)) < right, truth, rng.integers(n_classes, size=(n_items, n_workers))
    )
    matrix[rng.random(matrix.shape) < missing] = -1
    return from_matrix(matrix, range(n_classes))


def test_without_rng_no_interval_and_the_same_seed_gives_the_same():
    votes = crowd(np.random.default_rng(0), 60)
    one, two, none = agreement(votes, rng=5), agreement(votes, rng=np.random.default_rng(5)), agreement(votes)
    for name in NAMES:
        drawn, plain = getattr(one, name), getattr(none, name)
        assert drawn == getattr(two, name)
        assert drawn.low < drawn.value < drawn.high
        assert plain == Estimate(drawn.value, reason=Missing.NO_RNG)


def test_groups_of_items_give_the_interval_of_the_exact_bootstrap(monkeypatch):
    votes = crowd(np.random.default_rng(1), 4000, n_workers=12, n_classes=4)
    exact = agreement(votes, rng=0, n_boot=2000)
    monkeypatch.setattr(coefficients_module, "MOST_UNITS", 600)
    grouped = agreement(votes, rng=0, n_boot=2000)
    for name in NAMES:
        one, two = getattr(exact, name), getattr(grouped, name)
        assert one.value == two.value
        assert (one.low, one.high) != (two.low, two.high)
        assert two.high - two.low == pytest.approx(one.high - one.low, rel=0.2)


def test_resamples_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    votes = crowd(np.random.default_rng(2), 80)
    together = agreement(votes, rng=0).cohen
    monkeypatch.setattr(coefficients_module, "ENTRIES_AT_ONCE", 500)
    apart = agreement(votes, rng=0).cohen
    assert (apart.low, apart.high) == pytest.approx((together.low, together.high), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_cohen_with_item_weights_equals_cohen_with_repeated_items(seed, monkeypatch):
    """A weighted resample equals votes in which each item is repeated as often as it was drawn."""
    rng = np.random.default_rng(seed)
    n_items, weight_i = 25, rng.integers(0, 4, size=25)
    item, worker = rng.integers(n_items, size=60), rng.integers(6, size=60)
    label = rng.choice(3, p=[0.85, 0.1, 0.05], size=60)  # few and alike: some pairs are constant
    codes = {"workers": range(6), "labels": range(3)}
    votes = Votes.from_codes(item, worker, label, items=range(n_items), **codes)
    copies = [(n_items * c + i, j, l) for i, j, l in zip(item, worker, label, strict=True) for c in range(weight_i[i])]
    repeated = Votes.from_codes(*np.array(copies).T, items=range(3 * n_items), **codes)
    monkeypatch.setattr(
        coefficients_module, "draw_weights", lambda *_: iter([weight_i[votes.votes_i > 0][None].astype(float)])
    )
    monkeypatch.setattr(coefficients_module, "ENTRIES_AT_ONCE", 50)
    mean_b = coefficients_module.resampled_mean(votes, 1, 1, rng)
    expected = agreement(repeated)
    assert expected.pairs.n_averaged < expected.pairs.n_pairs
    assert mean_b.tolist() == [pytest.approx(expected.cohen.value, abs=1e-12)]


def test_cohen_interval_is_centred_where_pairs_share_few_items():
    """Any two of 40 workers share about 10 items, so resamples are below the value on average."""
    rng = np.random.default_rng(0)
    said = rng.random((1000, 40)) < rng.choice([0.1, 0.9], size=(1000, 1))
    votes = from_matrix(np.where(rng.random((1000, 40)) < 0.9, -1, said))
    resampled_b = coefficients_module.resampled_mean(votes, 1, 200, rng)
    found = agreement(votes, rng=0, n_boot=200).cohen
    assert resampled_b.mean() < found.value - 0.015
    assert (found.low + found.high) / 2 == pytest.approx(found.value, abs=0.2 * (found.high - found.low))


def test_pairs_with_few_common_items_are_left_out_of_the_mean():
    """Workers 0 and 1 share 12 items; 2 meets them on one, where a kappa can only be 0 or undefined."""
    matrix = np.column_stack([[0, 1] * 6, [0, 1] * 5 + [1, 1], [1] + [-1] * 11])
    found = measure_agreement(from_matrix(matrix), rng=0)
    assert (found.pairs.n_pairs, found.pairs.n_averaged) == (3, 1)
    assert found.cohen.value == pytest.approx(oracle.cohen({(0, 0): 5, (0, 1): 1, (1, 1): 6}))
    assert found.cohen.low > 0.3
    assert agreement(from_matrix(matrix)).cohen.value < found.cohen.value
    none = measure_agreement(from_matrix(matrix), min_common=13).cohen
    assert none.value is None
    assert none.reason is Missing.FEW_COMMON_ITEMS


def test_too_much_work_is_skipped_with_a_reason(monkeypatch):
    votes = crowd(np.random.default_rng(3), 200)
    monkeypatch.setattr(measure_module, "resampled_mean", partial(coefficients_module.resampled_mean, most_pairs=10))
    fewer = agreement(votes, rng=0)
    assert fewer.cohen.value is not None
    assert fewer.cohen.low is None
    assert fewer.cohen.reason is Missing.PAIRS_NOT_RESAMPLED
    monkeypatch.setattr(measure_module, "_cohen", partial(measure_module._cohen, most_pairs=10))
    none = agreement(votes, rng=0)
    assert none.cohen.value is None
    assert none.pairs is None
    assert none.cohen.reason is Missing.TOO_MANY_VOTE_PAIRS
    few = partial(coefficients_module.resampled_coefficients, most_entries=100)
    monkeypatch.setattr(measure_module, "resampled_coefficients", few)
    ordinal = agreement(votes, rng=0).krippendorff_ordinal
    assert ordinal.value == fewer.krippendorff_ordinal.value
    assert ordinal.reason is Missing.CLASSES_NOT_RESAMPLED


def test_only_the_largest_pairs_are_listed_but_all_are_averaged(monkeypatch):
    votes = crowd(np.random.default_rng(4), 100)
    full = agreement(votes)
    monkeypatch.setattr(measure_module, "pair_kappas", partial(coefficients_module.pair_kappas, most_listed=4))
    short = agreement(votes)
    assert short.cohen == full.cohen
    assert (len(short.pairs.items_p), short.pairs.n_pairs) == (4, 15)
    assert sorted(short.pairs.items_p) == sorted(full.pairs.items_p)[-4:]


def test_a_rare_class_gives_no_interval_where_resamples_lose_it():
    matrix = np.zeros((200, 3), dtype=int)
    matrix[0] = [0, 1, 1]
    found = agreement(from_matrix(matrix), rng=0)
    assert found.fleiss.value is not None
    assert found.fleiss.low is None
    assert found.fleiss.reason is Missing.UNDEFINED_RESAMPLES
    assert found.percent.low is not None


@pytest.mark.parametrize(("level", "n_boot"), [(0, 1000), (1.0, 1000), (0.95, 99)])
def test_invalid_interval_settings_are_rejected(level, n_boot):
    with pytest.raises(ConfigError):
        agreement(from_matrix([[0, 1]]), rng=0, level=level, n_boot=n_boot)


def test_no_field_is_nan():
    found = agreement(crowd(np.random.default_rng(6), 30), rng=0)
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, Estimate):
            assert not any(np.isnan(x) for x in (value.value, value.low, value.high))


def coverage(n_crowds, n_items, n_boot, level):
    """How often the interval holds what the same crowd shows on very many items."""
    rng = np.random.default_rng(7)
    truth = agreement(crowd(rng, 40_000))
    hits = dict.fromkeys(NAMES, 0)
    for _ in range(n_crowds):
        found = agreement(crowd(rng, n_items), rng=rng, level=level, n_boot=n_boot)
        for name in NAMES:
            hits[name] += getattr(found, name).low <= getattr(truth, name).value <= getattr(found, name).high
    return hits


def test_intervals_cover_at_about_their_level():
    """At 60 % both too narrow and too wide would show: of 100, four standard deviations are 20."""
    for name, hits in coverage(100, 150, 100, level=0.6).items():
        assert 40 <= hits <= 80, name


@pytest.mark.long
def test_intervals_cover_at_their_level():
    """90 % of 2000 is 1800, one standard deviation 13; the truth itself is known to a tenth of an interval's width."""
    for name, hits in coverage(2000, 400, 1000, level=0.9).items():
        assert 1740 <= hits <= 1850, name


@pytest.mark.long
def test_an_item_with_five_thousand_votes():
    label = np.arange(5000) % 3
    votes = Votes.from_codes(
        np.r_[np.zeros(5000, int), np.ones(5000, int)],
        np.r_[np.arange(5000), np.arange(5000)],
        np.r_[label, label // 2],
        items="ab",
        workers=range(5000),
        labels=range(3),
    )
    found = agreement(votes, rng=0)
    assert found.pairs.n_pairs == 5000 * 4999 // 2
    assert found.cohen.reason is Missing.PAIRS_NOT_RESAMPLED
    assert found.krippendorff.value is not None
