"""The decision from any evidence is keep or switch, as certain as the weakest assumption allows."""

import pytest

from majorant.decide import Action, decide
from majorant.evidence.evidence import Assumption, Certainty, Evidence, Source, Status, Tested
from majorant.evidence.identical import Difference, identical_evidence
from majorant.evidence.track_record import PublicSet, forecast, track_record
from majorant.setting import Case, Setting
from majorant.values import Estimate


def by_labels(low, value, high, other="weighted-vote", wins=8, losses=2, n_used=10, **facts):
    return Evidence(
        source=Source.LABELS, other=other, gain=Estimate(value, low, high), n_labels=20, n_used=n_used, wins=wins,
        losses=losses, **facts,
    )  # fmt: skip


def by_record(gain=0.02):
    return Evidence(source=Source.TRACK_RECORD, other="weighted-vote", gain=Estimate(gain, 0.0, 2 * gain))


def by_certificate(*statuses):
    assumptions = tuple(Tested(Assumption.INDEPENDENT_VOTES, status) for status in statuses)
    return Evidence(
        source=Source.CERTIFICATE, other="best rule", gain=Estimate(0.0, 0.0, 0.001), assumptions=assumptions
    )


APART = identical_evidence("weighted-vote", Difference(items=100, differ=10))
SAME = identical_evidence("weighted-vote", Difference(items=1000, differ=1))


@pytest.mark.parametrize(
    ("evidence", "action", "certainty"),
    [
        ([], "keep", "unknown"),
        ([APART], "keep", "unknown"),
        ([SAME], "keep", "same"),
        ([by_labels(0.02, 0.03, 0.04), APART], "switch", "proved"),
        ([by_labels(-0.03, -0.02, 0.005), APART], "keep", "proved"),
        ([by_labels(0.001, 0.005, 0.008), APART], "keep", "proved"),  # better, but by less than the tolerance
        ([by_labels(-0.02, 0.03, 0.08), APART], "switch", "likely"),  # open: the leader's labels are written
        ([by_labels(-0.08, -0.03, 0.02, wins=2, losses=8), APART], "keep", "likely"),
        ([APART, by_record()], "switch", "likely"),
        ([by_labels(-0.08, -0.03, 0.02, wins=2, losses=8), APART, by_record()], "keep", "likely"),
        ([APART, by_certificate(Status.PASSED), by_record()], "keep", "supported"),
        ([APART, by_certificate(Status.UNTESTABLE)], "keep", "unknown"),
        ([APART, by_certificate(Status.FAILED), by_record()], "switch", "likely"),
        ([APART, by_certificate(Status.PASSED, Status.UNTESTABLE)], "keep", "unknown"),
    ],
)
def test_evidence_with_the_fewest_assumptions_decides(evidence, action, certainty):
    answer = decide(evidence)
    assert (answer.action, answer.certainty) == (action, certainty)
    assert answer.rule == ("majority" if action == "keep" else "weighted-vote")


@pytest.mark.parametrize("status", [Status.FAILED, Status.UNTESTABLE])
def test_a_doubtful_assumption_lowers_the_certainty_of_every_engine(status):
    doubt = (Tested(Assumption.NO_COPIES, status),)
    assert decide([by_labels(0.02, 0.03, 0.04, assumptions=doubt)]).certainty is Certainty.LIKELY
    assert decide([by_certificate(status)]).certainty is Certainty.UNKNOWN


def test_untested_assumption_keeps_the_certainty():
    untested = (Tested(Assumption.RANDOM_LABELS, Status.UNTESTED),)
    assert decide([by_labels(0.02, 0.03, 0.04, assumptions=untested)]).certainty is Certainty.PROVED


def test_among_several_rules_the_best_proved_one_is_chosen():
    answer = decide([by_labels(0.02, 0.03, 0.04), by_labels(0.2, 0.25, 0.3, other="gpt-4o"), APART])
    assert answer.rule == "gpt-4o"


