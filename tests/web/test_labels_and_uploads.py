"""Labels files can be replaced and removed, labels from several browsers are kept, and a full disk is reported."""

import contextlib
import csv
import json
import resource
import socket
import threading
import time

import pytest

from web.test_server import COLUMNS, TOKEN, ask, follow, listening, page, parts, send, settle, table

FIELDS = [("do", None, b"check"), *((role, None, name.encode()) for role, name in COLUMNS.items())]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with listening(tmp_path_factory.mktemp("serve") / "kept") as found:
        yield found


def gold_of(truth, flip=()):
    other = {"bad": "good", "good": "bad"}
    rows = [f"{item},{other[label] if item in flip else label}" for item, label in truth.items()]
    return ("item,gold\n" + "\n".join(rows) + "\n").encode()


def majority(server, id):
    return json.loads(page(server, f"/files/{id}/download/result.json").text)["accuracy"]["majority"]["value"]


def test_second_labels_file_replaces_the_first_and_can_be_removed(server):
    content, truth = table(n_items=30)
    id = send(server, "votes.csv", content)
    seen = []
    for name, gold in (("truth.csv", gold_of(truth)), ("wrong.csv", gold_of(truth, flip=truth))):
        follow(server, parts(server, f"/files/{id}/columns", *FIELDS, ("labelled", name, gold)))
        settle(server, id)
        seen.append(majority(server, id))
        assert f"--gold-file {name}" in page(server, f"/files/{id}").text
    assert seen[0] + seen[1] == pytest.approx(1)
    shown = page(server, f"/files/{id}/columns").text
    assert "wrong.csv" in shown
    assert "truth.csv" not in shown
    [kept] = server.runs.get(id).gold
    page(server, f"/files/{id}/columns", drop=kept.path.name, **COLUMNS)
    settle(server, id)
    assert "wrong.csv" not in page(server, f"/files/{id}/columns").text
    assert not kept.path.exists()
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    settle(server, id)
    result = json.loads(page(server, f"/files/{id}/download/result.json").text)
    assert result["accuracy"]["source"] != "gold"


def test_two_labels_files_without_a_design_are_rejected(server):
    content, truth = table(n_items=30)
    id = send(server, "votes.csv", content)
    both = [("labelled", name, gold_of(truth)) for name in ("one.csv", "two.csv")]
    follow(server, parts(server, f"/files/{id}/columns", *FIELDS, *both))
    settle(server, id)
    assert "one.csv and two.csv were uploaded without the design" in page(server, f"/files/{id}").text


@pytest.mark.long
def test_design_and_labels_are_paired_in_any_upload_order(server):
    content, truth = table()
    id = send(server, "votes.csv", content)
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    settle(server, id)
    labels, design = (
        page(server, f"/files/{id}/download/to_label{ending}").text for ending in (".csv", ".design.json")
    )
    rows = list(csv.DictReader(labels.splitlines()))
    filled = "draw,item,label\n" + "".join(
        f"{row['majorant_draw']},{row['item']},{truth[row['item']]}\n" for row in rows
    )
    uploads = {"mine.csv": filled.encode(), "mine.design.json": design.encode()}
    for order in ([*uploads], [*uploads][::-1]):
        other = send(server, "votes.csv", content)
        for name in order:
            follow(server, parts(server, f"/files/{other}/columns", *FIELDS, ("labelled", name, uploads[name])))
            settle(server, other)
        result = json.loads(page(server, f"/files/{other}/download/result.json").text)
        assert result["answer"]["labels"] > 0
        assert sorted(file.name for file in server.runs.get(other).gold) == sorted(uploads)


def test_concurrent_labels_from_several_browsers_are_all_kept(server):
    content, truth = table()
    id = send(server, "votes.csv", content)
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    settle(server, id)
    rows = list(csv.DictReader(page(server, f"/files/{id}/download/to_label.csv").text.splitlines()))
    assert len(rows) == 10
    start, answers = threading.Barrier(len(rows)), []

    def label(row):
        start.wait()
        form = f"draw={row['majorant_draw']}&label={truth[row['item']]}"
        kind = "application/x-www-form-urlencoded"
        answers.append(ask(server, "POST", f"/{TOKEN}/files/{id}/label", form, content_type=kind).status)

    threads = [threading.Thread(target=label, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [303] * len(rows)
    settle(server, id)
    now = list(csv.DictReader(page(server, f"/files/{id}/download/to_label.csv").text.splitlines()))
    assert {row["item"]: row["label"] for row in now[: len(rows)]} == {row["item"]: truth[row["item"]] for row in rows}
    if server.runs.get(id).facts is not None and server.runs.get(id).settled:  # decided on the way
        assert json.loads(page(server, f"/files/{id}/download/result.json").text)["answer"]["labels"] > 0


def test_upload_to_a_full_disk_is_reported_and_leaves_no_files(server):
    content, _ = table()
    good = send(server, "votes.csv", content)
    before = sorted(server.runs.folder.rglob("*"))
    large = content + b"x" * 100_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        answers = [
            parts(server, "/files", ("file", "large.csv", large)),
            parts(server, f"/files/{good}/columns", *FIELDS, ("labelled", "large.csv", large)),
        ]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for answer in answers:
        assert answer.status == 507
        assert "There is not enough disk space for this file: File too large. Nothing was kept." in answer.text
    assert sorted(server.runs.folder.rglob("*")) == before
    assert server.runs.all()[0].id == good


def test_aborted_upload_leaves_no_files_and_is_not_an_error(server, capfd):
    before = sorted(server.runs.folder.rglob("*"))
    with contextlib.closing(socket.create_connection(("127.0.0.1", server.port))) as client:
        head = f"POST /{TOKEN}/files HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += "Content-Type: multipart/form-data; boundary=zz\r\nContent-Length: 150000\r\n\r\n"
        client.sendall(
            head.encode() + b'--zz\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nit'
        )
    time.sleep(0.5)
    assert page(server).status == 200
    assert sorted(server.runs.folder.rglob("*")) == before
    assert "Traceback" not in capfd.readouterr().err


def test_file_names_of_any_length_are_accepted(server):
    for name in ("é" * 300 + ".csv", "x" * 2000, "." * 400, "名" * 200 + ".csv"):
        id = send(server, name, b"item,worker,label\na,b,c\n")
        assert isinstance(id, str), id.text
        assert page(server, f"/files/{id}").status == 200


def test_labels_do_not_change_under_a_running_check(server):
    content, truth = table(n_items=150, seed=3)
    id = send(server, "votes.csv", content)
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    answer = parts(server, f"/files/{id}/columns", *FIELDS, ("labelled", "truth.csv", gold_of(truth)))
    assert answer.status == 409
    assert "is being processed" in answer.text
    settle(server, id)
    assert server.runs.get(id).gold == ()
