"""The recipe for a method: one file and one entry in the registry, and the rest of the package finds it."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import majorant as mj
from contract import test_estimators as contract
from crowds import informed_votes
from majorant.methods import ESTIMATORS
from majorant.methods.fit import Traits
from majorant.methods.majority import Majority
from majorant.methods.weighted_vote import unsuited
from majorant.output import votes_table, write_table
from majorant.results.calibrate import scores
from majorant.results.workers import vote_weights
from test_reference import generator as reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """Majority vote under another name, with a skill of .8 for everybody."""

    name: ClassVar[str] = "toy"
    traits: ClassVar[Traits] = Traits(vote_shares=True, weight_above_chance=True)

    def fit(self, votes, *, weights=None):
        fit = Majority().fit(votes, weights=weights)
        return replace(fit, method=self.name, skill=np.full(len(votes.workers), 0.8))


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


def test_traits_affect_scores_weights_and_limits(votes, monkeypatch):
    fit = Toy().fit(votes)
    np.testing.assert_allclose(scores(fit), fit.posterior * fit.votes_i[:, None])
    np.testing.assert_allclose(vote_weights(votes, fit)[0], 3 * 0.8 - 1)
    assert unsuited("toy", votes) == ""
    monkeypatch.setattr(Toy, "traits", Traits(tables_per_worker=1_000_000_000))
    assert "too many workers and classes" in unsuited("toy", votes)


def test_the_reference_lists_it(votes):
    assert "| `toy` | Majority vote under another name, with a skill of .8 for everybody. |" in reference().page()


def test_compare_lists_it(votes, run, tmp_path):
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("check", "votes.csv", "--compare", "--repeats", "each", "--json")
    assert code == 0, err
    assert "toy" in {row["method"] for row in json.loads(out)["comparison"]}
