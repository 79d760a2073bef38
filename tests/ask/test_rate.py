"""Bounds for a mean from labels in random order: exact for any predictor, and narrow where the panel helps."""

from itertools import permutations

import numpy as np
import pytest

from majorant.ask import rate
from majorant.ask.rate import Bets, Features, bounds, evidence_above, labels_for, log_capitals, offer_bets
from majorant.values import FloatArray

ALPHA = 0.025


def bets_of(features: Features, order: FloatArray, y: FloatArray) -> Bets:
    learned = features.learn(order, y)
    return offer_bets((features.predict(row) for row in learned), order, y, n=len(features.value_id))


def panel(
    rng: np.random.Generator, n: int, share: float, accuracy: float, judges: int = 5
) -> tuple[FloatArray, Features]:
    truth = rng.permutation(np.arange(n) < round(share * n)).astype(float)
    said = np.where(rng.random((n, judges)) < accuracy, truth[:, None], 1 - truth[:, None])
    return truth, Features.of(said.mean(axis=1, keepdims=True), said)


@pytest.fixture
def near_horizons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts that end within a few labels, so that all of the betting is exercised."""
    monkeypatch.setattr(rate, "horizons", lambda n: (np.array([2.0, 3.0, 5.0]), np.array([0.3, 0.4, 0.3])))


@pytest.mark.usefixtures("near_horizons")
@pytest.mark.parametrize("up", [True, False])
def test_capital_is_fair_over_all_orders(up: bool) -> None:
    rng = np.random.default_rng(0)
    y = np.array([1.0, 0, 1, 0.5, 0, 1])
    features = Features.of(rng.random((6, 1)), rng.random((6, 3)))
    total = np.zeros(5)
    for order in map(np.array, permutations(range(6), 5)):
        bets = bets_of(features, order, y[order])
        bets, mean = (bets, y.mean()) if up else (rate.mirrored(bets), -y.mean())
        total += np.exp([log_c[0] for log_c in log_capitals(bets, [mean], ALPHA)])
    np.testing.assert_allclose(total / 720, 1.0, atol=1e-9)


@pytest.mark.parametrize("n", [60, 400])
def test_evidence_decreases_with_the_candidate_rate(n: int) -> None:
    rng = np.random.default_rng(1)
    for accuracy in (0.5, 0.8, 1.0):
        truth, features = panel(rng, n, 0.3, accuracy)
        order = rng.permutation(n)[: n // 2]
        evidence = evidence_above(bets_of(features, order, truth[order]), np.linspace(0, 1, 400), ALPHA)
        with np.errstate(invalid="ignore"):
            assert (np.nan_to_num(np.diff(evidence), nan=0.0) <= 1e-9).all()


def test_labelling_every_item_gives_the_exact_mean() -> None:
    truth, features = panel(np.random.default_rng(2), 40, 0.35, 0.7)
    order = np.random.default_rng(3).permutation(40)
    assert bounds(bets_of(features, order, truth[order]), ALPHA) == pytest.approx((0.35, 0.35))


def test_without_labels_there_is_no_claim() -> None:
    bets = offer_bets(None, [], [], n=10)
    assert bounds(bets, ALPHA) == (0.0, 1.0)
    assert bets.estimate is None


def test_unknown_labels_count_as_the_worst_case() -> None:
    rng = np.random.default_rng(4)
    truth, features = panel(rng, 300, 0.6, 0.8)
    order = rng.permutation(300)[:80]
    y = truth[order]
    hidden = np.where(np.arange(80) % 16 == 5, np.nan, y)
    learned = features.learn(order, hidden)  # the predictor must not see what is unknown
    ends = [
        bounds(offer_bets((features.predict(row) for row in learned), order, values, n=300), ALPHA)
        for values in (hidden, y, np.where(np.isnan(hidden), 0, y), np.where(np.isnan(hidden), 1, y))
    ]
    # Of the squares of the residuals, those that are unknown are left out of the variance: hence the little slack.
    assert all(ends[0][0] <= low + 0.01 and high - 0.01 <= ends[0][1] for low, high in ends[1:])


def test_bounds_reach_whole_numbers_of_items() -> None:
    low, high = bounds(offer_bets(None, np.arange(20), [1.0] * 18 + [0.0] * 2, n=25), ALPHA, whole=True)
    assert (low * 25) % 1 == pytest.approx(0, abs=1e-9)
    assert 18 / 25 <= low < high <= 23 / 25 + 1e-9


def test_differences_of_unequal_slices() -> None:
    """A contrast: the mean of c y over both slices is the difference of their rates."""
    rng = np.random.default_rng(5)
    first, second = (
        rng.permutation(np.arange(120) < 96).astype(float),
        rng.permutation(np.arange(240) < 96).astype(float),
    )
    y, c = np.concatenate([first, second]), np.repeat([360 / 120, -360 / 240], [120, 240])
    order = rng.permutation(360)[:250]
    bets = offer_bets(None, order, c[order] * y[order], n=360, low_i=np.minimum(c, 0), high_i=np.maximum(c, 0))
    low, high = bounds(bets, ALPHA)
    assert 0 < low < 0.4 < high < 0.65


def misses(n: int, share: float, accuracy: float, labels: int, runs: int, seed: int) -> float:
    """The share of runs whose true mean is refuted at any label."""
    rng, refuted = np.random.default_rng(seed), 0
    goal = -np.log(ALPHA)
    for _ in range(runs):
        truth, features = panel(rng, n, share, accuracy)
        order = rng.permutation(n)[:labels]
        bets = bets_of(features, order, truth[order])
        up = evidence_above(bets, [truth.mean()], ALPHA)[0]
        down = evidence_above(rate.mirrored(bets), [-truth.mean()], ALPHA)[0]
        refuted += up >= goal or down >= goal
    return refuted / runs


@pytest.mark.parametrize(
    ("n", "share", "accuracy"), [(60, 0.9, 0.7), (300, 0.02, 0.9), (300, 0.5, 0.5), (300, 0.8, 1.0)]
)
def test_interval_rarely_misses_the_truth_at_any_look(n: int, share: float, accuracy: float) -> None:
    # At a true miss rate of 5%, more than 15 of 150 runs miss in fewer than 1% of repetitions.
    assert misses(n, share, accuracy, labels=min(60, n // 2), runs=150, seed=6) <= 0.1


def test_wrong_odds_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows that the check above can fail: bets that ignore earlier draws miss far too often."""
    real = rate.offer_bets

    def forgetful(*args: object, **options: object) -> Bets:
        bets = real(*args, **options)  # type: ignore[arg-type]
        return rate.replace(bets, known_st=np.repeat(bets.known_st[:, :1], bets.labels, axis=1))

    monkeypatch.setitem(globals(), "offer_bets", forgetful)
    assert misses(60, 0.9, 0.7, labels=30, runs=60, seed=6) > 0.3


