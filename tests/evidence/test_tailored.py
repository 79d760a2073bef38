"""Tailored linear inversion: every bound against brute force, and the certificate against exact enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from majorant.evidence.certificate import tailored_inversion as invert
from majorant.evidence.certificate import tailored_rejection as rejection
from majorant.evidence.certificate.count_models import flatten, suprema
from majorant.evidence.certificate.tailored_inversion import (
    FEWEST,
    beyond_face,
    deepest,
    far_excluded,
    is_proved,
    within,
)
from majorant.evidence.certificate.tailored_rejection import (
    WIDEST,
    Run,
    divergence_cut,
    divergence_floor,
    hull_divergence,
    least_on_cube,
    local,
    log_chernoff,
    mirrored,
    null_side,
    reach,
    run_from,
    run_probability,
    sides_of_square,
    squares_of,
    tailored_weights,
)
from oracles.histograms import Crowd
from oracles.lattice import all_histograms, law_of_sum, multinomial, tail_of_sum
from sizes import many

MIXED = {3: np.array([30.0, 20, 25, 50]), 5: np.array([30.0, 20, 25, 50, 7, 9])}
SINGLE = {5: np.array([12.0, 9, 4, 5, 8, 12])}
NULLS = (null_side(MIXED, 5, 3), null_side(MIXED, 3, 2), null_side(SINGLE, 5, 3), null_side({4: np.ones(5) * 9}, 4, 3))
SOME_NULLS = [
    pytest.param(one, id=str(n), marks=[pytest.mark.long] if n in (1, 2) else []) for n, one in enumerate(NULLS)
]


def boxes(null, runs, seed, sizes=(0.03, 0.2, 0.8)):
    """Random boxes of null models, one by one: centre and half sides, each (1, 3)."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        y = rng.uniform(-4, 2)
        centre = np.array([[y + rng.uniform(0.3, 4), y, rng.exponential(1.5)]])
        yield centre, rng.uniform(0, 1, (1, 3)) * rng.choice(sizes), rng


def inside(centre, half, rng, count=40):
    """Models of the box: its corners, and others at random."""
    corners = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    return centre + half * np.concatenate([corners, rng.uniform(-1, 1, (count, 3))])


def divergence(null, point_bi):
    return null.saturated - local(null, point_bi).log_cell_bc @ null.items_c


def groups(null, cell_c, weight_c):
    return [
        (cell_c[null.cells.votes_c == h], weight_c[null.cells.votes_c == h], null.total_c[null.cells.votes_c == h][0])
        for h in np.unique(null.cells.votes_c)
    ]


@pytest.mark.parametrize("null", SOME_NULLS)
def test_probabilities_are_those_of_two_binomials_on_the_boundary(null):
    x, y, depth = 1.3, -0.8, 0.7
    a, r = expit([x, y])
    odds = binom.pmf(null.n_zeros, null.n_votes, r) / binom.pmf(null.n_zeros, null.n_votes, a) * np.exp(-depth)
    nu = odds / (1 + odds)
    by_hand = [
        nu * binom.pmf(k, h, a) + (1 - nu) * binom.pmf(k, h, r)
        for h, k in zip(null.cells.votes_c, null.cells.zeros_c, strict=True)
    ]
    assert local(null, np.array([[x, y, depth]])).cell_bc[0] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("null", SOME_NULLS)
def test_derivatives_are_those_of_finite_differences(null):
    point, step = np.array([[1.2, -0.7, 0.4], [3.0, -2.0, 1.0]]), 1e-4
    here = local(null, point)

    def cell(*shift):
        return local(null, point + step * np.array(shift)).cell_bc

    for i, e in enumerate(np.eye(3)):
        slope = (cell(*e) - cell(*-e)) / (2 * step) / here.cell_bc
        assert here.score_bic[:, i] == pytest.approx(slope, abs=1e-6)
        for j, f in enumerate(np.eye(3)):
            second = (cell(*(e + f)) - cell(*(e - f)) - cell(*(f - e)) + cell(*(-e - f))) / (4 * step**2)
            assert here.second_bijc[:, i, j] == pytest.approx(second / here.cell_bc, abs=1e-5)


