"""Each erratum of docs/errata.md that is a claim about numbers, shown; the number in the name is the erratum's."""

import csv
import json
import os
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from majorant.theory import paper
from oracles import paper as oracle

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "theory.json").read_text())
SYNTHETIC = {"alpha": (0.2, 0.7, 0.7), "beta": (0.5, 0.9, 0.9), "gamma": (0.3, 0.6, 0.75), "delta": (0.9, 0.6, 0.9)}
# the printed anchor T00 and T11, number of votes, check mark
REAL = {
    "SP": (0.57, 0.65, 5, False),
    "SP_amt": (0.64, 0.64, 20, True),
    "ZenCrowd_in": (0.58, 0.51, 5, False),
    "D-Product": (0.72, 0.55, 3, False),
}


def model(prior_0, right_0, right_1):
    return [prior_0, 1 - prior_0], [[right_0, 1 - right_0], [1 - right_1, right_1]]


def margin(prior_0, right_0, right_1, n_votes):
    return float(oracle.shared_margins(np.array([[prior_0, 1 - prior_0]]), np.array([[right_0, right_1]]), n_votes)[0])


def draws(seed, n, low=0.5, high=1.0, edge=0.05):
    rng = np.random.default_rng(seed)
    prior_0 = rng.uniform(edge, 1 - edge, n)
    return np.stack([prior_0, 1 - prior_0], axis=1), rng.uniform(low, high, (n, 2))


def rows_of(name):
    """(worker, item, label, gold) of each vote, straight from the published file."""
    folder = os.environ.get("MAJORANT_DATA")
    if not folder:
        pytest.skip("MAJORANT_DATA names no folder with the paper's data sets")
    if name != "D-Product":
        with (Path(folder) / "active-crowd-toolkit" / f"{name}.csv").open(newline="") as lines:
            return [(row[0], row[1], int(row[2]), int(row[3])) for row in csv.reader(lines)]
    product = Path(folder) / "crowd-truth-inference" / "d_jn-product"
    with (product / "truth.csv").open(newline="") as lines:
        gold = {row["item"]: int(row["truth"]) for row in csv.DictReader(lines)}
    with (product / "label.csv").open(newline="") as lines:
        return [(row["worker"], row["item"], int(row["label"]), gold[row["item"]]) for row in csv.DictReader(lines)]


def by_item(rows):
    """The labels and the gold label of each item, items in order of appearance."""
    labels, gold = defaultdict(list), {}
    for _, item, label, truth in rows:
        labels[item].append(label)
        gold[item] = truth
    return labels, gold


def majority_accuracy(rows, pick):
    """Share of items whose majority label is right; `pick` chooses among tied labels, None halves the credit."""
    labels, gold = by_item(rows)
    total = 0.0
    for item, votes in labels.items():
        count = Counter(votes)
        best = [label for label, n in count.items() if n == max(count.values())]
        total += (gold[item] in best) / len(best) if pick is None else gold[item] == pick(best)
    return total / len(labels)


def counted_confusion(rows, once_per_item):
    """Label frequencies given the gold class; `once_per_item` repeats the published slip."""
    labels, gold = by_item(rows)
    count_kl = np.zeros((2, 2))
    for item, votes in labels.items():
        for label in set(votes) if once_per_item else votes:
            count_kl[gold[item], label] += 1
    prior_0 = sum(truth == 0 for truth in gold.values()) / len(gold)
    return [prior_0, 1 - prior_0], count_kl / count_kl.sum(axis=1, keepdims=True)


def test_01_code_for_theorem_3_4_is_wrong_on_48_percent_and_reverses_gamma_and_delta():
    prior_bk, right_b2 = draws(1, 8_000)
    margin_b = oracle.shared_margins(prior_bk, right_b2, 3)
    code = [
        paper.theorem_3_4_code(*model(p, a, b), 3).holds for p, a, b in zip(prior_bk[:, 0], *right_b2.T, strict=True)
    ]
    assert np.mean(np.array(code) != (margin_b > 0)) == pytest.approx(0.48, abs=0.02)
    for name, reversed_ in [("alpha", False), ("beta", False), ("gamma", True), ("delta", True)]:
        right, wrong = (
            paper.theorem_3_4(*model(*SYNTHETIC[name]), 3),
            paper.theorem_3_4_code(*model(*SYNTHETIC[name]), 3),
        )
        assert right.holds == (margin(*SYNTHETIC[name], 3) > 0)
        assert (right.holds != wrong.holds) == reversed_


