"""An estimator is one file: what is registered here is found wherever methods are listed or judged by their traits."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import majorant as mj
from contract import test_estimators as contract
from crowds import informed_votes
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Estimator, Fit
from majorant.methods.majority import Majority
from majorant.methods.weighted_vote import unsuited
from majorant.output import votes_table, write_table
from majorant.results.calibrate import scores
from majorant.results.workers import vote_weights
from test_reference import generator as reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Estimator):
    """Majority vote under another name, with a skill of .8 for everybody."""

    name: ClassVar[str] = "toy"
    vote_shares: ClassVar[bool] = True
    weight_above_chance: ClassVar[bool] = True
    tables_per_worker: ClassVar[int] = 1_000_000_000

    def fit(self, votes, *, weights=None):
        fit = Majority().fit(votes, weights=weights)
        return Fit(
            method=self.name,
            posterior=fit.posterior,
            prior=fit.prior,
            skill=np.full(len(votes.workers), 0.8),
            votes_i=fit.votes_i,
            label_values=fit.label_values,
            names=fit.names,
        )


@pytest.fixture
def votes(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "toy", Toy)
    return informed_votes(np.random.default_rng(0), n_items=40, n_votes=160)


def test_aggregate_finds_it(votes):
    assert mj.aggregate(votes, "toy").labels() == mj.aggregate(votes, "majority").labels()


def test_the_contract_holds_for_it(votes):
    contract.test_the_answer_has_its_shape("toy")
    contract.test_the_order_of_votes_does_not_matter("toy")
    contract.test_names_do_not_matter("toy")
    contract.test_an_item_that_counts_twice_equals_two_items("toy")
    contract.test_an_item_without_votes_gets_no_label("toy")


def test_its_traits_are_heard(votes, monkeypatch):
    fit = Toy().fit(votes)
    np.testing.assert_allclose(scores(fit), fit.posterior * fit.votes_i[:, None])
    np.testing.assert_allclose(vote_weights(votes, fit)[0], 3 * 0.8 - 1)
    assert "too many workers and classes" in unsuited("toy", votes)
    monkeypatch.setattr(Toy, "tables_per_worker", 0)
    assert unsuited("toy", votes) == ""


def test_the_reference_lists_it(votes):
    assert "| `toy` | Majority vote under another name, with a skill of .8 for everybody. |" in reference().page()


def test_compare_lists_it(votes, run, tmp_path, monkeypatch):
    monkeypatch.setattr(Toy, "tables_per_worker", 0)
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("check", "votes.csv", "--compare", "--repeats", "each", "--json")
    assert code == 0, err
    assert "toy" in {row["method"] for row in json.loads(out)["comparison"]}
