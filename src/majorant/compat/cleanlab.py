"""cleanlab's multi-annotator interface: a matrix of votes in, cleanlab's three tables out.  Needs pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from majorant.methods.fit import Fit
from majorant.pipeline import aggregate
from majorant.read import from_matrix
from majorant.results.workers import worker_sums
from majorant.tally import counts
from majorant.votes import Votes


def get_label_quality_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any = None,  # noqa: ARG001
    *,
    method: str = "dawid-skene",
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    rng: int = 0,
) -> dict[str, Any]:
    """Compute cleanlab 2's tables of consensus labels, votes and annotators with one of our methods.

    The matrix has a row for each item, a column for each annotator, and NaN for no vote; labels may be of any type.
    The quality of a label is its probability under `method`. The quality of an annotator is their expected share of
    right votes, and their worst class the label with which they contradict the consensus most often. `pred_probs`,
    which cleanlab requires, is ignored.

    >>> found = get_label_quality_multiannotator([[1, 1, 0], [0, 0, None], [1, None, 1]], method="majority")
    >>> found["label_quality"]["consensus_label"].tolist(), found["label_quality"]["num_annotations"].tolist()
    ([1, 0, 1], [3, 2, 2])
    """
    votes = from_matrix(labels_multiannotator)
    fit = aggregate(votes, method, rng=rng)
    tables = {"label_quality": _label_quality(votes, fit)}
    if return_detailed_quality:
        tables["detailed_label_quality"] = _detailed_label_quality(votes, fit)
    if return_annotator_stats:
        tables["annotator_stats"] = _annotator_stats(votes, fit)
    return tables


def _label_quality(votes: Votes, fit: Fit) -> Any:
    import pandas as pd

    code_i = fit.codes("first")
    rows = np.arange(len(code_i))
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement_i = counts(votes)[rows, code_i] / votes.votes_i
    return pd.DataFrame(
        {
            "consensus_label": fit.labels("first"),
            "consensus_quality_score": np.where(code_i < 0, np.nan, fit.posterior[rows, code_i]),
            "annotator_agreement": np.where(code_i < 0, np.nan, agreement_i),
            "num_annotations": votes.votes_i,
        },
        index=list(votes.items),
    )


def _detailed_label_quality(votes: Votes, fit: Fit) -> Any:
    """The probability of each vote, in the shape of the matrix."""
    import pandas as pd

    quality_ij = np.full((len(votes.items), len(votes.workers)), np.nan)
    quality_ij[votes.item_n, votes.worker_n] = fit.posterior[votes.item_n, votes.label_n]
    return pd.DataFrame(quality_ij, index=list(votes.items), columns=list(votes.workers)).add_prefix(
        "quality_annotator_"
    )


def _annotator_stats(votes: Votes, fit: Fit) -> Any:
    """A row for each annotator, worst first."""
    import pandas as pd

    sums = worker_sums(votes, fit)
    votes_j = sums.votes_jl.sum(axis=1)
    n_workers, n_classes = len(votes.workers), len(votes.labels)
    wrong_n = fit.codes("first")[votes.item_n] != votes.label_n
    cell_n = votes.worker_n.astype(np.int64) * n_classes + votes.label_n
    wrong_jk = np.bincount(cell_n, weights=wrong_n, minlength=n_workers * n_classes).reshape(n_workers, n_classes)
    given_jk = np.bincount(cell_n, minlength=n_workers * n_classes).reshape(n_workers, n_classes)
    wrong_share_jk = np.where(given_jk > 0, wrong_jk / np.maximum(given_jk, 1), -1.0)
    worst_jk = wrong_share_jk == wrong_share_jk.max(axis=1, keepdims=True)
    return pd.DataFrame(
        {
            "annotator_quality": np.divide(sums.right_j, votes_j, out=np.full(n_workers, np.nan), where=votes_j > 0),
            "agreement_with_consensus": 1 - wrong_jk.sum(axis=1) / np.maximum(votes_j, 1),
            "worst_class": [votes.labels[k] for k in np.where(worst_jk, given_jk, -1).argmax(axis=1)],
            "num_examples_labeled": votes_j,
        },
        index=list(votes.workers),
    ).sort_values("annotator_quality", kind="stable")
