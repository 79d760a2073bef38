"""The items to review first: their order, their votes, and why they are doubtful."""

from dataclasses import replace

import numpy as np
import pytest

import majorant as mj
from crowds import mixed_crew
from majorant.methods.majority import Majority
from majorant.render.review import review_facts, review_line
from majorant.results.review import Reason, Said, label_doubt, review
from majorant.simulate import simulate
from majorant.votes import Votes


def small():
    """Items: a split 2-1, b tied, c unanimous, d one vote, e none."""
    return Votes.from_codes(
        [0, 0, 0, 1, 1, 2, 2, 2, 3],
        [0, 1, 2, 0, 1, 0, 1, 2, 2],
        [0, 0, 1, 0, 1, 1, 1, 1, 1],
        items="abcde",
        workers="xyz",
        labels=["no", "yes"],
    )


LABELS = np.array([0, 1, 1, 1, -1])
SURE = np.array([0.6, 0.5, 0.9, 0.7, np.nan])


def test_without_models_the_least_confident_come_first():
    found = review(small(), LABELS, SURE)
    assert found.items == ("b", "a", "d", "c")
    assert not found.by_models
    assert found.reason == (Reason.TIE, Reason.NEAR_TIE, Reason.ONE_VOTE, Reason.WEAK_WORKERS)


def test_with_models_the_median_doubt_about_the_written_label_decides():
    chances = ([0.9, 0.2, 0.5, 0.1, 0.5], [0.8, 0.3, 0.4, 0.2, 0.5], [0.1, 0.6, 0.9, 0.3, 0.5])
    models = [np.array([[p, 1 - p] for p in column]) for column in chances]
    np.testing.assert_allclose(label_doubt(small(), LABELS, SURE, models)[:4], [0.2, 0.3, 0.5, 0.2])
    found = review(small(), LABELS, SURE, models=models, by_models=True)
    assert found.items == ("c", "b", "a", "d")
    assert found.by_models


def test_review_gain_is_slightly_above_the_sum_of_doubts():
    found = review(small(), LABELS, SURE, most=2)
    assert np.isclose(found.gain, 1.3 * (0.5 + 0.4) / 4)
    assert "2 most doubtful items would raise accuracy by about 29 points" in review_line(found)


def test_review_lists_voters_with_the_written_label_first():
    found = review(small(), LABELS, SURE, most=2)
    assert found.said[0] == (Said("yes", ("y",)), Said("no", ("x",)))
    assert found.said[1] == (Said("no", ("x", "y")), Said("yes", ("z",)))
    table = found.table()
    assert list(table) == ["item", "label", "confidence", "runner_up", "votes", "said", "reason"]
    assert table["said"] == ["yes: y; no: x", "no: x, y; yes: z"]
    assert list(table["runner_up"]) == ["no", "yes"]


def test_many_workers_are_named_up_to_ten():
    votes = Votes.from_codes([0] * 14, range(14), [1] * 13 + [0], items="a", workers=range(14), labels="ny")
    [said] = review(votes, np.array([1]), np.array([0.9])).table()["said"]
    assert said == "y: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more; n: 13"
    assert review_facts(review(votes, np.array([1]), np.array([0.9])))["rows"][0]["said"][0]["votes"] == 13


def test_items_with_gold_and_items_without_label_are_not_listed():
    votes = replace(small(), gold_i=np.array([-1, 1, -1, -1, -1]))
    assert review(votes, LABELS, SURE).items == ("a", "d", "c")
    none = Votes.from_codes([], [], [], items="ab", workers="x", labels="ny")
    empty = review(none, np.array([-1, -1]), np.full(2, np.nan))
    assert len(empty.item_p) == 0
    assert review_line(empty) == ""


def test_review_reasons_include_overturned_majorities_and_dissenting_good_workers():
    votes = Votes.from_codes([0] * 3 + [1] * 5, [0, 1, 2, 0, 1, 2, 3, 4], [0, 0, 1, 0, 0, 0, 1, 0],
                             items="ab", workers="vwxyz", labels="ny")  # fmt: skip
    found = review(votes, np.array([1, 0]), np.array([0.6, 0.8]), good=np.array([True, False, False, True, True]))
    assert found.reason == (Reason.OVERTURNED, Reason.GOOD_WORKERS_DISAGREE)


def test_confidence_orders_labels_that_the_models_do_not_doubt():
    certain = [np.eye(2)[np.maximum(LABELS, 0)]] * 3
    doubt_i = label_doubt(small(), LABELS, SURE, certain)
    listed = np.flatnonzero(np.isfinite(doubt_i))
    assert np.argsort(-doubt_i[listed]).tolist() == np.argsort(SURE[listed], kind="stable").tolist()


def test_models_find_more_wrong_labels_than_vote_shares_do():
    crew = mixed_crew([[0.85, 0.15], [0.15, 0.85]], 15, spammers=15)
    wrong = {True: 0.0, False: 0.0}
    for seed in range(2):
        votes, truth = simulate([0.5, 0.5], crew, 600, 5, rng=seed)
        result = mj.check(votes)
        majority = Majority().fit(votes)
        plain = review(votes, majority.codes("first"), majority.posterior.max(axis=1), most=50)
        for listed in (result.review, plain):
            wrong[listed.by_models] += (truth[listed.item_p[:50]] != listed.label_p[:50]).mean() / 2
    assert wrong[True] > wrong[False]


@pytest.mark.parametrize("n_workers", [5, 30])
def test_review_uses_models_for_crowds_and_confidence_for_panels(n_workers):
    crew = mixed_crew([[0.85, 0.15], [0.15, 0.85]], n_workers // 2, spammers=n_workers - n_workers // 2)
    votes, _ = simulate([0.5, 0.5], crew, 400, 5, rng=0)
    assert mj.check(votes).review.by_models == (n_workers == 30)