def test_02_sp_satisfies_theorem_3_4_at_its_own_printed_numbers():
    row = GOLDEN["real_table_printed_T"]["SP"]
    at_print = (row["nu0"], row["T00"], row["T11"])
    assert margin(*at_print, 5) == pytest.approx(0.268, abs=5e-4)
    assert paper.theorem_3_4(*model(*at_print), 5).holds
    assert not paper.theorem_3_4_code(*model(*at_print), 5).holds


def test_02_all_four_real_marks_come_out_only_with_both_code_errors():
    match = {}
    for check in (paper.theorem_3_4, paper.theorem_3_4_code):
        for once in (False, True):
            verdicts = [check(*counted_confusion(rows_of(name), once), REAL[name][2]).holds for name in REAL]
            match[check, once] = verdicts == [mark for *_, mark in REAL.values()]
    assert [key for key, same in match.items() if same] == [(paper.theorem_3_4_code, True)]


def test_03_d_product_satisfies_theorem_3_4_by_a_hair():
    condition = paper.theorem_3_4(*counted_confusion(rows_of("D-Product"), once_per_item=False), 3)
    assert condition.holds
    assert condition.lower == pytest.approx(0.1376, abs=5e-5)
    assert condition.value == pytest.approx(0.1384, abs=5e-5)
    assert not paper.theorem_3_4(*counted_confusion(rows_of("D-Product"), once_per_item=True), 3).holds


def test_04_anchor_estimate_counts_distinct_labels():
    assert paper.anchor_limit([[0.9, 0.1], [0.1, 0.9]], 5)[0, 0] == pytest.approx(0.709, abs=5e-4)
    rng = np.random.default_rng(4)
    vote_ih = rng.random((200_000, 5)) < 0.9
    seen_l = np.array([(~vote_ih).any(axis=1).sum(), vote_ih.any(axis=1).sum()])
    assert seen_l[1] / seen_l.sum() == pytest.approx(0.7095, abs=0.002)


@pytest.mark.parametrize("name", REAL)
def test_04_printed_confusions_of_real_sets_follow_the_slip(name):
    rows = rows_of(name)
    slip = counted_confusion(rows, once_per_item=True)[1].diagonal()
    right = counted_confusion(rows, once_per_item=False)[1].diagonal()
    np.testing.assert_allclose(slip, REAL[name][:2], atol=0.015)
    assert np.abs(right - REAL[name][:2]).max() > 0.1


def test_05_code_divides_the_threshold_by_rho():
    row = GOLDEN["perturbed_table"][0]
    at = model(row["nu0"], row["T00"], row["T11"])
    right = paper.vote_threshold(*at, 3, 0)
    assert 1 < right < 2
    assert right * np.log(paper.rho(at[1])) / paper.rho(at[1]) < 0.7
    assert paper.perturbed_sigma_code(*at, 3) > 2 * paper.perturbed_sigma_mended(*at, 3)


def test_06_printed_sigma_is_never_positive_from_two_votes_on():
    prior_bk, right_b2 = draws(6, 5_000, high=0.99)
    for prior_0, (a, b), n_votes in zip(prior_bk[:, 0], right_b2, 2 + np.arange(5_000) % 8, strict=True):
        assert paper.perturbed_sigma_printed(*model(prior_0, a, b), int(n_votes)) <= 0
    assert paper.perturbed_sigma_printed(*model(0.5, 0.8, 0.8), 1) > 0


def test_07_mended_sigma_is_sound_down_to_error_rates_of_a_thousandth():
    prior_bk, right_b2 = draws(7, 8_000, low=0.501, high=0.999)
    keep = oracle.shared_margins(prior_bk, right_b2, 3) > 1e-6
    prior_bk, right_b2 = prior_bk[keep], right_b2[keep]
    sigma_b = np.array(
        [paper.perturbed_sigma_mended(*model(p, a, b), 3) for p, a, b in zip(prior_bk[:, 0], *right_b2.T, strict=True)]
    )
    assert (oracle.worst_pool_margins(prior_bk, right_b2, 3, sigma_b) > -1e-9).all()