def tightness(null, runs=80):
    """The largest ratio of what happens along lines through random boxes to what `reach` allows."""
    found = np.zeros(4)
    t = np.linspace(0, 1, 101)
    for centre, half, rng in boxes(null, runs, seed=1):
        near = reach(null, local(null, centre), half)
        way = (half * rng.choice([-1, 1, 0.3], 3))[0]
        along = local(null, centre + t[:, None] * way)
        s = np.einsum("bic,i->bc", along.score_bic, way)
        q = np.einsum("bijc,i,j->bc", along.second_bijc, way, way)
        third = np.gradient(q * along.cell_bc, t, axis=0)[1:-1] / along.cell_bc[1:-1]
        spread = np.sqrt((null.total_c * along.cell_bc * s**2).sum(axis=1))
        pairs = ((s, near.slope_bc), (q, near.bend_bc), (third, near.twist_bc), (spread, near.spread_b))
        found = np.maximum(found, [np.max(np.abs(value) / bound) for value, bound in pairs])
    return found


@pytest.mark.parametrize("null", SOME_NULLS)
def test_slope_bend_twist_and_spread_stay_within_their_bounds(null):
    found = tightness(null)
    assert (found <= 1 + 1e-6).all(), found
    assert (found >= 0.6).all(), found  # bounds that a small mistake would break


def test_the_check_of_the_bounds_can_fail(monkeypatch):
    right = rejection._class_bounds

    def wrong(null, here, half_bi):
        return tuple(bound * 0.8 for bound in right(null, here, half_bi))

    monkeypatch.setattr(rejection, "_class_bounds", wrong)
    assert (tightness(NULLS[0]) > 1).any()


@pytest.mark.parametrize("null", SOME_NULLS)
def test_no_model_in_a_box_is_nearer_than_its_floor(null):
    least = np.inf
    for centre, half, rng in boxes(null, 60, seed=2):
        near = divergence(null, inside(centre, half, rng)).min()
        floor = divergence_floor(null, rejection.around(null, centre, half, np.zeros(1)))[0]
        convex = hull_divergence(null, within(null, np.stack([centre - half, centre + half], axis=2)))[0]
        assert near >= floor
        assert near >= convex
        least = min(least, near - max(floor, convex))
    assert least < 0.05  # the better of the two is close for some box


def nearest_in_product(null, box_ie, rng):
    """The least divergence over models with (x, y, nu) in the box, of many at random and on its edges."""
    low, high = np.array([*expit(box_ie[:2, 0]), box_ie[2, 0]]), np.array([*expit(box_ie[:2, 1]), box_ie[2, 1]])
    part = np.concatenate([rng.uniform(0, 1, (400, 3)), np.round(rng.uniform(0, 1, (60, 3)))])
    a, r, nu = (low + part * (high - low)).T[..., None]
    votes, zeros, orders = null.cells.votes_c, null.cells.zeros_c, np.exp(null.log_orders_c)
    cell = orders * (nu * a**zeros * (1 - a) ** (votes - zeros) + (1 - nu) * r**zeros * (1 - r) ** (votes - zeros))
    with np.errstate(divide="ignore"):
        return (null.saturated - np.log(cell) @ null.items_c).min()


def hull_gaps(null, sizes, runs=60):
    """How far the bound is below the nearest model, for boxes of these sizes, some without end."""
    rng, gaps = np.random.default_rng(8), []
    for _ in range(runs):
        size = rng.choice(sizes)
        x = np.sort(rng.normal(0, 2, 2))[::-1]
        nu = rng.uniform(0, 1)
        box = np.stack([[*x - size, max(nu - size, 0)], [*x + size, min(nu + size, 1)]], axis=1)
        if size > 1:
            box[0, 1], box[1, 0] = rng.choice([box[0, 1], np.inf]), rng.choice([box[1, 0], -np.inf])
        gaps.append(nearest_in_product(null, box, rng) - hull_divergence(null, box[None])[0])
    return np.array(gaps)