def test_choice_between_equal_rules_does_not_depend_on_order():
    equal = [by_labels(0.01, 0.05, 0.09, other) for other in ("a", "b")]
    assert decide(equal).rule == decide(equal[::-1]).rule == "a"


def test_uninformative_labels_are_no_reason_to_keep():
    same = identical_evidence("weighted-vote", Difference(items=200, differ=0))
    answer = decide([by_labels(0.0, None, 0.0, wins=0, losses=0, n_used=0), same])
    assert (answer.action, answer.certainty, answer.source) == (Action.KEEP, Certainty.SAME, Source.IDENTICAL)


def test_keep_is_proved_only_if_every_rule_is_excluded():
    excluded, leading = by_labels(-0.03, -0.02, 0.0), by_labels(-0.01, 0.1, 0.2, other="gpt-4o")
    assert decide([excluded, leading]).certainty is not Certainty.PROVED


def test_the_best_of_many_rules_must_lead_by_more_than_luck():
    many = [by_labels(-0.1, 0.01, 0.1, other=f"judge {n}", wins=6, losses=4) for n in range(12)]
    assert decide(many).action is Action.KEEP
    assert decide(many[:1]).action is Action.SWITCH


def test_evidence_from_a_new_source_is_used():
    def oracle_engine(gain):
        return Evidence(
            source=Source.LABELS, other="weighted-vote", gain=Estimate(gain, gain, gain), n_labels=100, n_used=100,
            wins=60, losses=40,
        )  # fmt: skip

    assert decide([APART, oracle_engine(0.03)]).certainty is Certainty.PROVED
    assert decide([APART, oracle_engine(-0.03)]).action is Action.KEEP


def test_the_usual_rule_is_written_until_labels_prove_it_worse():
    behind = by_labels(-0.08, -0.03, 0.02, wins=2, losses=8)
    assert decide([APART, behind], usual="weighted-vote").rule == "weighted-vote"
    assert decide([APART, by_labels(-0.08, -0.05, -0.02)], usual="weighted-vote").rule == "majority"
    assert decide([APART], usual="median").rule == "median"
    assert decide([SAME], usual="weighted-vote").rule == "weighted-vote"  # one label in a thousand differs


CROWD = Setting(panel=False, votes_per_worker=50.0)


def public_set(n, ties, overturns, family=None):
    return PublicSet(
        name=f"s{n}", family=family or f"f{n}", case=Case.CROWD, panel=False, items=1000, tied=0.1, overturned=0.05,
        ties=ties, overturns=overturns, other_gain=ties + overturns, confidence=0.95, accuracy=0.85,
    )  # fmt: skip


SETS = (public_set(0, 0.03, 0.02), public_set(1, 0.02, 0.03), public_set(2, 0.01, -0.02), public_set(3, 0.02, 0.01))


def test_the_forecast_carries_over_gains_per_item_by_family():
    found = forecast(CROWD, Difference(items=100, differ=30, tied=20), SETS)
    assert found.ties.value == pytest.approx(0.2 * 0.2)  # a fifth of a label per tie
    assert found.overturns.value == pytest.approx(0.1 * 0.2)
    assert found.total.value == pytest.approx(0.06)
    assert found.total.low < found.total.value < found.total.high
    assert (found.record.sets, found.record.better, found.record.worse) == (4, 3, 1)
    many = [*SETS, *(public_set(n, 0.03, 0.02, family="f0") for n in range(4, 9))]
    again = forecast(CROWD, Difference(items=100, differ=30, tied=20), many)
    assert again.total.value == pytest.approx(found.total.value)  # a family counts once


@pytest.mark.parametrize(
    "setting", [Setting(panel=True, votes_per_worker=50.0), Setting(panel=False, votes_per_worker=5.0)]
)
def test_panels_and_thin_crowds_have_no_record(setting):
    assert track_record(setting, Difference(items=100, differ=30, tied=20), SETS) == ()