def test_07_mended_sigma_fails_for_nearly_perfect_workers():
    """The proof's -log(1-x) <= x/(1+x) runs the wrong way, and here it shows; `perturbed_sigma` is safe."""
    right = 1 - 1.234098e-4
    at = model(0.5, right, right)
    both = np.array([[right, right]])
    mended, safe = (np.array([f(*at, 3)]) for f in (paper.perturbed_sigma_mended, paper.perturbed_sigma))
    assert mended[0] < 1 - right  # every T_h is a proper confusion
    assert oracle.worst_pool_margins(np.array([[0.5, 0.5]]), both, 3, mended)[0] < -1
    assert oracle.worst_pool_margins(np.array([[0.5, 0.5]]), both, 3, safe)[0] > 0
    assert paper.perturbed_sigma_mended(*model(0.5, 1 - 1e-5, 1 - 1e-5), 3) > 1e-5  # not even a proper confusion


def test_08_perturbed_row_6_6_9_must_be_a_cross():
    row = GOLDEN["perturbed_table"][7]
    assert (row["T00"], row["T11"], row["nu0"], row["published_satisfied"]) == (0.6, 0.6, 0.9, True)
    assert row["published_omap"] - row["published_mv"] > 0.25  # in the same row
    assert not paper.theorem_3_3(*model(0.9, 0.6, 0.6)).holds
    assert margin(0.9, 0.6, 0.6, 3) == pytest.approx(-1.79, abs=0.005)


def test_09_perturbed_row_6_6_6_lies_on_the_boundary():
    assert margin(0.6, 0.6, 0.6, 3) == pytest.approx(0, abs=1e-12)
    assert paper.perturbed_sigma_mended(*model(0.6, 0.6, 0.6), 3) == 0
    rng = np.random.default_rng(9)
    sigma = paper.perturbed_sigma_code(*model(0.6, 0.6, 0.6), 3)
    right_bh = 0.6 - rng.uniform(-sigma, sigma, (20_000, 3))
    crew_bhkl = oracle.diagonal(right_bh, right_bh)
    optimal = oracle.crew_margins(np.tile([0.6, 0.4], (20_000, 1)), crew_bhkl) > 0
    assert np.mean(optimal) == pytest.approx(0.0615, abs=0.006)


def test_10_lemma_3_2_at_a_whole_threshold():
    prior, confusion = model(0.6, 0.6, 0.6)
    truth = float(prior @ oracle.rates(np.array([prior]), oracle.shared([confusion], 3), "map")[0])
    text, appendix = paper.lemma_3_2_text(prior, confusion, 3), paper.lemma_3_2_appendix(prior, confusion, 3)
    assert truth == pytest.approx(0.648, abs=5e-4)
    assert prior @ paper.lemma_3_2(prior, confusion, 3) == pytest.approx(truth, abs=1e-12)
    assert prior @ text == pytest.approx(0.475, abs=5e-4)
    assert prior @ appendix == pytest.approx(0.821, abs=5e-4)


def test_11_accuracies_are_equal_on_the_boundary_too():
    for prior_0, a, b in [(0.6, 0.6, 0.6), (0.25, 0.75, 0.75)]:
        prior, confusion = model(prior_0, a, b)
        assert not paper.theorem_3_3(prior, confusion).holds
        assert prior @ paper.lemma_3_1(confusion, 3) == pytest.approx(prior @ paper.lemma_3_2(prior, confusion, 3))


def test_12_a_class_may_be_labelled_worse_than_by_chance():
    assert margin(0.5, 0.45, 0.6, 3) > 0
    assert paper.theorem_3_4(*model(0.5, 0.45, 0.6), 3).holds
    prior_bk, right_b2 = draws(12, 20_000, low=0.02, high=0.98)
    optimal = oracle.shared_margins(prior_bk, right_b2, 3) > 0
    assert (right_b2.sum(axis=1) > 1)[optimal].all()
    assert (right_b2.min(axis=1) < 0.5)[optimal].mean() > 0.05