@pytest.mark.parametrize("null", SOME_NULLS)
def test_no_model_is_nearer_than_the_hull_of_its_box(null):
    assert (hull_gaps(null, (0.02, 0.2, 1.0, 4.0)) > 0).all()
    assert np.median(hull_gaps(null, (0.01,))) < 0.3  # sharp where the box is small


def test_the_check_of_the_hull_can_fail(monkeypatch):
    right = rejection._largest
    monkeypatch.setattr(rejection, "_largest", lambda *arguments: 0.9 * right(*arguments))
    assert (hull_gaps(NULLS[0], (0.02, 0.2)) < 0).any()


def test_bernstein_coefficients_hold_the_polynomial_between_them():
    """Largest coefficient: at least the largest value on the interval, and equal to it where that is at an end."""
    rng = np.random.default_rng(9)
    for null in NULLS:
        pull_bc = rng.exponential(1, (40, len(null.items_c)))
        ends = np.sort(rng.uniform(0, 1, (40, 2, 2)), axis=2)
        most_b2 = rejection._largest(null, pull_bc, ends)
        chance = ends[..., :1] + np.linspace(0, 1, 101) * (ends[..., 1:] - ends[..., :1])
        votes, zeros, orders = null.cells.votes_c, null.cells.zeros_c, np.exp(null.log_orders_c)
        law = orders * chance[..., None] ** zeros * (1 - chance[..., None]) ** (votes - zeros)
        value = np.einsum("bitc,bc->bit", law, pull_bc)
        assert (most_b2 >= value.max(axis=2) - 1e-9).all()
        rising = (np.diff(value, axis=2) > 0).all(axis=2) & (ends[..., 1] - ends[..., 0] < 0.1)
        assert rising.any()
        assert most_b2[rising] == pytest.approx(value.max(axis=2)[rising], rel=0.02)


def test_the_least_value_on_a_cube_is_below_that_of_every_point():
    rng = np.random.default_rng(3)
    point_p3 = np.concatenate([rng.uniform(-1, 1, (3000, 3)), rng.choice([-1.0, 1.0], (50, 3))])
    for _ in range(200):
        root = rng.normal(size=(3, 3)) * rng.choice([0.3, 1, 3])
        bend = root @ root.T - rng.choice([0, 0, 1]) * np.eye(3)
        slope = rng.normal(size=3) * 2
        value = point_p3 @ slope + ((point_p3 @ bend) * point_p3).sum(axis=1) / 2
        bound = least_on_cube(slope[None], bend[None])[0]
        assert bound <= value.min() + 1e-9
        if np.linalg.eigvalsh(bend)[0] >= 0:
            assert bound >= value.min() - 0.35 * (1 + np.abs(bend).max())


def test_the_sum_over_frequencies_is_the_convolution():
    rng = np.random.default_rng(4)
    for null in NULLS:
        point = np.array([[1.1, -0.9, 0.2], [1.4, -1.0, 0.5]])
        weight_c = rng.integers(-9, 10, len(null.items_c)).astype(float)
        here = local(null, point)
        run = Run(target=35, length=40, cycle=101)
        value_b, slope_bi = run_probability(null, here.cell_bc, here.score_bic, weight_c, run)
        for b in range(2):
            lowest, law = law_of_sum(groups(null, here.cell_bc[b], weight_c))
            residue = (lowest + np.arange(len(law)) - run.target) % run.cycle
            slack = value_b[b] - law[residue < run.length].sum()
            assert 0 <= slack < 2 * rejection.TAIL_ROUNDING
        for i in range(3):
            shift = 1e-5 * np.eye(3)[i]
            up, down = (
                run_probability(null, moved.cell_bc, moved.score_bic, weight_c, run)[0]
                for moved in (local(null, point + shift), local(null, point - shift))
            )
            assert slope_bi[:, i] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_large_targets_cost_no_digits():
    null = null_side({3: np.array([260_000.0, 240_000, 240_000, 260_000])}, 3, 2)
    here = local(null, np.array([[1.386, -1.386, 1.386]]))
    weight_c = np.array([100.0, 103, 98, 101])
    mean, variance = here.cell_bc[0] @ weight_c, here.cell_bc[0] @ (weight_c**2) - (here.cell_bc[0] @ weight_c) ** 2
    target = 1e6 * mean + 1.7 * np.sqrt(1e6 * variance)
    value_b, _ = run_probability(
        null, here.cell_bc, here.score_bic, weight_c, run_from(target, np.sqrt(1e6 * variance))
    )
    shifted, _ = run_probability(
        null, here.cell_bc, here.score_bic, weight_c - 100, run_from(int(target) - 10**8, np.sqrt(1e6 * variance))
    )
    assert value_b[0] == pytest.approx(shifted[0], abs=1e-9)
    assert value_b[0] == pytest.approx(0.0446, abs=1e-3)


