"""Ragas: the table of an evaluation, with a row per sample and a column per metric.

Layout: explodinggradients/ragas, src/ragas/dataset_schema.py (the samples' columns, EvaluationResult.to_pandas).
"""

from __future__ import annotations

from collections.abc import Sequence

from majorant.read.formats.base import TableFormat


def _metrics(names: Sequence[str]) -> list[str]:
    of_sample = {
        "user_input", "response", "retrieved_contexts", "reference", "reference_contexts", "rubrics", "rubric",
        "multi_responses", "question", "answer", "contexts", "ground_truth", "ground_truths", "reference_tool_calls",
        "reference_topics", "retrieved_context_ids", "reference_context_ids", "persona_name", "query_style",
        "query_length", "",
    }  # fmt: skip
    return [] if {"worker", "judge"} & set(names) else [name for name in names if name not in of_sample]


FORMATS = [
    TableFormat(
        name="Ragas results",
        columns=frozenset(columns),
        roles=lambda names: {"item": "user_input" if "user_input" in names else "question", "gold": ""},
        workers=_metrics,
        judges=True,
    )
    for columns in (["user_input", "response"], ["question", "answer", "contexts"])
]
