# ruff: noqa: E501
"""Fifty-one typical user files: labelling exports, judge logs and custom tables.

Each is written from the same 60 items and 5 workers by a small function, and `FILES` says what a reader should make of it:
(items, workers, classes), or words of the message with which it is rightly refused.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

N_ITEMS = 60
PEOPLE = ("ana@lab.org", "bo@lab.org", "cy@lab.org", "dee@lab.org", "eli@lab.org")
JUDGES = ("openai/gpt-4o", "openai/gpt-4o-mini", "anthropic/claude-sonnet-4", "google/gemini-2.5-pro", "meta/llama-3.3")
TEXTS = [
    f"review {i}: the battery lasted {i % 9 + 1} days and then it was {'fine' if i % 3 else 'dead'}" for i in range(200)
]


def draw(
    n_workers: int = 5, classes: tuple[str, ...] = ("neg", "pos"), n_items: int = N_ITEMS, seed: int = 1
) -> tuple[list[str], np.ndarray]:
    """The truth, and the label of every worker (columns) on every item (rows)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(classes), size=n_items)
    right = rng.random((n_items, n_workers)) < np.linspace(0.92, 0.68, n_workers)
    other = (truth[:, None] + rng.integers(1, len(classes), size=right.shape)) % len(classes)
    names = np.array(classes)
    return names[truth].tolist(), names[np.where(right, truth[:, None], other)]


def votes(
    workers: tuple[str, ...] = PEOPLE, classes: tuple[str, ...] = ("neg", "pos"), per_item: int = 3
) -> list[tuple[int, str, str]]:
    """(item, worker, label), so many for each item."""
    _, labels = draw(len(workers), classes)
    chosen = np.random.default_rng(2)
    picked = [sorted(chosen.permutation(len(workers))[:per_item]) for _ in labels]
    return [(i, workers[j], str(labels[i, j])) for i, row in enumerate(picked) for j in row]