def test_13_the_optimal_region_shrinks_as_votes_are_added():
    prior_bk, right_b2 = draws(13, 60_000, edge=0)
    share = [np.mean(oracle.shared_margins(prior_bk, right_b2, h) > 0) for h in (3, 5, 7, 11, 21, 51)]
    np.testing.assert_allclose(share, [0.406, 0.312, 0.253, 0.182, 0.108, 0.049], atol=0.008)
    assert (np.diff(share) < 0).all()


def steepest(n_votes, xi, power_x, power_y):
    """Largest gradient of x^i (1-x)^j y^-k (1-y)^-l on a grid over [1/2, 1-xi]^2."""
    x, y = np.meshgrid(*[np.linspace(0.5, 1 - xi, 801)] * 2)
    (i, j), (k, l) = power_x, power_y
    value = x**i * (1 - x) ** j / (y**k * (1 - y) ** l)
    return np.hypot(value * (i / x - j / (1 - x)), value * (l / (1 - y) - k / y)).max()


def test_15_lipschitz_constants_are_far_too_small():
    of_h, of_f = steepest(3, 0.1, (2, 1), (1, 2)), steepest(3, 0.1, (1, 2), (2, 1))
    assert of_h == pytest.approx(311, abs=0.5)
    assert paper.lipschitz_h_printed(3, 0.1) == pytest.approx(7.4, abs=0.05)
    assert of_f == pytest.approx(12.4, abs=0.05)
    assert paper.lipschitz_f_printed(3, 0.1) == pytest.approx(1.1, abs=0.05)
    assert paper.chi(3, 0.1) < of_f  # the factor that Theorem 3.5 uses for f


def printed(*args, **kwargs):
    with pytest.warns(paper.FalseAsPrinted):
        return paper.theorem_3_5_printed(*args, **kwargs)


def test_16_theorem_3_5_as_printed_certifies_a_model_whose_optimum_is_not_majority():
    row = GOLDEN["test_vectors"]["theorem_3_5_counterexample"]
    prior, truth = model(*row["true"])
    shares = np.array(prior) @ np.array(truth)
    _, guess = model(*row["est"])
    assert np.linalg.norm(np.array(truth) - guess, 2) <= row["eps"]
    prior_guess = paper.prior_from_shares(shares, guess)
    assert prior_guess[0] == pytest.approx(row["est"][0], rel=1e-12)
    assumed = {"eps": row["eps"], "eta": row["eta"], "xi": row["xi"]}
    check = printed(prior_guess, guess, 3, **assumed)
    for field in ("psi", "chi", "lhs1", "rhs1", "lhs2", "rhs2"):
        assert getattr(check, field) == pytest.approx(row[field], rel=1e-9)
    with_singular = printed(prior_guess, guess, 3, **assumed, smallest="singular")
    assert with_singular.psi == pytest.approx(row["psi_with_singular_value"], rel=1e-9)
    assert check.certified
    assert with_singular.certified
    true = paper.theorem_3_4(prior, truth, 3)
    assert [true.lower, true.value, true.upper] == pytest.approx(row["true_fgh"], rel=1e-9)
    assert margin(*row["true"], 3) == pytest.approx(row["true_margin"], rel=1e-9)
    assert margin(*row["true"], 3) < -0.13
    assert not paper.theorem_3_5(shares, guess, 3, eps=row["eps"]).certified
    gap = prior @ paper.lemma_3_2(prior, truth, 3) - prior @ paper.lemma_3_1(truth, 3)
    assert gap == pytest.approx(row["gap"], rel=1e-9)


def test_16_the_printed_recovery_of_the_prior_does_not_save_theorem_3_5():
    row = GOLDEN["test_vectors"]["theorem_3_5_counterexample"]
    prior, truth = model(*row["true"])
    _, guess = model(*row["est"])
    literal = paper.prior_from_shares_printed(np.array(prior) @ np.array(truth), guess)
    ratio = literal[1] / literal[0]
    check = printed([1 / (1 + ratio), ratio / (1 + ratio)], guess, 3, eps=row["eps"], eta=0.44, xi=row["xi"])
    assert check.certified


