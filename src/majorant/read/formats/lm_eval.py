"""lm-evaluation-harness: samples_TASK_DATE.jsonl holds one model's answers, so pass one file per model.

Layout: EleutherAI/lm-evaluation-harness, lm_eval/loggers/evaluation_tracker.py (save_results_samples: the target is
written as text, so the position of a choice is "1").
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote
from majorant.read.table import whole_number


def _votes(sample: Record, context: Context) -> Iterator[Vote]:
    """Each model answer is a vote, the target is gold, and each filter is a question."""
    path = Path(context.source)
    model = path.parent.name or path.name.split(".")[0]
    question = sample.get("filter") or "answer"
    answers, target = _answers(sample["filtered_resps"]), sample["target"]
    if len(answers) == 1 and isinstance(answers[0], int) and isinstance(target, str) and (choices := _choices(sample)):
        answers = [choices[answers[0]]]
        place = whole_number(target)
        if target not in choices and place is not None and place < len(choices):
            target = choices[place]
    else:
        context.kept += len(answers)
        context.responses += max(len(_answers(sample.get("resps") or [])), len(answers))
    first = sample["arguments"] if sample.get("arguments") else None
    fields = {"text": _text(first)}
    gold = target[0] if isinstance(target, list) and len(target) == 1 else target
    if isinstance(gold, (str, int, float)):
        yield Vote(item=sample["doc_id"], worker=model, answers={question: gold}, is_gold=True)
    for number, answer in enumerate(answers, start=1):
        yield Vote(
            item=sample["doc_id"],
            worker=model if len(answers) == 1 else f"{model}, response {number}",
            answers={} if answer in ("[invalid]", None) else {question: answer},
            partial=True,
            fields=fields,
        )


def _answers(responses: Any) -> list[Any]:
    """The generated texts, one or several per item; for log likelihoods, the position of the largest.

    >>> _answers(["a"]), _answers([["a", "b"]]), _answers([[-3.5, False], [-1.5, True]])
    (['a'], ['a', 'b'], [1])
    """
    pairs = [one for one in responses or () if isinstance(one, list) and len(one) == 2]
    if pairs and len(pairs) == len(responses) and all(str(greedy) in ("True", "False") for _, greedy in pairs):
        likelihood = [float(one[0]) for one in responses]
        return [likelihood.index(max(likelihood))]
    if not isinstance(responses, list):
        return [responses]
    return [one for part in responses for one in (part if isinstance(part, list) else [part])] or [None]


def _choices(sample: Record) -> list[str]:
    arguments = sample.get("arguments") or []
    pairs = arguments if isinstance(arguments, list) else [[a["arg_0"], a.get("arg_1")] for a in arguments.values()]
    return [str(pair[1]).strip() for pair in pairs]


def _text(arguments: Any) -> Any:
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return arguments[0][0]
    if isinstance(arguments, dict) and arguments:
        return next(iter(arguments.values())).get("arg_0")
    return None


FORMATS = [
    Format(
        name="lm-eval samples log",
        recognise=lambda keys, _: {"doc_id", "target", "filtered_resps"} <= keys,
        votes=_votes,
        nouns=("model", "sample"),
        judges=True,
    ),
]