def excess(null, runs, seed):
    """log of bound over largest exact tail in the box: of the margin statistic, by Chernoff, and by Hoelder."""
    fine, chernoff, hoelder = [], [], []
    for centre, half, rng in boxes(null, runs, seed, sizes=(0.02, 0.06, 0.2)):
        box = rejection.around(null, centre, half, np.zeros(1))
        weights = tailored_weights(null, centre)
        weight_c = weights.margin_sc[0]
        mean = sum(n * (p @ w) for p, w, n in groups(null, box.here.cell_bc[0], weight_c))
        target = np.round(mean + rng.uniform(0, 3) * weights.spread_s[0])
        models = local(null, inside(centre, half, rng, 12)).cell_bc
        largest = max(tail_of_sum(groups(null, cell_c, weight_c), target) for cell_c in models)
        bound = rejection.largest_tail(null, box, weight_c, run_from(target, weights.spread_s[0]))[0]
        fine.append(np.log(bound / largest))
        tilt = np.array([rng.uniform(0, 3) / weights.spread_s[0]])
        bound = log_chernoff(null, box, weight_c[None], np.array([target]), tilt)[0]
        chernoff.append(bound - np.log(largest))
        at_centre = tail_of_sum(groups(null, box.here.cell_bc[0], weight_c), target)
        hoelder.append(np.log(rejection.elsewhere(box.near, np.array([at_centre]))[0] / largest))
    return np.array(fine), np.array(chernoff), np.array(hoelder)


@pytest.mark.parametrize("null", SOME_NULLS)
def test_no_model_in_a_box_has_a_larger_tail_than_its_bounds(null):
    fine, chernoff, hoelder = excess(null, many(20, quick=12), seed=5)
    assert (fine > 0).all()
    assert (chernoff > 0).all()
    assert (hoelder > 0).all()
    assert fine.min() < 0.02  # close where the box is small
    assert hoelder.min() < 0.2


def test_the_check_of_the_tails_can_fail(monkeypatch):
    right = rejection.run_probability

    def wrong(*arguments):
        value_b, slope_bi = right(*arguments)
        return value_b, 0 * slope_bi

    monkeypatch.setattr(rejection, "run_probability", wrong)
    monkeypatch.setattr(rejection, "elsewhere", lambda near, centre_b: np.ones_like(centre_b))
    fine, _, _ = excess(NULLS[0], many(20, quick=12), seed=5)
    assert (fine < 0).any()


def test_the_check_of_hoelder_can_fail(monkeypatch):
    right = rejection.reach

    def wrong(null, here, half_bi):
        near = right(null, here, half_bi)
        return replace(near, away_b=0 * near.away_b)

    monkeypatch.setattr(rejection, "reach", wrong)
    assert any((excess(null, many(20, quick=12), seed=5)[2] < 0).any() for null in NULLS)


