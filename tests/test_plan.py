"""Plans: exact accuracies against enumeration, the smallest numbers of votes, gold that decides, workers to keep."""

from itertools import combinations, product

import numpy as np
import pytest

from majorant.errors import ConfigError, NotIdentified
from majorant.evidence.certificate.certificate import Certificate, Claim, Family, Model, Verdict
from majorant.evidence.certificate.gold import GoldCells, best_p_values, gold_needed, simes, worse_p_values
from majorant.evidence.certificate.plug_in import plug_in, shared_model
from majorant.evidence.evidence import Assumption, Status, Tested
from majorant.methods import ESTIMATORS
from majorant.render.summary import plan_summary
from majorant.render.text import plan_text
from majorant.results.plan import plan, plan_crew, plan_model
from majorant.simulate import one_coin_crew, simulate
from majorant.theory import gap, majority_margin
from majorant.votes import Votes

PRIOR, CONFUSION = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]


def enumerate_crew(prior, crew):
    """How often majority (ties drawn) and the best rule are right, ballot by ballot."""
    majority = best = 0.0
    for ballot in product(range(len(prior)), repeat=len(crew)):
        joint = [p * np.prod([one[k][l] for one, l in zip(crew, ballot, strict=True)]) for k, p in enumerate(prior)]
        count = np.bincount(ballot, minlength=len(prior))
        majority += np.mean([joint[k] for k in np.flatnonzero(count == count.max())])
        best += max(joint)
    return majority, best


@pytest.mark.parametrize(
    ("prior", "confusion"), [(PRIOR, CONFUSION), ([0.5, 0.3, 0.2], [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])]
)
def test_points_are_exact_and_votes_the_smallest(prior, confusion):
    whole = plan_model(prior, confusion, target=0.8, max_votes=7)
    wanted = [enumerate_crew(prior, [confusion] * n_votes) for n_votes in range(1, 8)]
    assert [point.n_votes for point in whole.points] == list(range(1, 8))
    assert [(point.majority, point.best) for point in whole.points] == [pytest.approx(pair) for pair in wanted]
    assert whole.majority_votes == next((n for n, (value, _) in enumerate(wanted, 1) if value >= 0.8), None)
    assert whole.best_votes == next((n for n, (_, value) in enumerate(wanted, 1) if value >= 0.8), None)


def test_the_better_rule_saves_votes():
    skewed = [0.9, 0.1], [[0.6, 0.4], [0.1, 0.9]]
    whole = plan_model(*skewed, target=0.92, max_votes=60, price_per_vote=0.05)
    assert whole.best_votes < whole.majority_votes
    assert (whole.best_cost, whole.majority_cost) == (0.05 * whole.best_votes, 0.05 * whole.majority_votes)
    assert whole.advice == "both"
    assert plan_model(*skewed, target=0.9, votes_now=3).advice == "better rule"
    assert plan_model(*skewed, target=0.6, votes_now=3).advice == "enough"
    assert plan_model(*skewed, target=1.0).advice == "out of reach"
    assert plan_model([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], votes_now=3).advice == "more votes"


def test_what_cannot_be_enumerated_is_left_open():
    [uniform] = one_coin_crew([0.5], n_classes=300)
    whole = plan_model(np.full(300, 1 / 300), uniform, target=0.999, max_votes=3)
    assert whole.points[0].majority == pytest.approx(0.5)
    assert (whole.points[-1].majority, whole.points[-1].best) == (None, None)


@pytest.mark.parametrize(
    ("odds_c", "share_c"), [([0.95, 0.7, 0.7, 0.95], [0.3, 0.2, 0.2, 0.3]), ([0.9, 0.3, 0.8], [0.4, 0.3, 0.3])]
)
def test_the_planned_gold_decides_most_of_the_time(odds_c, share_c):
    """Two classes; every cell is tested as the gold claim would, with as many gold items as planned."""
    odds_c, rng = np.array(odds_c), np.random.default_rng(0)
    needed = gold_needed(odds_c, np.array(share_c), 2, 0.05)
    assert needed is not None
    decided = 0
    for _ in range(300):
        gold_c = rng.multinomial(needed, share_c)
        right_c = rng.binomial(gold_c, odds_c)
        cells = GoldCells(np.tile([2, 1], (len(odds_c), 1)), gold_c, np.column_stack([right_c, gold_c - right_c]))
        decided += bool((best_p_values(cells) <= 0.05).all()) or simes(worse_p_values(cells)) <= 0.05
    assert 0.55 <= decided / 300 <= 0.97


