"""The recipe for a method is complete: one file and one registry entry are enough."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import majorant as mj
from contract import test_estimators as contract
from crowds import informed_votes
from majorant.methods import ESTIMATORS, Caveat, unsuited
from majorant.methods.em import run_em, start_params
from majorant.methods.fit import Traits
from majorant.methods.majority import Majority
from majorant.methods.tables import coin_confusions, confusion_tables, expect, prepare, share_counts
from majorant.output import votes_table, write_table
from majorant.results.calibrate import scores
from test_reference import generator as reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy:
    """Majority vote under another name, with a skill of .8 for everybody."""

    name: ClassVar[str] = "toy"
    traits: ClassVar[Traits] = Traits(vote_shares=True)

    def fit(self, votes, *, weights=None):
        fit = Majority().fit(votes, weights=weights)
        return replace(fit, method=self.name, skill=np.full(len(votes.workers), 0.8))


class ToyParams(NamedTuple):
    """The accuracy of all workers, and of getting it wrong."""

    accuracy_2: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyEm:
    """One accuracy for all workers, by EM."""

    name: ClassVar[str] = "toy-em"
    traits: ClassVar[Traits] = Traits(iterative=True, monotone=True, distributed=True)

    max_iter: int = 1_000
    tol: float = 1e-6
    accelerate: bool = True

    def fit(self, votes, **options):
        data = prepare(votes, **options)
        earlier = start_params(data, self.name, "accuracy")
        begin = self.m_step(share_counts(data), None) if earlier is None else ToyParams(earlier[0][0])
        solution = run_em(self, data, begin)
        tables, n_workers = self.tables(solution.params, data), len(data.votes.workers)
        learned = {"accuracy": np.tile(solution.params.accuracy_2, (n_workers, 1))}
        prior_k = np.exp(tables.log_prior_g)
        return data.fit_of(self, posterior=data.posterior(tables), prior=prior_k, learned=learned, **solution.steps)

    def tables(self, params, data):
        _, n_workers, n_classes = data.votes.shape
        confusion_jkl = coin_confusions(np.full(n_workers, params.accuracy_2[0]), n_classes)
        return confusion_tables(confusion_jkl, np.full(n_classes, 1 / n_classes))

    def e_step(self, data, params):
        return expect(data, self.tables(params, data))

    def m_step(self, counts, params):
        right = np.einsum("jkk->", counts.votes_jgl)
        return ToyParams(np.array([right, counts.votes_jgl.sum() - right]) / counts.votes_jgl.sum())

    def objective(self, params, counts):
        return counts.evidence


@pytest.fixture
def votes(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "toy", Toy)
    monkeypatch.setitem(ESTIMATORS, "toy-em", ToyEm)
    return informed_votes(np.random.default_rng(0), n_items=40, n_votes=160)


def test_aggregate_accepts_a_new_method(votes):
    assert mj.aggregate(votes, "toy").labels() == mj.aggregate(votes, "majority").labels()


def test_new_method_passes_the_contract(votes):
    contract.test_fits_have_the_right_shapes("toy")
    contract.test_result_does_not_depend_on_vote_order("toy")
    contract.test_result_does_not_depend_on_names("toy")
    contract.test_an_item_that_counts_twice_equals_two_items("toy")
    contract.test_an_item_without_votes_gets_no_label("toy")


def test_new_em_method_passes_the_contract(votes):
    contract.test_fits_have_the_right_shapes("toy-em")
    contract.test_result_does_not_depend_on_names("toy-em")
    contract.test_objective_never_decreases("toy-em")
    contract.test_block_size_and_threads_do_not_matter("toy-em")
    contract.test_fit_can_start_from_an_earlier_fit("toy-em")


def test_traits_affect_scores_and_limits(votes, monkeypatch):
    fit = Toy().fit(votes)
    np.testing.assert_allclose(scores(fit), fit.posterior * fit.votes_i[:, None])
    assert unsuited("toy", votes) is None
    monkeypatch.setattr(Toy, "traits", Traits(tables_per_worker=1_000_000_000))
    assert unsuited("toy", votes) is Caveat.TOO_LARGE


def test_reference_lists_a_new_method(votes):
    assert "`toy`, `toy-em`." in reference().page()


def test_compare_lists_a_new_method(votes, run, tmp_path):
    write_table(tmp_path / "votes.csv", votes_table(votes))
    code, out, err = run("check", "votes.csv", "--compare", "--repeats", "each", "--json")
    assert code == 0, err
    assert "toy" in {row["method"] for row in json.loads(out)["comparison"]}
