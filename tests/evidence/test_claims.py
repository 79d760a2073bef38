"""The certificate of votes: each kind of data gets the claims that suit it, and no more."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from crowds import coins
from majorant.cli import main
from majorant.errors import ConfigError
from majorant.evidence.certificate import claims
from majorant.evidence.certificate.claims import certification, certify, claim_inputs, sampled_share
from majorant.evidence.certificate.dependence import dependence
from majorant.items import take_items
from majorant.methods.dawid_skene import DawidSkene
from majorant.output import votes_table, write_table
from majorant.pipeline import check
from majorant.render.certificate import certificate_text
from majorant.results.agreement import agreement
from majorant.simulate import simulate
from majorant.values import Missing
from majorant.votes import Votes
from real import load

ALIKE = [[0.85, 0.15], [0.15, 0.85]]


def test_a_crowd_of_equals_is_certified_from_its_counts():
    votes, _ = simulate([0.5, 0.5], ALIKE, 3_000, 5, n_workers=60, rng=0)
    found = certification(votes, rng=0)
    assert found.design.kind == "crowd"
    assert "\nA crowd: 3,000 sets of workers labeled 3,000 items." in certificate_text(found.certificate)
    assert found.certificate.dependence is None
    claim = found.certificate.anonymous
    assert (claim.verdict, claim.certainty, claim.model) == ("optimal", "proved", "independent votes")
    assert claim.margin > 0
    assert found.certificate.gold is None


def test_an_unequal_panel_is_judged_by_its_workers():
    votes, _ = simulate([0.5, 0.5], coins([0.95, 0.75, 0.7, 0.65, 0.6], 2), 4_000, 5, rng=1)
    found = certification(votes, rng=0)
    assert found.design.kind == "panel"
    assert "\nA panel: the same workers labeled all items." in certificate_text(found.certificate)
    assert found.certificate.dependence.tested.status == "passed"
    certificate = found.certificate
    assert certificate.anonymous.model == "named workers"
    assert (certificate.named.verdict, certificate.named.certainty) == ("not optimal", "supported")
    assert certificate.named.loss.low > 0.02


def test_a_panel_that_copies_is_open_and_keeps_its_numbers():
    votes, _ = simulate([0.5, 0.5], coins([0.8] * 5, 2), 3_000, 5, dependence=0.6, groups=list("aaabc"), rng=2)
    certificate = certify(votes, rng=0)
    for claim in (certificate.anonymous, certificate.named):
        assert (claim.verdict, claim.reason) == ("open", "assumption failed")
        assert claim.loss.value is not None
        assert claim.margin is not None


def crews(n_crews, n_items, seed=0, **how):
    """A panel of several crews of five, each of which labels its own items."""
    rng = np.random.default_rng(seed)
    parts = [
        simulate([0.5, 0.5], coins(rng.uniform(0.65, 0.9, 5), 2), n_items, 5, rng=rng, **how).votes
        for _ in range(n_crews)
    ]
    columns = [(one.item_n + n_items * c, one.worker_n + 5 * c, one.label_n) for c, one in enumerate(parts)]
    item_n, worker_n, label_n = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Votes.from_codes(
        item_n, worker_n, label_n, items=range(n_items * n_crews), workers=range(5 * n_crews), labels=range(2)
    )


@pytest.mark.parametrize(("how", "status"), [({}, "passed"), ({"concentration": 12}, "failed")])
def test_a_panel_of_many_worker_sets_is_tested_for_hard_items(how, status):
    votes = crews(12, 250, **how)
    fit = DawidSkene(smoothing=0.01, min_rise=None).fit(votes)
    assert dependence(votes, fit, rng=0).tested.status == status


def test_panel_with_too_many_parameters_is_reported_as_untested():
    votes, _ = simulate(np.full(5, 0.2), coins([0.8] * 51, 5), 60, 51, rng=2)
    found = dependence(votes, DawidSkene(smoothing=0.01, min_rise=None).fit(votes), rng=0)
    assert (found.tested.status, found.n_eff.reason) == ("untestable", Missing.TOO_MANY_PARAMETERS)


def test_gold_is_used_where_it_is_given():
    votes, _ = simulate([0.5, 0.5], ALIKE, 2_000, 3, n_workers=60, gold=0.5, rng=3)
    certificate = certify(votes, rng=0)
    assert (certificate.gold.verdict, certificate.gold.certainty) == ("optimal", "proved")
    assert certificate.gold.n_labels == 1_000
    assert certificate.standing is certificate.gold


def test_missing_judgements_are_reported():
    one_class = Votes.from_codes([0, 1], [0, 0], [0, 0], items="ab", workers="w", labels=["only"])
    assert certify(one_class, rng=0).anonymous.reason == "not identified"
    two_votes, _ = simulate([0.5, 0.5], ALIKE, 500, 2, n_workers=40, rng=0)
    assert certify(two_votes, rng=0).anonymous.reason == "not identified"
    one_worker = Votes.from_codes([0, 1], [0, 0], [0, 1], items="ab", workers="w", labels="ny")
    certificate = certify(one_worker, rng=0)
    assert (certificate.anonymous.reason, certificate.named) == ("not identified", None)
    with pytest.raises(ConfigError, match="level"):
        certify(two_votes, level=1.0, rng=0)


def test_three_classes_get_both_claims_at_most_supported():
    noise = 0.7 * np.eye(3) + 0.1
    votes, _ = simulate([1 / 3] * 3, noise, 1_500, 5, n_workers=40, rng=4)
    certificate = certify(votes, rng=0)
    assert (certificate.anonymous.verdict, certificate.anonymous.certainty) == ("optimal", "supported")
    assert certificate.named.certainty in {"supported", None}


def test_the_same_seed_gives_the_same_certificate():
    votes, _ = simulate([0.6, 0.4], ALIKE, 500, 3, n_workers=30, rng=5)
    assert certify(votes, rng=7) == certify(votes, rng=7)


@pytest.mark.parametrize("name", ["D-Product", "SP_amt"])
def test_real_sets(name):
    certificate = certify(load(name), rng=0)
    expected = {"D-Product": ("open", "open", "not optimal"), "SP_amt": ("open", "open", "open")}
    found = tuple(getattr(certificate, claim).verdict for claim in ("anonymous", "named", "gold"))
    assert found == expected[name]


def test_check_gives_the_numbers_of_certify_and_of_agreement():
    votes, _ = simulate([0.6, 0.4], ALIKE, 500, 3, n_workers=30, rng=5)
    result = check(votes, rng=7)
    assert result.certificate == certify(votes, rng=7)
    assert result.agreement.fleiss == agreement(votes, rng=7).fleiss


def test_the_commands_certify_and_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    votes, _ = simulate([0.5, 0.5], ALIKE, 2_000, 5, n_workers=60, rng=0)
    write_table("votes.csv", votes_table(votes))

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["majorant", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        return stop.value.code, capsys.readouterr().out

    code, text = run("certify", "votes.csv")
    assert code == 0
    assert text.startswith("Answer   If these votes are independent given the truth, majority vote is optimal")
    assert "\nGrade    Proved" in text
    assert "\nUnless   " in text
    code, as_json = run("certify", "votes.csv", "--json", "--claim", "named")
    facts = json.loads(as_json)
    assert (facts["anonymous"]["verdict"], facts["anonymous"]["certainty"]) == ("optimal", "proved")
    assert code == {"optimal": 0, "not optimal": 1, "open": 3}[facts["named"]["verdict"]]
    assert run("certify", "votes.csv", "--claim", "gold")[0] == 2
    assert [path.name for path in Path().iterdir() if path.name[0] != "."] == ["votes.csv"]


def draw_half(monkeypatch):
    """Let claims about workers look at half of the items."""
    monkeypatch.setattr(claims, "sampled_share", lambda *arguments, **more: 0.5)


def test_large_inputs_are_certified_from_a_sample_with_a_note(monkeypatch):
    votes, _ = simulate([0.5, 0.5], coins([0.95, *[0.65] * 19], 2), 3_000, 5, rng=1)
    whole = certify(votes, rng=0)
    draw_half(monkeypatch)
    inputs = claim_inputs(votes, rng=np.random.default_rng(0))
    n_sampled = len(inputs.sample.items)
    assert n_sampled == pytest.approx(1_500, abs=100)
    assert sum(items.sum() for items in inputs.histograms.values()) == 3_000  # counts are of all items
    assert set(inputs.sample.items) <= set(votes.items)
    sampled = certify(votes, rng=0)
    assert sampled.named.n_items < n_sampled < whole.named.n_items == 3_000
    assert sampled.anonymous.margin == whole.anonymous.margin
    assert sampled.anonymous.n_items == 3_000
    assert sampled.named.loss.low < whole.named.loss.value < sampled.named.loss.high


def test_a_sample_keeps_enough_votes_of_each_worker():
    assert sampled_share(50_000, 2, 1_000) == 1
    assert sampled_share(5_000_000, 2, 60) == 1  # thin workers: all items are needed
    assert sampled_share(5_000_000, 2, 10_000) == 0.04


def test_the_sample_does_not_depend_on_the_order_of_the_rows(monkeypatch):
    votes, _ = simulate([0.5, 0.5], coins([0.95, *[0.65] * 19], 2), 3_000, 5, rng=1)
    draw_half(monkeypatch)
    order = np.random.default_rng(5).permutation(3_000)
    here, there = (claim_inputs(some, rng=np.random.default_rng(0)) for some in (votes, take_items(votes, order)))
    assert here.sample.items == there.sample.items
    assert (here.sample.label_n == there.sample.label_n).all()