def test_gold_items_of_a_model():
    assert plan_model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], votes_now=3).gold_items is None  # every cell is even
    easy = plan_model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], votes_now=3).gold_items
    hard = plan_model([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], votes_now=3).gold_items
    assert easy < hard
    # 2 : 1 votes are right with odds .9; both such cells hold .9 * .1 * 1.5 of the items each
    odds, share = np.array([0.9, 0.9]), np.array([0.135, 0.135])
    assert easy == gold_needed(odds, share, 2, 0.05)


def test_a_crew_is_ordered_by_what_it_adds():
    prior, crew = [0.6, 0.4], one_coin_crew([0.6, 0.9, 0.75, 0.5])
    steps = plan_crew(prior, crew, ["ann", "bob", "cy", "dee"])
    assert steps[0].worker == "bob"
    order = [["ann", "bob", "cy", "dee"].index(step.worker) for step in steps]
    for n, step in enumerate(steps, 1):
        assert (step.majority, step.best) == pytest.approx(enumerate_crew(prior, crew[order[:n]]))
    assert steps[-1].worker == "dee"  # a coin
    assert steps[1].best == pytest.approx(max(enumerate_crew(prior, crew[[1, j]])[1] for j in (0, 2, 3)))
    pairs = max(enumerate_crew(prior, crew[list(pair)])[1] for pair in combinations(range(4), 2))
    assert steps[1].best <= pairs + 1e-12


def test_a_panel_keeps_the_workers_who_help():
    skills = [0.9, 0.85, 0.8, 0.52, 0.5]
    votes, _ = simulate([0.5, 0.5], one_coin_crew(skills), n_items=4000, n_votes=5, rng=1)
    whole = plan(votes, target=0.99)
    assert set(whole.keep) == {"w0", "w1", "w2"}
    assert set(plan(votes, target=0.85).keep) == {"w0"}
    assert whole.crew[-1].majority < max(step.majority for step in whole.crew)  # the coins hurt majority
    assert (whole.votes_now, whole.advice) == (5, "more votes")
    assert plan(votes, target=0.99, fit=ESTIMATORS["majority"]().fit(votes)).keep == whole.keep
    known = plan(votes, target=0.94)
    assert (known.majority_votes > 5, known.advice) == (True, "know who votes")
    assert known.crew[-1].best == pytest.approx(enumerate_crew([0.5, 0.5], one_coin_crew(skills))[1], abs=0.01)


def test_a_crowd_has_no_crew_and_the_certificate_is_heard():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], 3000, ([3, 5], [0.5, 0.5]), rng=0)
    claim = Claim(family=Family.ANONYMOUS, more_items=120)
    gold = Claim(family=Family.GOLD, more_items=30)
    certificate = Certificate(level=0.95, anonymous=claim, gold=gold)
    whole = plan(votes, target=0.94, certificate=certificate)
    assert (whole.crew, whole.keep, whole.more_items, whole.more_gold) == ((), (), 120, 30)
    assert (whole.majority_votes, whole.advice) == (5, "more votes")
    assert whole.votes_now == pytest.approx(4, abs=0.1)


