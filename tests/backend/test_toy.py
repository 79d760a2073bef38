"""A new backend is one class with five members: a toy one, with votes in three parts, runs the whole pipeline."""

import contextlib
from dataclasses import dataclass

import numpy as np
import pytest

import majorant as mj
from majorant.backend import Backend, Part
from majorant.cli.source import BACKENDS
from majorant.items import take_items
from majorant.kernels import in_memory
from majorant.output import votes_table, write_table
from majorant.render.answer import headline
from majorant.render.files import write_result
from majorant.render.summary import result_summary
from majorant.simulate import one_coin_workers
from majorant.votes import Votes


@dataclass(frozen=True, eq=False)
class Thirds(Backend):
    """Votes in three parts, none of which knows the others."""

    votes: Votes

    @property
    def has_gold(self):
        return self.votes.gold_i is not None

    @property
    def engine(self):
        return in_memory(self.votes, block_items=-(-len(self.votes.items) // 3))

    def map(self, fn, *, doing):
        for codes in np.array_split(np.arange(len(self.votes.items)), 3):
            yield fn(Part(take_items(self.votes, codes), int(codes[0])))

    def take(self, item_p):
        return take_items(self.votes, item_p)


@pytest.fixture(scope="module")
def votes():
    crew = one_coin_workers([0.95, 0.9, 0.65, 0.6, 0.55, 0.55])
    return mj.simulate([0.5, 0.5], crew, n_items=150, n_votes=5, gold=0.3, rng=0)[0]


@pytest.fixture(scope="module")
def results(votes):
    return mj.check(votes), mj.check(Thirds(votes))


def test_pipeline_gives_the_same_result_as_in_memory(results):
    here, there = results
    assert headline(there) == headline(here)
    assert (there.answer.action, there.answer.rule) == (here.answer.action, here.answer.rule)
    assert there.certificate.anonymous.verdict == here.certificate.anonymous.verdict
    np.testing.assert_allclose(there.workers.accuracy_j, here.workers.accuracy_j, atol=1e-9)
    assert there.review.to_dict() == here.review.to_dict()


def test_files_are_written_part_by_part(results, tmp_path):
    written = []
    for result, name in zip(results, ("here", "there"), strict=True):
        write_result(result, result_summary(result, command="", seed=0), str(tmp_path / name))
        written.append((tmp_path / name / "labels.csv").read_text(encoding="utf-8"))
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "method", ["majority", "dawid-skene", "glad", "mace", "weighted-vote", pytest.param("auto", marks=pytest.mark.long)]
)
def test_methods_are_fitted_on_its_blocks(votes, method):
    here, there = mj.aggregate(votes, method), mj.aggregate(Thirds(votes), method)
    np.testing.assert_allclose(there.posterior, here.posterior, atol=1e-6)


def test_features_that_need_all_votes_are_rejected(votes):
    with pytest.raises(mj.ConfigError, match=r"kos needs all votes in memory, so it does not run here. Choose one of"):
        mj.aggregate(Thirds(votes), "kos")


def test_claims_and_designs_are_the_same(votes):
    assert mj.certify(Thirds(votes)).named.loss == mj.certify(votes).named.loss
    assert mj.ask(Thirds(votes), n=5).items == mj.ask(votes, n=5).items


@contextlib.contextmanager
def in_thirds(engine, source, by, masked):
    """An engine of the command line."""
    yield Thirds(source.read())


def test_registered_engine_works_on_the_command_line(votes, results, tmp_path, monkeypatch, run):
    monkeypatch.setitem(BACKENDS, "thirds", in_thirds)
    write_table(tmp_path / "votes.csv", votes_table(votes))
    _, out, _ = run("check", "votes.csv", "--engine", "thirds")
    assert headline(results[0]) in " ".join(out.split())
    _, _, err = run("check", "votes.csv", "--engine", "quarters")
    assert "--engine quarters: choose one of memory, spark, thirds." in err
