"""The recipe of CONTRIBUTING.md for a source of evidence is complete: a toy source changes the answer."""

import json

import pytest

import majorant as mj
from majorant.evidence.engines import ENGINES
from majorant.evidence.evidence import Assumption, Evidence, Record, Source, Status, Tested
from majorant.output import votes_table, write_table
from majorant.values import Estimate

STATUS = {"status": Status.PASSED}


def our_projects(comparison):
    """How the weighted vote did in our own projects, regardless of the votes."""
    assert "weighted-vote" in comparison.fits
    return (
        Evidence(
            source=Source.TRACK_RECORD,
            other="weighted-vote",
            gain=Estimate(0.03, 0.01, 0.05),
            level=comparison.level,
            assumptions=(Tested(Assumption.LIKE_PUBLIC_SETS, STATUS["status"]),),
            record=Record(sets=7, better=6, worse=1, mean_gain=0.03, worst_gain=-0.01),
        ),
    )


@pytest.fixture
def votes():
    """A panel of unequal judges, of which nothing can be said without labels."""
    confusions = [[[skill, 1 - skill], [1 - skill, skill]] for skill in (0.9, 0.85, 0.55, 0.55)]
    return mj.simulate([0.5, 0.5], confusions, n_items=300, n_votes=4, rng=0)[0]


@pytest.fixture
def add_engine():
    """Add an engine to the table, for one test."""
    before = list(ENGINES)
    yield ENGINES.append
    ENGINES[:] = before


@pytest.fixture
def engine(add_engine):
    add_engine(our_projects)


def test_without_gold_accuracy_is_unknown(votes):
    answer = mj.check(votes).answer
    assert (answer.action, answer.certainty) == ("keep", "unknown")


def test_answer_uses_the_new_evidence(votes, engine):
    answer = mj.check(votes).answer
    assert (answer.action, answer.rule, answer.certainty) == ("switch", "weighted-vote", "likely")
    assert answer.basis.record.sets == 7


def test_an_assumption_that_failed_lowers_the_certainty(votes, engine, monkeypatch):
    monkeypatch.setitem(STATUS, "status", Status.FAILED)
    answer = mj.check(votes).answer
    assert (answer.action, answer.certainty) == ("keep", "unknown")


def test_new_evidence_can_say_keep(votes, add_engine):
    def barely_differ(comparison):
        gain = Estimate(None, -0.005, 0.005)
        return [Evidence(source=Source.IDENTICAL, other=name, gain=gain) for name in comparison.fits]

    add_engine(barely_differ)
    answer = mj.check(votes).answer
    assert (answer.action, answer.certainty, answer.source) == ("keep", "same", "identical")


def test_new_evidence_is_printed_and_saved(votes, engine, run, tmp_path):
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("check", "votes.csv")
    assert code == 0, err
    assert "Switch to the weighted vote: likely about 3 points better." in out
    assert "on 7 public crowds like yours the weighted vote was better on 6 and worse on 1" in " ".join(out.split())
    assert json.loads(run("check", "votes.csv", "--json")[1])["answer"]["source"] == "track record"