def test_gold_that_contradicts_the_model_makes_the_plan_doubtful():
    model = {"prior": [0.5, 0.5], "confusion": [[0.8, 0.2], [0.2, 0.8]], "n_items": 2000, "n_votes": 5, "gold": 0.5}
    hard = plan(simulate(**model, concentration=2.0, rng=0).votes, target=0.9)
    assert hard.observed_now.high < hard.expected_now
    assert (hard.advice, hard.gold_items) == ("doubtful", None)
    text = plan_text(plan_summary(hard))
    assert text.startswith("If votes were independent, being right on 90 % of the items would take ")
    assert "The numbers below expect" in text
    sound = plan(simulate(**model, rng=0).votes, target=0.9)
    assert sound.observed_now.low <= sound.expected_now <= sound.observed_now.high
    assert sound.advice == "enough"


DEPENDENT = (
    Claim(family=Family.ANONYMOUS, assumptions=(Tested(Assumption.INDEPENDENT_VOTES, Status.FAILED),)),
    Claim(family=Family.ANONYMOUS, verdict=Verdict.OPTIMAL, model=Model.ITEM_DIFFICULTY),
)


@pytest.mark.parametrize("claim", DEPENDENT, ids=["failed", "item difficulty"])
def test_a_certificate_that_found_dependence_makes_the_plan_doubtful(claim):
    votes, _ = simulate([0.5, 0.5], one_coin_crew([0.9, 0.8, 0.8]), n_items=500, n_votes=3, rng=0)
    doubtful = plan(votes, target=0.9, certificate=Certificate(level=0.95, anonymous=claim))
    assert doubtful.advice == "doubtful"
    text = plan_text(plan_summary(doubtful))
    assert text.startswith("If votes were independent, being right on 90 % ")
    assert "\nNote     Votes depend on each other" in text
    assert (
        f"About {doubtful.gold_items} gold items would decide whether majority vote is optimal, if votes were" in text
    )
    assert "if votes were independent, by the best rule that knows who voted." in text
    assert "if votes were" not in plan_text(plan_summary(plan(votes, target=0.9)))


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        (Assumption.EXCHANGEABLE_WORKERS, "workers were alike"),
        (Assumption.VOTES_PER_ITEM, "the number of votes did not go with the item"),
    ],
)
def test_any_assumption_that_fails_makes_the_plan_doubtful(name, condition):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=500, n_votes=3, rng=0)
    claim = Claim(family=Family.ANONYMOUS, assumptions=(Tested(name, Status.FAILED),))
    found = plan(votes, target=0.8, certificate=Certificate(level=0.95, anonymous=claim))
    assert (found.advice, found.doubts) == ("doubtful", (condition,))
    assert plan_summary(found)["sentence"].startswith(f"If {condition}, being right on 80 % of the items would take")


def test_where_the_verdict_stands_no_more_items_are_asked_for():
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=300, n_votes=3, rng=0)
    claim = Claim(family=Family.ANONYMOUS, verdict=Verdict.OPTIMAL, more_items=0)
    whole = plan(votes, certificate=Certificate(level=0.95, anonymous=claim))
    assert whole.more_items is None
    assert "fresh items without gold" not in plan_text(plan_summary(whole))


@pytest.mark.parametrize("n_votes", [1, 2])
def test_votes_that_do_not_tell_how_good_they_are_bear_no_plan(n_votes):
    votes, _ = simulate([0.5, 0.5], [[0.8, 0.2], [0.2, 0.8]], n_items=300, n_votes=n_votes, rng=0)
    with pytest.raises(NotIdentified, match="collect a third vote"):
        plan(votes)
    assert plan(votes, fit=ESTIMATORS["majority"]().fit(votes)).votes_now == n_votes


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target": 0}, "target must lie above 0"),
        ({"target": 1.2}, "target must lie above 0"),
        ({"max_votes": 0}, "max_votes must be a whole number"),
        ({"price_per_vote": -1}, "price_per_vote must be at least 0"),
        ({"price_per_vote": float("nan")}, "price_per_vote must be at least 0"),
        ({"level": 1}, r"level must lie between \.5 and 1"),
    ],
)
def test_a_wrong_call_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        plan_model(PRIOR, CONFUSION, **settings)