def half_widths(features: Features, truth: FloatArray, labels: int, runs: int) -> tuple[float, float]:
    """With the predictor and with labels alone, on average."""
    rng, n, both = np.random.default_rng(7), len(truth), []
    for _ in range(runs):
        order = rng.permutation(n)[:labels]
        pair = (bets_of(features, order, truth[order]), offer_bets(None, order, truth[order], n=n))
        both.append([np.diff(bounds(bets, ALPHA))[0] / 2 for bets in pair])
    learned, alone = np.mean(both, axis=0)
    return float(learned), float(alone)


def test_useless_panel_needs_few_extra_labels() -> None:
    truth, features = panel(np.random.default_rng(8), 1000, 0.6, 0.5)
    for labels in (30, 100):
        learned, alone = half_widths(features, truth, labels, runs=12)
        assert learned <= 1.06 * alone


def test_good_panels_need_fewer_labels() -> None:
    truth, features = panel(np.random.default_rng(9), 1000, 0.7, 0.85)
    learned, alone = half_widths(features, truth, 100, runs=8)
    assert learned <= 0.65 * alone


def test_interval_from_labels_alone_is_close_to_a_fixed_sample() -> None:
    truth, features = panel(np.random.default_rng(10), 5000, 0.5, 0.5)
    _, alone = half_widths(features, truth, 100, runs=8)
    assert alone <= 1.3 * 1.96 * 0.5 / 10


def test_planned_labels_reach_the_target_width() -> None:
    truth, features = panel(np.random.default_rng(11), 2000, 0.7, 0.8)
    spread = 0.33
    labels = labels_for(0.05, spread=spread, n=2000, alpha=ALPHA)
    learned, _ = half_widths(features, truth, labels, runs=6)
    assert 0.03 <= learned <= 0.065