def table(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]], delimiter: str = ",") -> Path:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([list(header), *rows])
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def document(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def by_item(rows: list[tuple[int, str, str]]) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for i, worker, label in rows:
        found.setdefault(i, []).append((worker, label))
    return found


# Labelling tools


def label_studio(folder: Path) -> Path:
    def annotation(number: int, who: str, label: str) -> dict[str, Any]:
        answer = {
            "value": {"choices": [label]},
            "id": f"r{number}",
            "from_name": "sentiment",
            "to_name": "text",
            "type": "choices",
            "origin": "manual",
        }
        return {
            "id": number,
            "completed_by": {"id": PEOPLE.index(who) + 1, "email": who},
            "result": [answer],
            "was_cancelled": False,
            "ground_truth": False,
            "lead_time": 7.5,
        }

    tasks = [
        {
            "id": 100 + i,
            "data": {"text": TEXTS[i]},
            "annotations": [annotation(10 * i + n, *vote) for n, vote in enumerate(given)],
            "predictions": [],
            "project": 1,
        }
        for i, given in by_item(votes()).items()
    ]
    return document(folder / "project-1-at-2025-05-06.json", tasks)


def label_studio_ids(folder: Path) -> Path:
    """An older export, where completed_by is a number."""
    tasks = json.loads(label_studio(folder).read_text())
    for task in tasks:
        for annotation in task["annotations"]:
            annotation["completed_by"] = annotation["completed_by"]["id"]
    return document(folder / "export.json", tasks)


def label_studio_min(folder: Path) -> Path:
    rows = [
        {
            "text": TEXTS[i],
            "id": 100 + i,
            "sentiment": label,
            "annotator": PEOPLE.index(who) + 1,
            "annotation_id": 10 * i + PEOPLE.index(who),
            "created_at": "2025-05-06T10:00:00Z",
            "updated_at": "2025-05-06T10:00:00Z",
            "lead_time": 5.5,
        }
        for i, who, label in votes()
    ]
    return document(folder / "project-1-min.json", rows)


def label_studio_csv(folder: Path) -> Path:
    header = ["annotation_id", "annotator", "created_at", "id", "lead_time", "sentiment", "text", "updated_at"]
    rows = [
        (10 * i + PEOPLE.index(who), who, "2025-05-06T10:00:00Z", 100 + i, 5.5, label, TEXTS[i], "2025-05-06T10:00:00Z")
        for i, who, label in votes()
    ]
    return table(folder / "project-1.csv", header, rows)


def label_studio_boxes(folder: Path) -> Path:
    box = {
        "value": {"x": 1.5, "y": 2, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["car"]},
        "from_name": "label",
        "to_name": "image",
        "type": "rectanglelabels",
    }
    tasks = [
        {
            "id": i,
            "data": {"image": f"/data/{i}.jpg"},
            "annotations": [
                {"id": 5 * i + j, "completed_by": j, "result": [box], "was_cancelled": False} for j in range(3)
            ],
        }
        for i in range(N_ITEMS)
    ]
    return document(folder / "boxes.json", tasks)


def prodigy(folder: Path) -> Path:
    options = [{"id": "neg", "text": "negative"}, {"id": "pos", "text": "positive"}]
    rows = [
        {
            "text": TEXTS[i],
            "options": options,
            "_input_hash": 1000 + i,
            "_task_hash": -2000 - i,
            "_view_id": "choice",
            "config": {"choice_style": "single"},
            "accept": [label],
            "answer": "accept",
            "_timestamp": 1700000000 + i,
            "_annotator_id": f"reviews-{who.split('@')[0]}",
            "_session_id": f"reviews-{who.split('@')[0]}",
        }
        for i, who, label in votes()
    ]
    return lines(folder / "reviews.jsonl", rows)


def prodigy_binary(folder: Path) -> Path:
    rows = [
        {
            "text": TEXTS[i],
            "label": "COMPLAINT",
            "_input_hash": 1000 + i,
            "_task_hash": 3000 + i,
            "_view_id": "classification",
            "answer": "accept" if label == "neg" else "reject",
            "_timestamp": 1700000000 + i,
            "_annotator_id": f"c-{who}",
            "_session_id": f"c-{who}",
        }
        for i, who, label in votes()
    ]
    return lines(folder / "complaints.jsonl", rows)


def argilla(folder: Path) -> Path:
    records = [
        {
            "id": f"rec-{i}",
            "fields": {"text": TEXTS[i]},
            "metadata": {"source": "web"},
            "suggestions": {},
            "vectors": {},
            "status": "completed",
            "responses": {
                "sentiment": [{"value": label, "user_id": f"user-{PEOPLE.index(who)}"} for who, label in given]
            },
        }
        for i, given in by_item(votes()).items()
    ]
    return document(folder / "records.json", records)


def doccano(folder: Path) -> Path:
    for who in PEOPLE:
        name = who.split("@")[0]
        lines(
            folder / "doccano" / f"{name}.jsonl",
            ({"id": i, "text": TEXTS[i], "label": [label]} for i, w, label in votes() if w == who),
        )
    return folder / "doccano"


def doccano_merged(folder: Path) -> Path:
    """The export without users: the labels of all members in one list."""
    return lines(
        folder / "all.jsonl",
        (
            {"id": i, "text": TEXTS[i], "label": sorted({label for _, label in given})}
            for i, given in by_item(votes()).items()
        ),
    )


def labelbox(folder: Path) -> Path:
    def label(i: int, who: str, said: str) -> dict[str, Any]:
        answer = {
            "feature_id": f"f{i}",
            "feature_schema_id": "s",
            "name": "sentiment",
            "value": "sentiment",
            "radio_answer": {"feature_id": "x", "name": said, "value": said, "classifications": []},
        }
        return {
            "label_kind": "Default",
            "version": "1.0.0",
            "id": f"l{i}{who}",
            "label_details": {"created_at": "2025-05-06T10:00:00.000+00:00", "created_by": who, "reviews": []},
            "annotations": {"objects": [], "classifications": [answer], "relationships": []},
        }

    rows = [
        {
            "data_row": {"id": f"dr{i}", "global_key": f"review-{i}", "row_data": TEXTS[i]},
            "media_attributes": {},
            "projects": {
                "p1": {
                    "name": "reviews",
                    "labels": [label(i, *vote) for vote in given],
                    "project_details": {"ontology_id": "o", "workflow_status": "DONE"},
                }
            },
        }
        for i, given in by_item(votes()).items()
    ]
    return lines(folder / "export.ndjson", rows)


def toloka(folder: Path) -> Path:
    header = [
        "INPUT:image",
        "OUTPUT:result",
        "GOLDEN:result",
        "HINT:text",
        "HINT:default_language",
        "ASSIGNMENT:link",
        "ASSIGNMENT:task_id",
        "ASSIGNMENT:assignment_id",
        "ASSIGNMENT:worker_id",
        "ASSIGNMENT:status",
        "ASSIGNMENT:started",
    ]
    rows = [
        (
            f"https://x.org/{i}.jpg",
            label,
            "",
            "",
            "",
            "https://sandbox",
            f"0001--{i}",
            f"a{i}{PEOPLE.index(who)}",
            f"w{PEOPLE.index(who)}",
            "APPROVED",
            "2025-05-06T10:00:00",
        )
        for i, who, label in votes()
    ]
    return table(folder / "assignments.tsv", header, rows, "\t")


def mturk(folder: Path) -> Path:
    header = [
        "HITId",
        "HITTypeId",
        "Title",
        "AssignmentId",
        "WorkerId",
        "AssignmentStatus",
        "WorkTimeInSeconds",
        "LifetimeApprovalRate",
        "Input.image_url",
        "Answer.sentiment.label",
        "Approve",
        "Reject",
    ]
    rows = [
        (
            f"3HIT{i}",
            "3TYPE",
            "Sentiment",
            f"3A{i}{PEOPLE.index(who)}",
            f"A{PEOPLE.index(who)}XYZ",
            "Submitted",
            12 + i,
            "100% (7/7)",
            f"https://x.org/{i}.jpg",
            label,
            "",
            "",
        )
        for i, who, label in votes()
    ]
    return table(folder / "Batch_123_batch_results.csv", header, rows)


def cvat(folder: Path) -> Path:
    (folder / "cvat").mkdir()
    for who in PEOPLE:
        images = "".join(
            f'<image id="{i}" name="{i:04}.jpg" width="64" height="64"><tag label="{label}" source="manual"></tag></image>'
            for i, w, label in votes()
            if w == who
        )
        meta = f"<meta><task><id>1</id><name>t</name><segments><segment><id>1</id></segment></segments></task></meta><meta><job><id>1</id><assignee>{who}</assignee></job></meta>"
        (folder / "cvat" / f"{who.split('@')[0]}.xml").write_text(
            f"<?xml version='1.0' encoding='utf-8'?><annotations><version>1.1</version>{meta}{images}</annotations>"
        )
    return folder / "cvat"


def ground_truth(folder: Path) -> Path:
    for i, given in list(by_item(votes()).items())[:20]:
        answers = [
            {
                "acceptanceTime": "2025-05-06T10:00:00.000Z",
                "submissionTime": "2025-05-06T10:00:09.000Z",
                "timeSpentInSeconds": 9.5,
                "workerId": f"public.us-east-1.{who[:3].upper()}",
                "answerContent": {"crowd-classifier": {"label": label}},
            }
            for who, label in given
        ]
        path = folder / "worker-response" / "iteration-1" / str(i)
        path.mkdir(parents=True)
        document(
            path / "2025-05-06_10:00:00.json", {"answers": answers, "inputContent": None, "humanLoopName": f"loop{i}"}
        )
    return folder / "worker-response"


def ground_truth_merged(folder: Path) -> Path:
    """The output manifest: one consolidated label for each object, and no worker."""
    rows = (
        {
            "source-ref": f"s3://b/{i}.jpg",
            "labels": 0,
            "labels-metadata": {
                "class-name": "neg",
                "job-name": "labeling-job/labels",
                "confidence": 0.9,
                "type": "groundtruth/image-classification",
                "human-annotated": "yes",
                "creation-date": "2025-05-06T10:00:00.0",
            },
        }
        for i in range(N_ITEMS)
    )
    return lines(folder / "output.manifest", rows)


# Logs of judges


def inspect_log(judges: tuple[str, ...] = JUDGES, epochs: int = 1) -> dict[str, Any]:
    _, labels = draw(len(JUDGES), ("I", "C"))
    samples = [
        {
            "id": f"s{i}",
            "epoch": epoch + 1,
            "input": TEXTS[i],
            "target": "fine",
            "messages": [],
            "output": {"model": "openai/o4-mini", "choices": []},
            "scores": {
                f"graded_{judge.split('/')[1]}": {
                    "value": str(labels[i, JUDGES.index(judge)]),
                    "answer": "a",
                    "explanation": "because",
                    "metadata": {},
                }
                for judge in judges
            },
        }
        for i in range(N_ITEMS)
        for epoch in range(epochs)
    ]
    spec = {
        "run_id": "r",
        "created": "2025-05-06T10:00:00+00:00",
        "task": "qa",
        "task_id": "t",
        "dataset": {"samples": N_ITEMS},
        "model": "openai/o4-mini",
        "config": {"epochs": epochs},
        "scorers": [{"name": f"graded_{judge.split('/')[1]}"} for judge in judges],
    }
    return {
        "version": 2,
        "status": "success",
        "eval": spec,
        "plan": {"steps": []},
        "results": {"total_samples": N_ITEMS, "completed_samples": N_ITEMS, "scores": []},
        "stats": {},
        "samples": samples,
    }


def inspect_json(folder: Path) -> Path:
    return document(folder / "2025-05-06T10-00-00_qa_abc.json", inspect_log())


def inspect_eval(folder: Path) -> Path:
    log = inspect_log()
    with zipfile.ZipFile(folder / "2025-05-06T10-00-00_qa_abc.eval", "w") as archive:
        archive.writestr("header.json", json.dumps({key: value for key, value in log.items() if key != "samples"}))
        for sample in log["samples"]:
            archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    return folder / "2025-05-06T10-00-00_qa_abc.eval"


def inspect_folder(folder: Path) -> Path:
    """A log for each judge, as somebody runs who scores the same samples with several graders."""
    (folder / "logs").mkdir()
    for judge in JUDGES:
        document(folder / "logs" / f"2025_qa_{judge.split('/')[1]}.json", inspect_log((judge,)))
    return folder / "logs"


def promptfoo(folder: Path) -> Path:
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    results = [
        {
            "id": f"r{i}",
            "promptIdx": 0,
            "testIdx": i,
            "promptId": "p",
            "provider": {"id": "openai:o4-mini", "label": ""},
            "prompt": {"raw": TEXTS[i], "label": "p"},
            "vars": {"question": TEXTS[i]},
            "response": {"output": "yes"},
            "success": True,
            "score": 1,
            "latencyMs": 5,
            "namedScores": {},
            "failureReason": 0,
            "testCase": {"vars": {"question": TEXTS[i]}, "assert": []},
            "gradingResult": {
                "pass": True,
                "score": 1,
                "reason": "All",
                "componentResults": [
                    {
                        "pass": bool(labels[i, j] == "pass"),
                        "score": float(labels[i, j] == "pass"),
                        "reason": "because",
                        "assertion": {"type": "llm-rubric", "value": "is right", "provider": judge},
                    }
                    for j, judge in enumerate(JUDGES)
                ],
            },
        }
        for i in range(N_ITEMS)
    ]
    return document(
        folder / "results.json",
        {
            "evalId": "eval-x",
            "results": {
                "version": 3,
                "timestamp": "2025-05-06T10:00:00Z",
                "prompts": [],
                "results": results,
                "stats": {"successes": N_ITEMS, "failures": 0},
            },
            "config": {},
            "shareableUrl": None,
        },
    )


def lm_eval(folder: Path) -> Path:
    """A folder for each model, with the samples of one task."""
    truth, labels = draw(5, ("A", "B", "C", "D"))
    for j, model in enumerate(
        (
            "Qwen__Qwen3-8B",
            "meta-llama__Llama-3.1-8B",
            "google__gemma-3-4b",
            "mistralai__Mistral-7B",
            "microsoft__phi-4",
        )
    ):
        rows = [
            {
                "doc_id": i,
                "doc": {"question": TEXTS[i]},
                "target": truth[i],
                "arguments": {"gen_args_0": {"arg_0": TEXTS[i], "arg_1": {}}},
                "resps": [[f"The answer is {labels[i, j]}"]],
                "filtered_resps": [str(labels[i, j])],
                "filter": "strict-match",
                "metrics": ["exact_match"],
                "doc_hash": f"h{i}",
                "prompt_hash": "p",
                "target_hash": "t",
                "exact_match": float(labels[i, j] == truth[i]),
            }
            for i in range(N_ITEMS)
        ]
        lines(folder / "out" / model / "samples_gsm8k_2025-05-06T10-00-00.jsonl", rows)
    return folder / "out"


def lm_eval_repeats(folder: Path) -> Path:
    """One model, eight answers for each question."""
    truth, labels = draw(8, ("3", "4", "5"))
    rows = [
        {
            "doc_id": i,
            "doc": {"question": TEXTS[i]},
            "target": truth[i],
            "arguments": {},
            "resps": [[f"= {x}" for x in labels[i]]],
            "filtered_resps": [[str(x) for x in labels[i]]],
            "filter": "maj@8",
            "metrics": ["exact_match"],
            "doc_hash": f"h{i}",
            "exact_match": 1.0,
        }
        for i in range(N_ITEMS)
    ]
    return lines(folder / "samples_gsm8k_2025-05-06T10-00-00.jsonl", rows)


def deepeval(folder: Path) -> Path:
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    cases = [
        {
            "name": f"test_case_{i}",
            "input": TEXTS[i],
            "actualOutput": "yes",
            "expectedOutput": "yes",
            "success": True,
            "runDuration": 1.0,
            "order": i,
            "metricsData": [
                {
                    "name": "Correctness [GEval]",
                    "threshold": 0.5,
                    "success": bool(labels[i, j] == "pass"),
                    "score": 0.9 if labels[i, j] == "pass" else 0.2,
                    "reason": "because",
                    "strictMode": False,
                    "evaluationModel": judge,
                    "error": None,
                    "evaluationCost": 0.001,
                }
                for j, judge in enumerate(JUDGES)
            ],
        }
        for i in range(N_ITEMS)
    ]
    return document(
        folder / "test_run_123.json",
        {
            "testPassed": 50,
            "testFailed": 10,
            "testCases": cases,
            "conversationalTestCases": [],
            "metricsScores": [],
            "hyperparameters": {},
        },
    )


def ragas(folder: Path) -> Path:
    rng = np.random.default_rng(5)
    rows = [
        (TEXTS[i], "['context']", "an answer", "a reference", *(round(float(x), 2) for x in rng.integers(0, 2, 3)))
        for i in range(N_ITEMS)
    ]
    return table(
        folder / "ragas.csv",
        [
            "user_input",
            "retrieved_contexts",
            "response",
            "reference",
            "faithfulness",
            "answer_correctness",
            "factual_correctness(mode=f1)",
        ],
        rows,
    )


def verdicts(extra: Callable[[int], dict[str, Any]] = lambda i: {}) -> list[dict[str, Any]]:
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    return [
        {"question_id": f"q{i}", "judge": judge, "verdict": str(labels[i, j]), **extra(i)}
        for i in range(N_ITEMS)
        for j, judge in enumerate(JUDGES)
    ]


def judges_jsonl(folder: Path) -> Path:
    return lines(folder / "judges.jsonl", verdicts())


def judges_reasoned(folder: Path) -> Path:
    """With all that a home-made harness logs."""
    rows = verdicts(
        lambda i: {
            "prompt": TEXTS[i],
            "response": f"answer {i}",
            "reasoning": f"step by step {i}",
            "latency_ms": 100 + i,
            "cost_usd": 0.001,
            "timestamp": f"2025-05-06T10:{i:02}:00Z",
            "temperature": 0.0,
        }
    )
    return lines(folder / "judge_log.jsonl", rows)


def judges_wide(folder: Path) -> Path:
    truth, labels = draw(len(JUDGES), ("fail", "pass"))
    rows = [(f"q{i}", *labels[i], truth[i] if i < 40 else "") for i in range(N_ITEMS)]
    return table(folder / "judges_wide_clean.csv", ["question_id", *JUDGES, "human_label"], rows)


def judges_nested(folder: Path) -> Path:
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    rows = (
        {"id": f"q{i}", "prompt": TEXTS[i], "votes": dict(zip(JUDGES, map(str, labels[i]), strict=True))}
        for i in range(N_ITEMS)
    )
    return lines(folder / "nested.jsonl", rows)


def judges_pass(folder: Path) -> Path:
    """True and false in JSON."""
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    rows = [
        {"example_id": i, "grader": judge, "passed": bool(labels[i, j] == "pass")}
        for i in range(N_ITEMS)
        for j, judge in enumerate(JUDGES)
    ]
    return document(folder / "grades.json", rows)


def judges_folder(folder: Path) -> Path:
    """A file for each judge; `model` is the one that all of them judged."""
    _, labels = draw(len(JUDGES), ("fail", "pass"))
    for j, judge in enumerate(JUDGES):
        lines(
            folder / "perjudge" / f"{judge.split('/')[1]}.jsonl",
            ({"id": f"q{i}", "model": "my-model-v3", "verdict": str(labels[i, j])} for i in range(N_ITEMS)),
        )
    return folder / "perjudge"


# Tables of their own


def own(
    item: str,
    worker: str,
    label: str,
    classes: tuple[str, ...] = ("neg", "pos"),
    name: str = "own.csv",
    items: Callable[[int], str] = lambda i: f"x{i:03}",
) -> Callable[[Path], Path]:
    return lambda folder: table(
        folder / name, [item, worker, label], ((items(i), who, x) for i, who, x in votes(classes=classes))
    )


def essays(folder: Path) -> Path:
    rows = ((TEXTS[i], who.split("@")[0], x) for i, who, x in votes(classes=("1", "2", "3", "4", "5")))
    return table(folder / "essays.csv", ["essay", "rater", "score"], rows)


def dates(folder: Path) -> Path:
    """Own names, and columns that are none of the three."""
    rows = (
        (f"2025-05-{i % 28 + 1:02}", f"rev{i:03}", who, x, f"{i % 7 + 2}.5")
        for i, who, x in votes(classes=("negative", "neutral", "positive"))
    )
    return table(folder / "reviews.csv", ["date", "review_id", "labeled_by", "sentiment", "took"], rows)


def doctors(folder: Path) -> Path:
    truth, labels = draw(3, ("benign", "malignant"))
    rows = [[f"P{i:03}", *labels[i], truth[i]] for i in range(N_ITEMS)]
    for i in (3, 17, 40):
        rows[i][1 + i % 3] = "NA"
    return table(folder / "x.csv", ["PatientID", "Dr Smith", "Dr Lee", "Dr Wu", "Biopsy"], rows)


def radiologists(folder: Path) -> Path:
    _, labels = draw(4, ("0", "1"))
    rng = np.random.default_rng(3)
    rows = [
        [f"case{i}", int(rng.integers(30, 80)), "FM"[i % 2], ("GE", "Siemens", "Philips")[i % 3], *labels[i]]
        for i in range(N_ITEMS)
    ]
    for i in (5, 9, 33):
        rows[i][4 + i % 4] = ""
    return table(folder / "radiology.csv", ["case", "Age", "Sex", "Scanner", "R1", "R2", "R3", "R4"], rows)


def pivot(folder: Path) -> Path:
    """pandas: df.pivot(...).to_csv(), half of the cells empty."""
    rows = [(f"x{i}", *(dict(given).get(who, "") for who in PEOPLE)) for i, given in by_item(votes()).items()]
    return table(folder / "pivot.csv", ["item", *PEOPLE], rows)


def transposed(folder: Path) -> Path:
    """A form: a row for each rater, a column for each question."""
    _, labels = draw(12, ("no", "yes"), n_items=40)
    rows = ((f"2025/05/06 10:{j:02}", f"rater{j}@lab.org", *labels[:, j]) for j in range(12))
    return table(
        folder / "form.csv", ["Timestamp", "Email Address", *(f"Is statement {i} true?" for i in range(40))], rows
    )


def models_in_one_file(folder: Path) -> Path:
    rows = [
        {
            "question_id": f"q{i}",
            "model": model,
            "judge": judge,
            "verdict": str(draw(3, ("fail", "pass"), seed=11 + m)[1][i, j]),
        }
        for m, model in enumerate(("gpt-4o", "qwen3", "phi-4"))
        for i in range(N_ITEMS)
        for j, judge in enumerate(JUDGES[:3])
    ]
    return lines(folder / "panel.jsonl", rows)


def arena(folder: Path) -> Path:
    """Pairs as everybody stores them, judged in both orders; the winner is a model or a tie."""
    _, labels = draw(3, ("gpt-4o", "qwen3"))
    flip = np.random.default_rng(4).random(labels.shape) < 0.1
    rows = []
    for i in range(N_ITEMS):
        for j, judge in enumerate(JUDGES[:3]):
            first = str(labels[i, j])
            second = {"gpt-4o": "qwen3", "qwen3": "gpt-4o"}[first] if flip[i, j] else first
            rows += [(f"q{i}", "gpt-4o", "qwen3", judge, first), (f"q{i}", "qwen3", "gpt-4o", judge, second)]
    return table(folder / "arena.csv", ["question", "model_a", "model_b", "judge", "winner"], rows)


def places(folder: Path) -> Path:
    """As arena, and the winner is model_a, model_b or tie: Chatbot Arena's words."""
    _, labels = draw(3, ("gpt-4o", "qwen3"))
    rows = []
    for i in range(N_ITEMS):
        for j, judge in enumerate(JUDGES[:3]):
            rows += [
                (f"q{i}", *pair, judge, "model_a" if pair[0] == labels[i, j] else "model_b")
                for pair in (("gpt-4o", "qwen3"), ("qwen3", "gpt-4o"))
            ]
    return table(folder / "battles.csv", ["question_id", "model_a", "model_b", "judge", "winner"], rows)


def swapped(folder: Path) -> Path:
    """Pairs with an order column; A and B are the places, as the judge saw them."""
    _, labels = draw(3, ("A", "B"))
    flip = {"A": "B", "B": "A"}
    rows = [
        (f"q{i}", judge, order, str(labels[i, j]) if order == "original" else flip[str(labels[i, j])])
        for i in range(N_ITEMS)
        for j, judge in enumerate(JUDGES[:3])
        for order in ("original", "swapped")
    ]
    return table(folder / "swap.csv", ["question_id", "judge", "order", "winner"], rows)


def floats(folder: Path) -> Path:
    rng = np.random.default_rng(6)
    worth = rng.random(N_ITEMS)
    rows = (
        (f"q{i}", judge, round(float(np.clip(worth[i] + rng.normal(0, 0.1), 0, 1)), 2))
        for i in range(N_ITEMS)
        for judge in JUDGES
    )
    return table(folder / "scores01.csv", ["item", "judge", "score"], rows)


def cases(folder: Path) -> Path:
    rows = ((f"x{i}", who, ("Yes", "yes", "yes ")[i % 3] if x == "pos" else "no") for i, who, x in votes())
    return table(folder / "answers.csv", ["item", "worker", "answer"], rows)


def refusals(folder: Path) -> Path:
    rows = verdicts()
    for n, row in enumerate(rows):
        if n % 23 == 0:
            row["verdict"] = "refused" if n % 2 else "unclear"
    return lines(folder / "verdicts.jsonl", rows)


def european(folder: Path) -> Path:
    return table(
        folder / "stimmen.csv",
        ["Aufgabe;Item"[:7], "Annotator", "Label"],
        ((f"x{i}", who, x) for i, who, x in votes()),
        ";",
    )


def latin(folder: Path) -> Path:
    """Excel's Save as CSV in Western Europe."""
    rows = "".join(f"x{i};{who.split('@')[0]};{'größer' if x == 'pos' else 'kleiner'}\r\n" for i, who, x in votes())
    (folder / "excel.csv").write_bytes(("item;worker;label\r\n" + rows).encode("cp1252"))
    return folder / "excel.csv"


def parquet(folder: Path) -> Path:
    columns = dict(zip(("task_id", "annotator", "label"), map(list, zip(*votes(), strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "votes.parquet")
    return folder / "votes.parquet"


def headless(folder: Path) -> Path:
    rows = votes()
    return table(folder / "nohead.csv", (f"x{rows[0][0]}", *rows[0][1:]), ((f"x{i}", who, x) for i, who, x in rows[1:]))


def tags(folder: Path) -> Path:
    """Several labels in a cell."""
    rows = ((f"x{i}", who, "food|price" if x == "pos" else "service") for i, who, x in votes())
    return table(folder / "tags.csv", ["item", "worker", "labels"], rows)


def combined(folder: Path) -> Path:
    """Labels that somebody has combined already: one for each item, and no worker."""
    truth, _ = draw()
    return table(folder / "final.csv", ["item", "label"], ((f"x{i}", x) for i, x in enumerate(truth)))


class Walked(NamedTuple):
    """A file and what should become of it."""

    write: Callable[[Path], Path]
    read: tuple[int, int, int] | str
    note: str = ""  # words of a note that the user must see


FILES: dict[str, Walked] = {
    "label studio json": Walked(label_studio, (60, 5, 2)),
    "label studio json, users as numbers": Walked(label_studio_ids, (60, 5, 2)),
    "label studio json-min": Walked(label_studio_min, (60, 5, 2)),
    "label studio csv": Walked(label_studio_csv, (60, 5, 2)),
    "label studio boxes": Walked(label_studio_boxes, "boxes|rectangle"),
    "prodigy choice": Walked(prodigy, (60, 5, 2)),
    "prodigy accept or reject": Walked(prodigy_binary, (60, 5, 2)),
    "argilla": Walked(argilla, (60, 5, 2)),
    "doccano folder": Walked(doccano, (60, 5, 2)),
    "doccano merged": Walked(doccano_merged, "worker|member|annotator"),
    "labelbox": Walked(labelbox, (60, 5, 2)),
    "toloka": Walked(toloka, (60, 5, 2)),
    "mturk": Walked(mturk, (60, 5, 2)),
    "cvat": Walked(cvat, (60, 5, 2)),
    "ground truth responses": Walked(ground_truth, (20, 5, 2)),
    "ground truth manifest": Walked(ground_truth_merged, "consolidat|worker"),
    "combined labels": Walked(combined, "worker"),
    "inspect json": Walked(inspect_json, (60, 5, 2)),
    "inspect eval": Walked(inspect_eval, (60, 5, 2)),
    "inspect folder": Walked(inspect_folder, (60, 5, 2)),
    "promptfoo": Walked(promptfoo, (60, 5, 2)),
    "lm-eval folder": Walked(lm_eval, (60, 5, 4)),
    "lm-eval eight answers": Walked(lm_eval_repeats, (60, 8, 3)),
    "deepeval": Walked(deepeval, (60, 5, 2)),
    "ragas": Walked(ragas, (60, 3, 2)),
    "judges jsonl": Walked(judges_jsonl, (60, 5, 2)),
    "judges with reasoning": Walked(judges_reasoned, (60, 5, 2)),
    "judges wide with human_label": Walked(judges_wide, (60, 5, 2)),
    "judges nested": Walked(judges_nested, (60, 5, 2)),
    "judges passed true or false": Walked(judges_pass, (60, 5, 2)),
    "judges, a file each": Walked(judges_folder, (60, 5, 2)),
    "image_path, annotator_email": Walked(own("image_path", "annotator_email", "breed", ("cat", "dog", "fox"), "cv.csv", lambda i: f"img/{i:04}.jpg"), (60, 5, 3), "image_path"),
    "review_id, sentiment": Walked(dates, (60, 5, 3), "sentiment"),
    "essays": Walked(essays, (60, 5, 5)),
    "tweet, who, stance": Walked(own("tweet", "who", "stance", ("against", "for", "none"), items=lambda i: TEXTS[i]), (60, 5, 3), "stance"),
    "doctors and a biopsy": Walked(doctors, (60, 3, 3), "Biopsy"),
    "radiologists with covariates": Walked(radiologists, (60, 4, 2), "Scanner"),
    "pivot": Walked(pivot, (60, 5, 2)),
    "form, a row per rater": Walked(transposed, (40, 12, 2)),
    "several models": Walked(models_in_one_file, (180, 3, 2), "model"),
    "arena, winner is a model": Walked(arena, (60, 3, 3), "order|position|pair"),
    "arena, winner is a place": Walked(places, (60, 3, 2), "order|position|pair"),
    "pairs with an order column": Walked(swapped, (60, 3, 2)),
    "scores 0 to 1": Walked(floats, (60, 5, 0), "--threshold"),
    "Yes, yes and yes with a blank": Walked(cases, (60, 5, 4), "--fold-case"),
    "unclear and refused": Walked(refusals, (60, 5, 4), "--empty"),
    "semicolons": Walked(european, (60, 5, 2)),
    "latin-1 from Excel": Walked(latin, "--encoding latin-1"),
    "parquet": Walked(parquet, (60, 5, 2)),
    "no header": Walked(headless, "--columns item,worker,label"),
    "several labels in a cell": Walked(tags, (60, 5, 2), "--several"),
}  # fmt: skip