@pytest.mark.parametrize("null", SOME_NULLS)
def test_no_model_in_a_box_is_further_from_the_centre_than_its_reach(null):
    """In chi-square distance, all items together; and cell by cell."""
    closest = 0.0
    for centre, half, rng in boxes(null, 60, seed=10):
        here = local(null, centre)
        near = reach(null, here, half)
        away = local(null, inside(centre, half, rng)).cell_bc / here.cell_bc - 1
        found = np.sqrt((null.total_c * here.cell_bc * away**2).sum(axis=1)).max()
        assert found <= near.away_b[0]
        assert (np.abs(np.log1p(away)) <= near.slope_bc + 1e-12).all()
        closest = max(closest, found / near.away_b[0])
    assert closest > 0.9


def test_the_divergence_exceeds_its_cut_less_often_than_promised():
    """By enumeration of every histogram of a few items; and half the cut would not do."""
    broken = False
    for n_items, cell_c in ((12, [0.4, 0.1, 0.2, 0.3]), (9, [0.9, 0.05, 0.03, 0.02]), (30, [0.5, 0.2, 0.3])):
        histogram_bc = all_histograms(n_items, len(cell_c))
        share = histogram_bc / n_items
        with np.errstate(divide="ignore", invalid="ignore"):
            nats = (histogram_bc * np.where(share > 0, np.log(share / np.array(cell_c)), 0.0)).sum(axis=1)
        chance = multinomial(histogram_bc, np.array(cell_c))
        assert chance.sum() == pytest.approx(1)
        for error in (0.3, 0.05, 0.001):
            cut = divergence_cut([len(cell_c) - 1], error)
            assert chance[nats > cut].sum() <= error
            broken |= chance[nats > cut / 3].sum() > error
    assert broken


def test_weights_depend_on_the_square_and_not_on_the_votes():
    other = null_side({h: row[::-1] for h, row in MIXED.items()}, 5, 3)
    point = np.array([[1.31, -0.62, 0.3], [1.33, -0.61, 0.9], [5.0, -9.0, 3.1], [5.1, -9.1, 3.9]])
    square, which = squares_of(NULLS[0], point)
    assert which[0] == which[1]
    assert which[2] == which[3]
    one, two = tailored_weights(NULLS[0], square), tailored_weights(other, square)
    assert (one.margin_sc == two.margin_sc).all()
    assert (one.nuisance_sjc == two.nuisance_sjc).all()
    assert (one.margin_sc == np.round(one.margin_sc)).all()
    assert sides_of_square(NULLS[0], np.array([0.0, 5.0, -9.0])).tolist() == [0.125, 0.5, 2.0]


def test_weights_are_blind_to_first_order_to_the_other_parameters():
    null = null_side({5: 1e4 * SINGLE[5]}, 5, 3)
    point = np.array([[1.0, -1.2, 0.0]])
    here, weight_c = local(null, point), tailored_weights(null, point).margin_sc[0] / 4
    along_i = (here.cell_bc[0] * here.score_bic[0]) @ weight_c
    assert np.abs(along_i[:2]).max() < 0.1  # rounding of the weights
    assert along_i[2] < -0.01


FACES = (*NULLS, null_side({2: np.ones(3)}, 2, 2))


@pytest.mark.parametrize("null", FACES, ids=range(5))
def test_far_models_are_next_to_those_that_are_searched_or_in_the_far_boxes(null):
    """Beyond WIDEST: same share of class 0, no more than `beyond_face` away, no smaller divergence."""
    rng, held = np.random.default_rng(6), 0
    for _ in range(80):
        x, y = WIDEST + rng.exponential(3), rng.uniform(-17, 6)
        if rng.random() < 0.3:
            x, y = rng.uniform(-6, 17), -WIDEST - rng.exponential(3)
        beyond = np.array([[x, y, rng.exponential(6)]])
        logit_nu = local(null, beyond).logit_nu_b[0]
        face = np.array([[min(x, WIDEST), max(y, -WIDEST), 0.0]])
        face[0, 2] = local(null, face).logit_nu_b[0] - logit_nu
        box = np.stack([face - 0.1, face + 0.1], axis=2)
        box[0, :2] = np.clip(box[0, :2], -WIDEST, WIDEST)
        slack = beyond_face(null, box)[0]
        away = null.total_c * np.abs(local(null, beyond).cell_bc[0] - local(null, face).cell_bc[0])
        assert away.sum() / 2 <= slack
        assert divergence(null, beyond)[0] >= divergence(null, face)[0] - slack
        searched = face[0, 2] >= 0
        assert searched or in_far_boxes(null, x, y, expit(logit_nu))
        held += not searched
    assert (held > 0) == (null.n_zeros < null.n_votes)


