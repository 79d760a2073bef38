"""One pass in log-odds equals a loop over items, even where sums would overflow."""

import numpy as np
import pytest

from majorant.kernels import in_memory
from majorant.methods.tables import Tables, VoteData, count_totals, expect, posterior, sum_logs
from majorant.votes import Votes


def random_votes(n_items, votes_per_item, n_workers, rng, gold=None):
    item_n = np.repeat(np.arange(n_items), votes_per_item)
    worker_n = rng.integers(n_workers, size=len(item_n))
    label_n = rng.integers(2, size=len(item_n))
    return Votes.from_codes(
        item_n, worker_n, label_n, items=range(n_items), workers=range(n_workers), labels="01", gold=gold
    )


def slow_pass(votes, tables, weight_i):
    """Posterior, votes by worker, class and label, items by class, evidence: item by item."""
    n_items, n_workers, _ = votes.shape
    votes_jgl, items_g, evidence, posterior_ig = np.zeros((n_workers, 2, 2)), np.zeros(2), 0.0, np.zeros((n_items, 2))
    for i in range(n_items):
        own = slice(votes.offsets_i[i], votes.offsets_i[i + 1])
        worker_n, label_n = votes.worker_n[own], votes.label_n[own]
        score_g = tables.log_prior_g + tables.log_vote_cg[2 * worker_n + label_n].sum(axis=0)
        if votes.gold_i is not None and votes.gold_i[i] >= 0:
            score_g = np.where(np.arange(2) == votes.gold_i[i], score_g, -np.inf)
        top = score_g.max()
        log_total = top + np.log(np.exp(score_g - top).sum())
        posterior_ig[i] = np.exp(score_g - log_total)
        evidence += weight_i[i] * log_total
        items_g += weight_i[i] * posterior_ig[i]
        for j, label in zip(worker_n, label_n, strict=True):
            votes_jgl[j, :, label] += weight_i[i] * posterior_ig[i]
    return posterior_ig, votes_jgl, items_g, evidence


@pytest.mark.parametrize("votes_per_item", [1, 5, 60, 2000], ids=["one", "few", "products overflow", "odds overflow"])
@pytest.mark.parametrize("kind", ["plain", "weighted", "gold"])
def test_a_pass_in_log_odds_equals_a_loop_over_items(votes_per_item, kind):
    rng = np.random.default_rng(votes_per_item)
    n_items = 100
    gold_i = rng.integers(-1, 2, size=n_items) if kind == "gold" else None
    votes = random_votes(n_items, votes_per_item, 7, rng, gold_i)
    weight_i = rng.integers(1, 4, size=n_items).astype(float) if kind == "weighted" else np.ones(n_items)
    right_j = rng.uniform(0.6, 0.99, 7)
    confusion_jgl = np.stack([[right_j, 1 - right_j], [1 - right_j, right_j]]).transpose(2, 0, 1)
    skewed = confusion_jgl if votes_per_item < 1000 else np.broadcast_to([[0.7, 0.3], [0.1, 0.9]], (7, 2, 2))
    tables = Tables(np.log(skewed).transpose(0, 2, 1).reshape(14, 2), np.log([0.7, 0.3]))
    engine = in_memory(
        votes, weights=weight_i if kind == "weighted" else None, clamp_gold=kind == "gold", block_items=64
    )
    counts = expect(VoteData(votes, engine, count_totals(engine)), tables)
    posterior_ig, votes_jgl, items_g, evidence = slow_pass(votes, tables, weight_i)
    assert engine.rows(lambda block: posterior(block, tables)) == pytest.approx(posterior_ig, abs=1e-12)
    assert counts.votes_jgl == pytest.approx(votes_jgl, rel=1e-12, abs=1e-9)
    assert counts.items_g == pytest.approx(items_g, rel=1e-12, abs=1e-11)
    assert counts.evidence == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 1e30), (1, np.inf), (0.2, 1), (1e-30, 1), (0, 1)])
def test_sums_of_logs_match_numpy(low, high):
    value = np.random.default_rng(0).uniform(0, 1, 1000)
    value = np.where(value < 0.5, low, high) if high in (np.inf, 1e30) or low < 0.1 else low + (high - low) * value
    with np.errstate(divide="ignore"):
        assert sum_logs(value) == pytest.approx(np.log(value).sum(), rel=1e-12)
