"""cleanlab's shapes: a matrix of votes in, its tables of consensus and annotators out.  Needs pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from majorant.answer.workers import assess_workers
from majorant.io import from_matrix
from majorant.pipeline import aggregate
from majorant.tally import counts


def get_label_quality_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any = None,  # noqa: ARG001
    *,
    method: str = "dawid-skene",
    rng: int = 0,
) -> dict[str, Any]:
    """The tables `label_quality` and `annotator_stats` under cleanlab's column names, by a fit of ours.

    A row for each item, a column for each annotator, NaN for no vote; labels may be of any type.  The quality of a
    consensus is its probability under `method`, that of an annotator the expected share of right votes.  Votes alone
    decide: `pred_probs`, which cleanlab needs, is not used.

    >>> found = get_label_quality_multiannotator([[1, 1, 0], [0, 0, None], [1, None, 1]], method="majority")
    >>> found["label_quality"]["consensus_label"].tolist(), found["label_quality"]["num_annotations"].tolist()
    ([1, 0, 1], [3, 2, 2])
    """
    import pandas as pd

    votes = from_matrix(labels_multiannotator)
    fit = aggregate(votes, method, rng=rng)
    code_i = fit.codes("first")
    rows = np.arange(len(code_i))
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement_i = counts(votes)[rows, code_i] / votes.votes_i
    workers = assess_workers(votes, fit)
    right_n = code_i[votes.item_n] == votes.label_n
    n_workers = len(votes.workers)
    right_j = np.bincount(votes.worker_n, weights=right_n, minlength=n_workers) / np.maximum(workers.votes_j, 1)
    label_quality = pd.DataFrame(
        {
            "consensus_label": fit.labels("first"),
            "consensus_quality_score": np.where(code_i < 0, np.nan, fit.posterior[rows, code_i]),
            "annotator_agreement": np.where(code_i < 0, np.nan, agreement_i),
            "num_annotations": votes.votes_i,
        },
        index=list(votes.items),
    )
    annotator_stats = pd.DataFrame(
        {
            "annotator_quality": workers.accuracy_j,
            "agreement_with_consensus": right_j,
            "num_examples_labeled": workers.votes_j,
        },
        index=list(votes.workers),
    )
    return {"label_quality": label_quality, "annotator_stats": annotator_stats}