def in_far_boxes(null, x, y, nu):
    return any(
        all(low <= value <= high for value, (low, high) in zip((x, y, nu), box, strict=True))
        for box in invert.far_boxes(null)
    )


def test_deep_models_are_in_the_far_boxes():
    for null in NULLS:
        for x in np.linspace(-15, 16, 12):
            for y in np.linspace(-16, x, 12):
                nu = expit(local(null, np.array([[x, y, deepest(null)]])).logit_nu_b[0])
                assert nu <= FEWEST


def test_first_boxes_cover_the_null_and_halves_cover_their_box():
    for null in NULLS:
        box_bie = invert._layers(null, invert.first_boxes())
        assert box_bie[:, 2, 1].max() >= deepest(null)
        rng = np.random.default_rng(7)
        y = rng.uniform(-WIDEST, WIDEST, 500)
        point = np.stack([rng.uniform(y, WIDEST), y, rng.uniform(0, deepest(null), 500)], axis=1)
        held = (box_bie[:, None, :, 0] <= point[None]) & (point[None] <= box_bie[:, None, :, 1])
        assert held.all(axis=2).any(axis=0).all()
    halved = invert.halves(box_bie, np.arange(len(box_bie)) % 3)
    volume = np.prod(halved[..., 1] - halved[..., 0], axis=1).sum()
    assert volume == pytest.approx(np.prod(box_bie[..., 1] - box_bie[..., 0], axis=1).sum())


def likeliest(histograms):
    cells, items_c = flatten(histograms)
    return suprema(cells, items_c[None])[1][0, 0]


def drawn(crowd, seed):
    return {h: table[0].astype(float) for h, table in crowd.draw(1, np.random.default_rng(seed)).items()}


def test_a_rejected_side_has_no_model_that_exact_tests_let_stand():
    """Brute force: a fine grid of null models around the data, each tested exactly, where the inversion rejects."""
    rejected = 0
    for seed in range(3):
        histograms = drawn(Crowd("", 0.55, 0.9, 0.1, {3: 150}), seed)
        null = null_side(histograms, 3, 2)
        levels = rejection.Levels.of(null, 0.05)
        if not invert.invert(null, 0.05).rejected:
            continue
        rejected += 1
        x, y, d = (axis.ravel() for axis in np.meshgrid(*(np.linspace(*ends) for ends in GRID)))
        point = np.stack([x, y, d], axis=1)[x > y]
        point = point[divergence(null, point) <= levels.cut]
        square, which = squares_of(null, point)
        weights = tailored_weights(null, square)
        for model, s in zip(local(null, point).cell_bc[::11], which[::11], strict=True):
            assert is_rejected(null, model, weights, s, levels), model
    assert rejected >= 2


GRID = ((0.5, 5, 19), (-5, -0.5, 19), (0, 2, 9))


def is_rejected(null, cell_c, weights, s, levels):
    """By the exact margin test, or by the four two-sided nuisance tests, their weights rounded for the convolution."""
    weight_c = weights.margin_sc[s]
    if tail_of_sum(groups(null, cell_c, weight_c), weight_c @ null.items_c) <= levels.margin:
        return True
    for nuisance_c in weights.nuisance_sjc[s]:
        weight_c = np.round(40 * nuisance_c)
        for sign in (-1, 1):
            target = sign * weight_c @ null.items_c
            if tail_of_sum(groups(null, cell_c, sign * weight_c), target) <= levels.nuisance:
                return True
    return False


