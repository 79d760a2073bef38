"""DeepEval: a test run as JSON; each metric with its model is a judge of the test cases.

Layout: confident-ai/deepeval, deepeval/test_run/api.py and test_run.py, deepeval/tracing/api.py (metrics).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote


def _cases(run: Record) -> list[Any]:
    """The test cases; empty if no metric has judged any of them."""
    run = run.get("testRunData") or run
    found = [*(run.get("testCases") or ()), *(run.get("conversationalTestCases") or ())]
    return found if any("metricsData" in case for case in found) else []


def _votes(run: Record, _: Context) -> Iterator[Vote]:
    """The label is passed or failed, or the score with label=score; a metric with an error abstains."""
    for case in _cases(run):
        fields = {"text": case.get("input") or case.get("scenario"), "output": case.get("actualOutput")}
        for metric in case.get("metricsData") or ():
            model = metric.get("evaluationModel")
            worker = f"{metric['name']} by {model}" if model else metric["name"]
            failed = metric.get("error") is not None or metric.get("success") is None
            answers = (
                {} if failed else {"success": "pass" if metric["success"] else "fail", "score": metric.get("score")}
            )
            yield Vote(item=case["name"], worker=worker, answers=answers, fields=fields)


FORMATS = [
    Format(
        name="DeepEval test run",
        recognise=lambda keys, first: bool({"testCases", "testRunData"} & keys and _cases(first)),
        votes=_votes,
        nouns=("metric", "test case"),
        default="success",
        judges=True,
    )
]