def test_17_the_prior_needs_the_inverse_of_the_transpose():
    prior, confusion = model(0.7, 0.9, 0.6)
    shares = np.array(prior) @ np.array(confusion)
    np.testing.assert_allclose(paper.prior_from_shares(shares, confusion), prior)
    literal = paper.prior_from_shares_printed(shares, confusion)
    assert np.abs(literal - prior).max() > 0.02
    assert literal.sum() != pytest.approx(1, abs=0.01)
    assert np.linalg.norm(literal - prior) > paper.prior_error_printed(confusion, 1e-3)  # with no error at all


def test_18_the_smallest_eigenvalue_is_not_enough_for_four_classes():
    chain = 0.3 * np.eye(4) + 0.7 * np.eye(4, k=1)
    chain[3, 3] = 1.0
    prior, eps = np.full(4, 0.25), 1e-3
    shares = prior @ chain + eps * np.array([1, -1, 1, -1])
    error = np.linalg.norm(prior - paper.prior_from_shares(shares, chain))
    assert error > 1.5 * paper.prior_error_printed(chain, eps)
    assert error < paper.prior_error(chain, eps) < paper.prior_error_printed(chain, eps, smallest="singular")


def test_18_for_two_classes_the_smallest_eigenvalue_is_enough():
    """Errors of shares sum to zero, and such vectors are eigenvectors of T' for the eigenvalue T00 + T11 - 1."""
    rng = np.random.default_rng(18)
    for _ in range(3_000):
        prior_0, right_2 = rng.random(), rng.uniform(0.5, 1, 2)
        eps = 10 ** rng.uniform(-4, -1)
        angle = rng.uniform(0, 2 * np.pi)
        guess_2 = right_2 + eps / np.sqrt(2) * np.array([np.cos(angle), np.sin(angle)])
        if guess_2.max() > 1 or guess_2.sum() < 1 + 2 * eps:
            continue
        prior, truth = model(prior_0, *right_2)
        _, guess = model(prior_0, *guess_2)
        shares = np.clip(np.array(prior) @ np.array(truth) + eps * np.array([1, -1]), 0, 1)
        error = np.linalg.norm(prior - paper.prior_from_shares(shares, guess))
        assert error <= paper.prior_error_printed(guess, eps) * (1 + 1e-9)


def test_19_the_probability_of_theorem_3_5_has_three_forms():
    text = paper.theorem_3_5_confidence_text(0.1, 0.01, 5000)
    appendix = paper.theorem_3_5_confidence(0.1, 0.01, 5000)
    code = paper.theorem_3_5_confidence_code(0.1, 0.01, 5000)
    assert text < 0 < appendix < 1 < code


def test_20_noisy_label_shares_are_not_the_prior():
    prior, confusion = model(0.9, 0.7, 0.7)
    shares = np.array(prior) @ np.array(confusion)
    assert shares[0] == pytest.approx(0.66)
    assert paper.theorem_3_3(shares, confusion).holds
    assert not paper.theorem_3_3(prior, confusion).holds


def test_21_two_category_sums_start_at_zero():
    first, second = model(0.5, 0.58, 0.8)[1], model(0.5, 0.8, 0.58)[1]
    truth = oracle.rates(
        np.array([[0.55, 0.45]]),
        np.concatenate([oracle.shared([first], 3), oracle.shared([second], 4)], axis=1),
        "majority",
    )[0]
    np.testing.assert_allclose(paper.two_category_majority(first, second, 3, 4), truth)
    lost = truth - paper.two_category_majority_printed(first, second, 3, 4)
    np.testing.assert_allclose(lost, [0.42**3 * 0.8**4, 0.2**3 * 0.58**4], rtol=1e-9)
    map_lost = paper.two_category_map([0.55, 0.45], first, second, 3, 4)
    map_lost = map_lost - paper.two_category_map_printed([0.55, 0.45], first, second, 3, 4)
    assert map_lost.min() > 0