def test_nothing_to_plan_from():
    with pytest.raises(ConfigError, match="no votes"):
        plan(Votes.from_codes([], [], [], items="a", workers=(), labels=()))
    with pytest.raises(ConfigError, match="one class"):
        plan(Votes.from_codes([0], [0], [0], items="a", workers="w", labels="n"))
    with pytest.raises(ConfigError, match="must name each of 2"):
        plan_crew([0.5, 0.5], one_coin_crew([0.8, 0.7]), ["ann"])


def test_plug_in_is_the_margin_at_the_estimate():
    votes, _ = simulate(PRIOR, CONFUSION, 3000, ([3, 4, 7], [0.5, 0.3, 0.2]), n_workers=8, rng=3)
    fit = ESTIMATORS["dawid-skene"]().fit(votes)
    verdict = plug_in(votes, ESTIMATORS["dawid-skene"]().fit)
    votes_j = np.bincount(votes.worker_n)
    pooled = sum(n * one for n, one in zip(votes_j, fit.confusion, strict=True)) / votes.n_votes
    assert verdict.confusion == pytest.approx(pooled)
    assert set(verdict.by_votes) == {3, 4, 7}
    for n_votes, one in verdict.by_votes.items():
        assert one.margin == pytest.approx(majority_margin(fit.prior, pooled, n_votes))
    assert verdict.margin == min(one.margin for one in verdict.by_votes.values())
    lost = {n_votes: gap(fit.prior, pooled, n_votes, "exclude") for n_votes in (3, 4, 7)}
    assert verdict.loss == pytest.approx(sum(np.mean(votes.votes_i == n) * lost[n] for n in lost))


def test_plug_in_has_no_level():
    """On the boundary (prior .8 and all workers right with .8) it says yes about half of the time."""
    fit = ESTIMATORS["dawid-skene"]().fit
    crowds = (simulate([0.8, 0.2], [[0.8, 0.2], [0.2, 0.8]], 1000, 3, n_workers=20, rng=seed) for seed in range(40))
    assert 8 <= sum(plug_in(votes, fit).optimal for votes, _ in crowds) <= 32


def test_plug_in_from_a_share_of_the_items():
    votes, _ = simulate(PRIOR, CONFUSION, 2000, 3, rng=3)
    seen = []

    def refit(sample):
        seen.append(sample)
        return ESTIMATORS["majority"]().fit(sample)

    verdict = plug_in(votes, refit, share=0.1, rng=1)
    assert (verdict.n_items, verdict.share, len(seen[0].items), verdict.method) == (200, 0.1, 200, "majority")
    assert len(set(seen[0].items)) == 200
    again = plug_in(votes, refit, share=0.1, rng=1)
    assert np.array_equal(verdict.confusion, again.confusion)
    for share in (0, 1.5):
        with pytest.raises(ConfigError, match="share must lie above 0"):
            plug_in(votes, refit, share=share, rng=1)
    with pytest.raises(ConfigError, match="give rng"):
        plug_in(votes, refit, share=0.5)


def test_a_method_without_confusions_is_taken_at_its_posterior():
    votes = Votes.from_codes(
        [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2, [0, 0, 1, 1, 1, 1], items="ab", workers="xyz", labels="ny"
    )
    prior, confusion = shared_model(votes, ESTIMATORS["majority"]().fit(votes))
    # class n: 2/3 of the first item, whose votes are n n y; class y: 1/3 of it and all of the second
    assert confusion == pytest.approx(np.array([[2 / 3, 1 / 3], [2 / 12, 10 / 12]]))
    assert prior == pytest.approx([2 / 6, 4 / 6])


def test_votes_are_not_enough_for_what_the_certificate_does_not_expect():
    """Review S9: the plan and the expectation agree."""
    votes, _ = simulate([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], n_items=400, n_votes=3, rng=0)
    enough = plan(votes, target=0.9)
    assert enough.advice == "enough"
    low = Claim(family=Family.ANONYMOUS, verdict=Verdict.OPTIMAL, accuracy=0.85)
    assert plan(votes, target=0.9, certificate=Certificate(level=0.95, anonymous=low)).advice == "doubtful"
