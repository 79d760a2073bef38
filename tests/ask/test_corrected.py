"""A correction end to end: labels drawn uniformly teach it, labels where it differs judge it."""

import json

import numpy as np
import pytest

from majorant.ask.correction import CORRECTED, LABELS, CorrectedRule, corrected_fit
from majorant.ask.draw import draw_accuracy, draw_correction, draw_rules
from majorant.backend import MemoryBackend
from majorant.defaults import COMBINED
from majorant.errors import ConfigError
from majorant.read.tasks import ExpertAnswer
from majorant.results.rules import fit_rule
from majorant.simulate import simulate

USED = ("one-coin", "majority")  # the others take longer, and this crowd needs none


@pytest.fixture(scope="module")
def leaning():
    """A crowd that calls most items of the second class the first, its fits, and the truth by item."""
    votes, truth = simulate([0.5, 0.5], [[0.95, 0.05], [0.6, 0.4]], n_items=600, n_votes=5, rng=3)
    fits = {rule: fit_rule(rule, votes, 0) for rule in USED}
    return MemoryBackend(votes), fits, dict(zip(votes.items, np.asarray(truth), strict=True))


def answers(design, truth):
    """What an expert says who knows the truth."""
    return [ExpertAnswer(item, design.labels[truth[item]]) for item in design.items]


def drawn(leaning, seed=0):
    backend, fits, truth = leaning
    uniform = draw_accuracy(backend, "majority", fits["majority"], seed=seed).more(LABELS)
    learned_from = (uniform, answers(uniform, truth))
    return uniform, draw_correction(backend, ("majority", fits["majority"]), fits, learned_from, seed=seed)


def test_a_crowd_that_leans_is_corrected_and_the_correction_proved(leaning):
    _, _, truth = leaning
    uniform, design = drawn(leaning)
    asked = design.more(40)
    outcome = asked.judge(answers(asked, truth))
    assert (outcome.kind, outcome.verdict, outcome.leader) == ("correct", "better", CORRECTED)
    assert outcome.n_items == 600 - LABELS
    assert outcome.value.low > 0
    assert outcome.facts["learned_from"] == LABELS
    assert outcome.facts["offsets"][1] > 0 > outcome.facts["offsets"][0]
    assert not set(uniform.items) & set(design.order)


def test_the_labels_of_the_correction_come_back_from_the_design(leaning):
    backend, fits, _ = leaning
    _, design = drawn(leaning)
    question = CorrectedRule.from_dict(json.loads(json.dumps(design.question.to_dict())))
    fit = corrected_fit(backend, fits, question.correction)
    label = dict(zip(backend.votes.items, fit.codes("first"), strict=True))
    assert [label[item] for item in design.order] == question.race.label_rd[1].tolist()
    assert fit.method == CORRECTED
    assert np.allclose(fit.posterior.sum(axis=1), 1)


def test_the_judging_order_is_not_what_the_learning_order_left(leaning):
    uniform, design = drawn(leaning)
    rest = [item for item in uniform.order if item in set(design.order)]
    assert rest != list(design.order)


def test_items_that_the_expert_skipped_are_left_out_too(leaning):
    backend, fits, truth = leaning
    uniform = draw_accuracy(backend, "majority", fits["majority"], seed=1).more(30)
    said = answers(uniform, truth)
    said[3] = ExpertAnswer(uniform.items[3], "?")
    design = draw_correction(backend, ("majority", fits["majority"]), fits, (uniform, said), seed=1)
    assert design.question.correction.n_labels == 29
    assert uniform.items[3] not in design.order
    assert design.question.race.n_items == 570


def test_labels_from_where_rules_differ_teach_nothing(leaning):
    backend, fits, truth = leaning
    race = draw_rules(backend, fits, seed=0).more(10)
    with pytest.raises(ConfigError, match="drawn uniformly"):
        draw_correction(backend, ("majority", fits["majority"]), fits, (race, answers(race, truth)), seed=0)


def test_members_are_estimators():
    from majorant.methods import ESTIMATORS

    assert set(COMBINED) <= set(ESTIMATORS)