def test_22_two_category_table_was_made_with_four_and_three():
    spread = {}
    for n_a, n_b in [(3, 4), (4, 3)]:
        z = []
        for row in GOLDEN["two_group_table"]:
            prior = [row["nu0"], 1 - row["nu0"]]
            rate = prior @ paper.two_category_majority(model(0.5, *row["TA"])[1], model(0.5, *row["TB"])[1], n_a, n_b)
            z.append((row["published_mv"] - rate) / np.sqrt(rate * (1 - rate) / 10_000))
        spread[n_a, n_b] = np.abs(z).max()
    assert spread[4, 3] < 1.5
    assert spread[3, 4] > 13


def test_22_code_slip_leaves_the_marks_of_the_two_category_table():
    for row in GOLDEN["two_group_table"]:
        at = ([row["nu0"], 1 - row["nu0"]], model(0.5, *row["TA"])[1], model(0.5, *row["TB"])[1], 4, 3)
        assert paper.two_category_condition(*at).holds == row["published_satisfied"]


def test_23_no_prior_satisfies_the_printed_multiclass_condition():
    rng = np.random.default_rng(23)
    for _ in range(4_000):
        n_classes = int(rng.integers(2, 7))
        error_rate = float(rng.uniform(0.01, 1 - 1 / n_classes - 0.01))
        assert not paper.multiclass_condition_printed(rng.dirichlet(np.full(n_classes, 5.0)), error_rate)
    assert not paper.multiclass_condition_printed([0.25] * 4, 0.1)
    assert paper.multiclass_condition([0.25] * 4, 0.1, 5).holds


def test_24_counting_ties_for_both_labels_makes_the_notebook_condition_unsatisfiable():
    """Two tied labels would each have to be likelier than the other: checked on models where majority is optimal."""
    rng = np.random.default_rng(24)
    prior_bk = rng.dirichlet([40.0] * 3, 500)
    confusion = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    crew_bhkl = oracle.shared(np.tile(confusion, (500, 1, 1)), 3)
    assert (oracle.crew_margins(prior_bk, crew_bhkl) > 0).all()
    pattern_ph = oracle.patterns(3, 3)
    joint_bpk = oracle.joint(prior_bk, crew_bhkl, pattern_ph)
    count_pk = np.stack([(pattern_ph == k).sum(axis=1) for k in range(3)], axis=1)
    winner_pk = count_pk == count_pk.max(axis=1, keepdims=True)
    least_b = np.full(500, np.inf)
    for i in range(3):
        for j in set(range(3)) - {i}:
            least_b = np.minimum(
                least_b, (joint_bpk[:, winner_pk[:, i], i] - joint_bpk[:, winner_pk[:, i], j]).min(axis=1)
            )
    assert (least_b <= 1e-9).all()


def test_25_alpha_fails_and_beta_holds():
    assert not paper.theorem_3_3(*model(*SYNTHETIC["alpha"])).holds
    assert paper.theorem_3_3(*model(*SYNTHETIC["beta"])).holds


@pytest.mark.parametrize(
    ("name", "items", "printed_v_tr", "printed_h", "fewest", "most"),
    [
        ("SP", 4999, 203, 5, 4, 10),
        ("SP_amt", 500, 143, 20, 20, 20),
        ("ZenCrowd_in", 2040, 25, 5, 2, 20),
        ("MS", 700, 44, 4, 1, 7),
        ("CF_amt", 300, 110, 20, 20, 25),
        ("D-Product", 8315, 176, 3, 3, 3),
    ],
)
def test_25_table_1_prints_workers_as_task_rank_and_truncated_means(name, items, printed_v_tr, printed_h, fewest, most):
    rows = rows_of(name)
    votes_i = [len(votes) for votes in by_item(rows)[0].values()]
    assert len(votes_i) == items
    assert len({worker for worker, *_ in rows}) == printed_v_tr
    assert int(np.mean(votes_i)) == printed_h
    assert (min(votes_i), max(votes_i)) == (fewest, most)