def false_rejections(error, point, n_items, margin=1.0):
    """The exact probability under a null model that its own tests reject it, by enumeration of all histograms."""
    histogram_bc = all_histograms(n_items, 4)
    found = 0.0
    null = null_side({3: histogram_bc[0].astype(float)}, 3, 2)
    chance = multinomial(histogram_bc, local(null, np.array([point])).cell_bc[0])
    for row, probability in zip(histogram_bc, chance, strict=True):
        null = null_side({3: row.astype(float)}, 3, 2)
        levels = rejection.Levels.of(null, error)
        levels = rejection.Levels(levels.cut, levels.nuisance, margin * levels.margin)
        found += probability * (not rejection.stand(null, np.array([point]), levels)[0])
    return found


def test_a_true_model_is_rejected_no_more_often_than_promised():
    for point in ((1.4, -1.4, 0.0), (2.5, -1.0, 0.5)):
        assert false_rejections(0.4, point, n_items=8) <= 0.4
    assert false_rejections(0.4, point, n_items=8, margin=1.9) > 0.4  # the check can fail


def test_a_limit_on_boxes_can_only_refuse():
    histograms = {3: np.array([260.0, 240, 240, 260])}
    null = null_side(histograms, 3, 2)
    found = invert.invert(null, 0.05)
    assert found.why == "all rejected"
    work = found.boxes * (4 + invert.CELLS_OF_A_BOX)
    assert invert.invert(null, 0.05, work // 2).why == "too many boxes"


def test_a_model_that_is_not_rejected_is_found_near_the_likeliest():
    """Exactly what a model on the boundary expects: it stands, and so does the side, with or without a search."""
    crowd = Crowd("", 0.8, 0.8, 0.2, {5: 2000})
    null = null_side(mirrored({5: np.round(2000 * sum(crowd.cells(5)))}), 5, 3)
    on_edge = np.log([4, 0.25, 0.25])
    assert invert.some_stands(null, 0.05, on_edge)
    assert invert.invert(null, 0.05).why == "a model stands"
    good = null_side({5: np.round(2000 * sum(Crowd("", 0.5, 0.8, 0.2, {5: 2000}).cells(5)))}, 5, 3)
    assert not invert.some_stands(good, 0.05, on_edge)


def test_columns_and_layers_cover_what_they_are_cut_from():
    for null in NULLS:
        column = np.array([[[1.0, 2.0], [-3.0, -1.0], [0.0, np.inf]]])
        parts, rng = column, np.random.default_rng(11)
        while np.isinf(parts[:, 2, 1]).any():
            parts = invert._cut_columns(null, parts)
        depth = rng.uniform(0, deepest(null), 300)
        point = np.stack([rng.uniform(1, 2, 300), rng.uniform(-3, -1, 300), depth], axis=1)
        held = (parts[:, None, :, 0] <= point) & (point <= parts[:, None, :, 1])
        assert held.all(axis=2).any(axis=0).all()


def test_unanimous_items_prove_nothing_about_narrow_majorities():
    histograms = {3: np.array([2500.0, 0, 0, 2500])}
    assert not is_proved(histograms, 3, likeliest(histograms), 0.05)


def test_votes_that_no_model_fits_prove_nothing():
    """Two of three votes for one class on every item: no mixture of binomials does that, so no null would be left."""
    histograms = {3: np.array([0.0, 500, 500, 0])}
    assert not is_proved(histograms, 3, likeliest(histograms), 0.05)
    null = null_side(histograms, 3, 2)
    assert far_excluded(null, divergence_cut([3], 0.001))  # without the gate, this side would be rejected


def test_mixed_numbers_of_votes_prove_together_what_neither_proves_alone():
    histograms = drawn(Crowd("", 0.5, 0.8, 0.2, {3: 300, 5: 150}), 3)
    theta = likeliest(histograms)
    assert is_proved(histograms, 3, theta, 0.05)
    assert not is_proved({3: histograms[3]}, 3, likeliest({3: histograms[3]}), 0.05)


def test_a_few_items_prove_nothing():
    for histograms in ({3: np.array([1.0, 0, 0, 0])}, {3: np.array([3.0, 1, 1, 4])}, {1: np.ones(2), 3: np.ones(4)}):
        assert not is_proved(histograms, 3, likeliest(histograms), 0.05)
