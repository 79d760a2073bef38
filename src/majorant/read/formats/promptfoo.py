"""promptfoo: `promptfoo eval -o results.json` (or .jsonl); each assertion is a judge of an output.

Layout: promptfoo/promptfoo, src/types/index.ts (EvaluateResult, GradingResult).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from majorant.read.formats.base import Context, Format, Record, Vote


def _outputs(document: Record) -> Any:
    found = document.get("results")
    return found.get("results") if isinstance(found, dict) else found


def _results(document: Record, _: Context) -> Iterator[Vote]:
    outputs = _outputs(document)
    several = {
        "prompt": len({out.get("promptIdx") for out in outputs}) > 1,
        "provider": len({_provider(out) for out in outputs}) > 1,
    }
    for out in outputs:
        yield from _votes(out, several)


def _votes(out: Record, several: dict[str, bool]) -> Iterator[Vote]:
    """The label is pass or fail, or the score with label=score; a grader that failed abstains."""
    item = f"test {out['testIdx']}"
    item += f", {_provider(out)}" if several["provider"] else ""
    item += f", prompt {out['promptIdx']}" if several["prompt"] else ""
    fields = {"text": (out.get("prompt") or {}).get("raw"), "output": _output(out), **(out.get("vars") or {})}
    graded = (out.get("gradingResult") or {}).get("componentResults") or []
    seen: Counter[str] = Counter()
    for part in graded:
        name = _judge(part.get("assertion") or {})
        seen[name] += 1
        worker = name if seen[name] == 1 else f"{name} {seen[name]}"
        failed = (part.get("metadata") or {}).get("graderError") or part.get("pass") is None
        answers = {} if failed else {"pass": "pass" if part["pass"] else "fail", "score": part["score"]}
        yield Vote(item=item, worker=worker, answers=answers, fields=fields)


def _judge(assertion: Record) -> str:
    """The user's name of the metric, or else the grader's model, or else the type of assertion."""
    provider = assertion.get("provider")
    provider = provider.get("id") if isinstance(provider, dict) else provider
    kind = str(assertion.get("type", "assertion"))
    return str(assertion.get("metric") or (f"{kind} by {provider}" if provider else kind))


def _provider(out: Record) -> Any:
    provider = out.get("provider")
    return (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider


def _output(out: Record) -> Any:
    response = out.get("response")
    return response.get("output") if isinstance(response, dict) else response


def _refusal(first: Record, _: str) -> str | None:
    outputs = _outputs(first)
    if outputs and not any((out.get("gradingResult") or {}).get("componentResults") for out in outputs):
        return (
            "without the results of single assertions (componentResults). Run promptfoo eval again with at least one "
            "assertion per test, -o results.json."
        )
    return None


def _is_results(first: Record) -> bool:
    outputs = _outputs(first)
    return isinstance(outputs, list) and all(isinstance(out, dict) and "testIdx" in out for out in outputs[:1])


FORMATS = [
    Format(
        name="promptfoo results file",
        recognise=lambda keys, first: "results" in keys and bool({"evalId", "config"} & keys) and _is_results(first),
        votes=_results,
        default="pass",
        nouns=("assertion", "output"),
        refusal=_refusal,
        judges=True,
    ),
    Format(
        name="promptfoo results file",
        recognise=lambda keys, _: {"gradingResult", "testIdx", "promptIdx"} <= keys,
        votes=lambda out, _: _votes(out, {"prompt": True, "provider": True}),
        default="pass",
        nouns=("assertion", "output"),
        judges=True,
    ),
]