def test_26_estimated_table_row_6_is_for_another_prior():
    def z(prior_0):
        prior, confusion = model(prior_0, 0.7, 0.55)
        rate = prior @ paper.lemma_3_1(confusion, 3)
        return (0.701 - rate) / np.sqrt(rate * (1 - rate) / 100_000)

    assert z(0.68) < -10
    assert abs(z(0.6)) < 1


def test_28_the_tie_rule_moves_published_accuracies():
    rows = rows_of("SP")
    first, random_, last = (majority_accuracy(rows, pick) for pick in (min, None, max))
    assert (first, random_, last) == pytest.approx((0.8896, 0.8859, 0.8822), abs=5e-5)


def test_29_the_gap_theorem_fails_when_the_prior_is_estimated_too():
    """One-parameter T, one vote: nu = .9, T = .51, estimate .6; the paper's eMAP takes its prior from the estimate."""
    prior, truth = model(0.9, 0.51, 0.51)
    _, guess = model(0.9, 0.6, 0.6)
    shares = np.array(prior) @ np.array(truth)
    prior_guess = paper.prior_from_shares_printed(shares, guess)  # T is symmetric, so print is right here
    one = [np.array([x]) for x in (prior, truth, prior_guess, guess)]
    loss = oracle.plug_in_loss(*one, 1)[0]
    assert loss == pytest.approx(0.39, abs=1e-9)
    assert loss > 1.9 * paper.estimated_map_loss_printed(0.9, 1, 0.09)
    assert loss < paper.estimated_map_loss(1, 0.09, abs(prior[0] - prior_guess[0]))
    known = oracle.plug_in_loss(one[0], one[1], one[0], one[3], 1)[0]
    assert known <= paper.estimated_map_loss_printed(0.9, 1, 0.09)


def test_29_the_gap_theorem_holds_when_the_prior_is_known():
    prior_bk, right_b2 = draws(29, 20_000)
    rng = np.random.default_rng(29)
    guess_b2 = np.clip(right_b2 + rng.uniform(-0.2, 0.2, right_b2.shape), 0.01, 0.99)
    eps_b = np.abs(guess_b2 - right_b2).max(axis=1)
    loss_b = oracle.plug_in_loss(prior_bk, oracle.diagonal(*right_b2.T), prior_bk, oracle.diagonal(*guess_b2.T), 3)
    bound_b = [paper.estimated_map_loss_printed(p, 3, e) for p, e in zip(prior_bk[:, 0], eps_b, strict=True)]
    assert (loss_b <= bound_b).all()


def test_31_a_symmetric_estimate_turns_the_verdict_in_the_papers_own_table():
    assert not paper.theorem_3_4(*model(0.65, 0.55, 0.8), 3).holds
    assert paper.theorem_3_4(*model(0.54, 0.71, 0.71), 3).holds


def test_33_majority_vote_on_d_product_is_not_905():
    rows = rows_of("D-Product")
    assert {len(votes) for votes in by_item(rows)[0].values()} == {3}
    assert majority_accuracy(rows, None) == pytest.approx(0.8966, abs=5e-5)


def test_34_zencrowd_in_was_used_without_579_repeated_rows():
    rows = rows_of("ZenCrowd_in")
    distinct = list(dict.fromkeys(rows))
    assert len(rows) - len(distinct) == 579
    assert len(distinct) // 5 == 2125  # the printed worker rank, votes over the printed H
    assert len(rows) // 5 == 2241


def test_35_agreement_is_normalised_by_the_last_item():
    votes_i = np.array([len(votes) for votes in by_item(rows_of("SP"))[0].values()])
    pairs = (votes_i * (votes_i - 1)).sum()
    share = pairs / (votes_i[-1] * (votes_i[-1] - 1) * len(votes_i))
    assert abs(share - 1) > 0.2  # a table of shares that ought to add up to 1


def test_36_wilcoxon_on_labels_does_not_see_accuracy():
    truth = np.repeat([0, 1], 500)
    worse = truth.copy()
    worse[:100], worse[-100:] = 1, 0
    assert stats.wilcoxon(worse, truth, method="asymptotic").pvalue > 0.99
    assert stats.binomtest(0, 200).pvalue < 1e-50  # McNemar: 200 items differ, the truth is right on all
