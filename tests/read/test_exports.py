"""Exports of annotation tools, read as they are."""

import json

import pytest

import majorant as mj
from majorant.errors import ConfigError, DataError


def annotation(worker, *labels, question="sentiment", kind="choices", **more):
    value = {"choices": list(labels)} if kind == "choices" else {kind: labels[0]}
    results = [{"type": kind, "from_name": question, "to_name": "text", "value": value}] if labels else []
    return {"completed_by": worker, "result": results, **more}


def label_studio(tmp_path, *annotations_per_task, predictions=()):
    tasks = [
        {"id": 17 + t, "data": {"text": f"phone {t}", "language": "en"}, "annotations": annotations,
         "predictions": list(predictions)}
        for t, annotations in enumerate(annotations_per_task)
    ]  # fmt: skip
    path = tmp_path / "project-1.json"
    path.write_text(json.dumps(tasks, indent=1))
    return path


def lines(tmp_path, *records):
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def triples(votes):
    return {
        (votes.items[i], votes.workers[j], votes.labels[k])
        for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    }


def test_label_studio_annotations_skips_and_ground_truth(tmp_path):
    path = label_studio(
        tmp_path,
        [annotation(4, "pos", lead_time=3.5), annotation({"id": 9, "email": "bo@example.org"}, "neg")],
        [annotation(4, was_cancelled=True), annotation(9, "neg"), annotation(1, "pos", ground_truth=True)],
    )
    votes = mj.read(path)
    assert triples(votes) == {(17, 4, "pos"), (17, "bo@example.org", "neg"), (18, 9, "neg")}
    assert votes.abstained_i.tolist() == [0, 1]
    assert votes.gold_i.tolist() == [-1, votes.labels.index("pos")]
    assert votes.account.format == "Label Studio export, 3 annotators, 2 tasks"
    assert votes.account.balanced


def test_items_can_be_named_and_sliced_by_their_own_fields(tmp_path):
    path = label_studio(tmp_path, [annotation(4, "pos"), annotation(5, "neg")])
    assert mj.read(path, item="data.text").items == ("phone 0",)
    assert mj.read(path, by="data.language").slices == ("en",)


def test_predictions_are_votes_only_where_the_worker_is_the_model(tmp_path):
    predictions = [
        {"model_version": name, "result": annotation(0, label)["result"]}
        for name, label in (("m1", "pos"), ("m2", "neg"))
    ]
    path = label_studio(tmp_path, [annotation(4, "pos")], predictions=predictions)
    assert mj.read(path).workers == (4,)
    assert triples(mj.read(path, worker="model_version")) == {(17, "m1", "pos"), (17, "m2", "neg")}


def test_the_question_is_named_where_there_are_several(tmp_path):
    both = annotation(4, "pos")
    both["result"] += annotation(4, 5, question="stars", kind="rating")["result"]
    path = label_studio(tmp_path, [both])
    with pytest.raises(DataError, match=r"several questions: 'sentiment', 'stars'\. Say which with label='NAME'"):
        mj.read(path)
    assert triples(mj.read(path, label="stars")) == {(17, 4, 5)}
    with pytest.raises(ConfigError, match=r"no question 'mood'\. It asks 'sentiment', 'stars'"):
        mj.read(path, label="mood")


def test_several_labels_at_once_are_refused(tmp_path):
    path = label_studio(tmp_path, [annotation(4, "pos", "neg")])
    with pytest.raises(DataError, match=r"item 17: worker 4 chooses several labels at once, 'pos', 'neg'"):
        mj.read(path)


def test_an_export_without_answers_or_with_another_layout_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no answer"):
        mj.read(label_studio(tmp_path, [annotation(4)]))
    path = label_studio(tmp_path, [{"result": []}])
    with pytest.raises(DataError, match=r"record 1 is not as in a Label Studio export \(KeyError: 'completed_by'\)"):
        mj.read(path)


def test_prodigy_choices(tmp_path):
    def choice(text, worker, accept, answer="accept"):
        return {"text": f"t{text}", "options": [{"id": "pos"}, {"id": "neg"}], "accept": accept, "answer": answer,
                "_input_hash": text, "_task_hash": -text, "_session_id": worker, "_annotator_id": worker}  # fmt: skip

    votes = mj.read(lines(tmp_path, choice(1, "ana", ["pos"]), choice(1, "bo", ["neg"]), choice(2, "bo", [], "ignore")))
    assert triples(votes) == {(1, "ana", "pos"), (1, "bo", "neg")}
    assert votes.abstained_i.tolist() == [0, 1]
    assert votes.account.ignored == ("data.text",)


def test_prodigy_yes_and_no_are_about_a_text_and_a_label(tmp_path):
    def binary(worker, answer, label="POS"):
        return {
            "text": "t",
            "label": label,
            "answer": answer,
            "_input_hash": 1,
            "_task_hash": len(label),
            "_session_id": worker,
        }

    votes = mj.read(lines(tmp_path, binary("ana", "accept"), binary("bo", "reject"), binary("bo", "accept", "OTHER")))
    assert triples(votes) == {(3, "ana", "accept"), (3, "bo", "reject"), (5, "bo", "accept")}


def test_argilla_counts_submitted_responses(tmp_path):
    record = {
        "id": "r1", "text": "great phone", "label.responses": ["pos", "neg", "pos"],
        "label.responses.users": ["u1", "u2", "u3"], "label.responses.status": ["submitted", "draft", "submitted"],
        "label.suggestion": "pos", "label.suggestion.agent": "judge-a",
    }  # fmt: skip
    empty = {"id": "r2", "text": "-", "label.responses": None, "label.responses.users": None}
    votes = mj.read(lines(tmp_path, record, empty))
    assert triples(votes) == {("r1", "u1", "pos"), ("r1", "u3", "pos")}
    assert votes.abstained_i.tolist() == [1]


def test_a_list_with_one_label_is_that_label(tmp_path):
    """doccano writes a list even if only one label is allowed."""
    path = lines(
        tmp_path, {"id": 3, "text": "a", "label": ["pos"], "user": "ana"}, {"id": 3, "label": [], "user": "bo"}
    )
    votes = mj.read(path)
    assert triples(votes) == {(3, "ana", "pos")}
    assert votes.abstained_i.tolist() == [1]
