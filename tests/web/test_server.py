"""The page requires the key, explains errors in its own terms, and shows the same numbers as the terminal."""

import contextlib
import csv
import http.client
import json
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from html import unescape
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
import uvicorn
from click.testing import CliRunner

from majorant.ask.design import Design
from majorant.cli import majorant as command_line
from majorant.errors import ConfigError
from majorant.render.ask import question_words
from majorant.render.html import live_map
from majorant.simulate import simulate
from majorant.web import runs as keeping
from majorant.web import serve
from majorant.web.app import application
from majorant.web.runs import Runs

TOKEN = "k" * 32
LIMIT = 200_000
INLINE = re.compile(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE)


@contextlib.contextmanager
def listening(folder, memory=2 * 10**9) -> Iterator[SimpleNamespace]:
    """The application on a port of this machine, in this process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        runs = Runs(folder, memory=memory)
        app = application(runs, token=TOKEN, port=port, limit=LIMIT)
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield SimpleNamespace(port=port, runs=runs)
        finally:
            server.should_exit = True
            thread.join()
            runs.close()
            assert not folder.exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with listening(tmp_path_factory.mktemp("serve") / "kept") as found:
        yield found


def ask(server, method, path, body=None, **headers):
    """One request; the status, the headers and the text of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        if "content-security-policy" in answer.headers and "text/html" in answer.headers.get("content-type", ""):
            assert "sandbox" in answer.headers["content-security-policy"] or not INLINE.search(text), INLINE.search(
                text
            )
        return SimpleNamespace(status=answer.status, headers=answer.headers, text=unescape(text))


def page(server, path="/", **form):
    """A page by its path within the server, or what a form on it leads to."""
    if form:
        kind = {"content_type": "application/x-www-form-urlencoded"}
        answer = ask(server, "POST", f"/{TOKEN}{path}", urlencode(form, doseq=True), **kind)
        return follow(server, answer)
    return ask(server, "GET", f"/{TOKEN}{path}")


def follow(server, answer):
    assert answer.status == 303, answer.text
    return ask(server, "GET", answer.headers["location"])


def parts(server, path, *fields):
    """Send a form with files: (name, file name or None, content) each."""
    body = b""
    for name, file, content in fields:
        named = "" if file is None else f'; filename="{file}"'
        body += f'--zz\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'.encode() + content + b"\r\n"
    return ask(server, "POST", f"/{TOKEN}{path}", body + b"--zz--\r\n", content_type="multipart/form-data; boundary=zz")


def send(server, name, content):
    """Upload a file; the id that it got, once it was looked at."""
    answer = parts(server, "/files", ("file", name, content))
    if answer.status != 303:
        return answer
    return settle(server, answer.headers["location"].rsplit("/", 1)[1])


def settle(server, id):
    """Wait until nothing is under way."""
    until = time.monotonic() + 120
    while json.loads(page(server, f"/files/{id}/state").text)["busy"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    return id


def table(n_items=120, seed=5):
    """A crowd of unlike workers that misses one class, as bytes, and the truth by item."""
    how = {"n_votes": 5, "n_workers": 9, "concentration": 4, "rng": seed}
    votes, truth = simulate([0.6, 0.4], [[0.95, 0.05], [0.55, 0.45]], n_items=n_items, **how)
    names = ("bad", "good")
    lines = ["snippet,who,stars,text"]
    for i, j, k in zip(votes.item_n, votes.worker_n, votes.label_n, strict=True):
        lines.append(f"s{votes.items[i]},{votes.workers[j]},{names[k]},Text {votes.items[i]}")
    truth_of = {f"s{item}": names[k] for item, k in zip(votes.items, truth, strict=True)}
    return ("\n".join(lines) + "\n").encode(), truth_of


COLUMNS = {"item": "snippet", "worker": "who", "label": "stars"}


def test_responses_have_security_headers_and_no_inline_code(server):
    for path in ("/", "/style.css", "/page.js", "/map.css", "/map.js", "/icon.svg", "/files/none"):
        answer = page(server, path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert page(server, "/files/none").status == 404
    assert "was removed, or the server was restarted" in page(server, "/files/none").text


def test_requests_without_the_key_are_refused(server):
    for path in (
        "/",
        "/files",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"//{TOKEN}/",
        f"/%C3%A9{TOKEN}/",
    ):
        answer = ask(server, "GET", path)
        assert answer.status == 403, path
        assert "majorant serve printed" in answer.text
    assert ask(server, "GET", f"/{TOKEN}").headers["location"] == f"/{TOKEN}/"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", ""])
def test_unknown_host_headers_are_rejected(server, host):
    answer = ask(server, "GET", f"/{TOKEN}/", Host=host.format(port=server.port))
    assert answer.status in (400, 403)
    assert "drop" not in answer.text


def test_localhost_is_accepted(server):
    assert ask(server, "GET", f"/{TOKEN}/", Host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}]
)
def test_cross_site_forms_are_rejected(server, headers):
    assert ask(server, "POST", f"/{TOKEN}/files", b"", **headers).status == 403


def test_bad_uploads_get_a_plain_error_message(server):
    empty = ask(server, "POST", f"/{TOKEN}/files", b"--zz--\r\n", content_type="multipart/form-data; boundary=zz")
    assert empty.status == 400
    assert "No file was chosen" in empty.text
    assert ask(server, "POST", f"/{TOKEN}/files", b"xx", content_type="multipart/form-data").status == 400
    large = send(server, "large.csv", b"x" * (LIMIT + 1))
    assert large.status == 413
    assert "exceeds the upload limit of 200 kB" in large.text
    found = page(server, f"/files/{send(server, '../../<b>.csv', b'%PDF-1.7')}")
    assert "is a PDF document" in found.text
    assert "Export the table as CSV" in found.text
    assert not list(server.runs.folder.parent.glob("*.csv"))


def test_upload_limit_applies_to_chunked_uploads(server):
    chunk = b"x" * 50_000
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        headers = {"content-type": "multipart/form-data; boundary=zz", "transfer-encoding": "chunked"}
        head = b'--zz\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        connection.request("POST", f"/{TOKEN}/files", iter([head, *[chunk] * 6]), headers, encode_chunked=True)
        assert connection.getresponse().status == 413


@pytest.fixture(scope="module")
def checked(server):
    """A file with odd column names, checked by way of the form."""
    content, truth = table()
    id = send(server, "odd.csv", content)
    asked = page(server, f"/files/{id}").text
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    settle(server, id)
    return id, content, truth, asked


def test_columns_are_guessed_and_shown(checked):
    _, _, _, asked = checked
    assert "These columns were guessed from their content" in asked
    assert '<option value="" selected data-column="who">who</option>' in asked
    assert "CSV, comma-separated, header, UTF-8" in asked
    assert "Text 0" in asked  # the first rows


def test_map_is_shown_only_if_its_assumptions_passed(server, checked):
    assert "data-majorant-map" not in page(server, f"/files/{checked[0]}").text
    assert "data-majorant-map" not in page(server).text
    made = simulate(
        [0.7, 0.3], [[0.85, 0.15], [0.25, 0.75]], n_items=400, n_votes=5, n_workers=30, labels=("ham", "spam"), rng=0
    )
    votes = made.votes
    rows = zip(votes.item_n, votes.worker_n, votes.label_n, strict=True)
    content = "item,worker,label\n" + "".join(f"i{i},w{j},{votes.labels[k]}\n" for i, j, k in rows)
    id = send(server, "alike.csv", content.encode())
    page(server, f"/files/{id}/columns", do="check")
    shown = page(server, f"/files/{settle(server, id)}").text
    settings = json.loads(re.search(r'data-majorant-map="(.*?)"><p>', shown)[1])
    summary = json.loads(page(server, f"/files/{id}/download/result.json").text)
    assert settings == json.loads(live_map(summary))
    assert settings["point"] == summary["map"][0]["model"]
    assert shown.index("Theory") < shown.index("data-majorant-map")
    assert "/map.js" in shown


@pytest.fixture(scope="module")
def terminal(checked, tmp_path_factory):
    """The same by the command line."""
    _, content, _, _ = checked
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "odd.csv").write_bytes(content)
    flags = [word for role, name in COLUMNS.items() for word in (f"--{role}", name)]

    def run(*words):
        with contextlib.chdir(folder):
            CliRunner().invoke(command_line, [words[0], "odd.csv", *flags, *words[1:]], catch_exceptions=False)

    run("check", "--out", "results")
    run("ask")
    return folder, run


def unlike(ours, theirs):
    """The parts in which two summaries differ, but for the command and the files that hold it."""
    one, other = json.loads(ours), json.loads(theirs)
    for summary in (one, other):
        summary["answer"].pop("command")  # a page has buttons
    return {
        name: (one.get(name), other.get(name))
        for name in (one | other).keys() - {"command", "files"}
        if one.get(name) != other.get(name)
    }


def test_page_numbers_match_the_command_line(server, checked, terminal):
    id, (folder, _) = checked[0], terminal
    shown = page(server, f"/files/{id}").text
    result = (folder / "results" / "result.json").read_text()
    assert not unlike(page(server, f"/files/{id}/download/result.json").text, result)
    for name in ("labels.csv", "workers.csv", "review.csv"):
        assert page(server, f"/files/{id}/download/{name}").text == (folder / "results" / name).read_text()
    assert page(server, f"/files/{id}/download/to_label.csv").text == (folder / "to_label.csv").read_text()
    ours, theirs = (page(server, f"/files/{id}/download/to_label.design.json").text, (folder / "to_label.design.json"))
    assert Design.from_dict(json.loads(ours)).id == Design.read(theirs).id
    assert json.loads(result)["answer"]["headline"] in shown
    assert "majorant check odd.csv --item snippet --worker who --label stars" in shown
    report = page(server, f"/files/{id}/report")
    assert report.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert page(server, f"/files/{id}/download/lock").status == 404


def test_page_labels_lead_to_the_same_answer_as_the_command_line(server, checked, terminal):
    (id, _, truth, _), (folder, run) = checked, terminal
    shown = page(server, f"/files/{id}/label/begin", do="begin").text
    assert "Which label is right?" in shown
    assert "Votes on this item" not in shown
    assert "Votes on this item" in page(server, f"/files/{id}/label?votes=shown").text
    wrong = ask(
        server,
        "POST",
        f"/{TOKEN}/files/{id}/label",
        "draw=1&label=ugly",
        content_type="application/x-www-form-urlencoded",
    )
    assert wrong.status == 409
    assert "'ugly' is not a class" in wrong.text
    given, undone = 0, False
    while found := re.search(r'name="draw" value="(\d+)"', shown):
        item = re.search(r"item <bdi>(\w+)</bdi>", shown)[1]
        assert f"<bdi>Text {item[1:]}</bdi>" in shown
        if given == 2 and not undone:
            shown, given, undone = page(server, f"/files/{id}/label", do="undo").text, 1, True
            assert "1 labelled" in shown
            continue
        sight = {"votes": "shown"} if given in (0, 1) and not undone else {}
        shown = page(server, f"/files/{id}/label", draw=found[1], label=truth[item], **sight).text
        given += 1
        assert given < 100
        assert not re.search(r"leads|right on", shown) or 'dl class="answer"' in shown
    settle(server, id)
    labels = page(server, f"/files/{id}/download/to_label.csv").text
    by_item = {row["item"]: row["label"] for row in csv.DictReader(labels.splitlines()) if row["label"]}
    assert len(by_item) == given
    for name in ("to_label.csv", "to_label.design.json"):  # the design went on to the stage that proves
        (folder / name).write_text(page(server, f"/files/{id}/download/{name}").text)
    design = Design.read(folder / "to_label.design.json")
    assert design.question.taught is not None
    assert given > design.question.taught.positions, "no label of the second stage"
    run("check", "--gold-file", "to_label.csv", "--out", "labelled")
    ours, theirs = page(server, f"/files/{id}/download/result.json").text, folder / "labelled" / "result.json"
    assert not unlike(ours, theirs.read_text())
    answer = json.loads(ours)["answer"]
    assert answer["source"] == "labels"
    assert answer["labels"] > 0
    assert answer["expert"]["decided"]
    written = page(server, f"/files/{id}/download/labels.csv").text
    assert written == (folder / "labelled" / "labels.csv").read_text()
    rows = {row["item"]: row for row in csv.DictReader(written.splitlines())}
    assert {item for item, row in rows.items() if row["source"] == "expert"} == set(by_item)
    assert all(rows[item]["label"] == label for item, label in by_item.items())
    told = page(server, f"/files/{id}").text
    assert "About your labels" in told
    assert "You gave 1 of them with the votes shown" in told  # the second was taken back, and given without


@pytest.mark.long
def test_two_files_are_listed_and_a_gold_file_is_used(server, terminal, tmp_path):
    (content, truth), (other, _) = table(n_items=60), table(n_items=40, seed=6)
    answer = parts(server, "/files", ("file", "one.csv", content), ("file", "two.csv", other))
    assert answer.headers["location"] == f"/{TOKEN}/"
    first, second = [kept.id for kept in server.runs.all()[:2]][::-1]
    for id in (first, second):
        settle(server, id)
    gold = "item,gold\n" + "".join(f"{item},{label}\n" for item, label in truth.items())
    fields = [("do", None, b"check"), *((role, None, name.encode()) for role, name in COLUMNS.items())]
    follow(server, parts(server, f"/files/{first}/columns", *fields, ("labelled", "truth.csv", gold.encode())))
    assert "Labels of an expert" in page(server, f"/files/{second}").text
    settle(server, first)
    for name, text in (("one.csv", content), ("truth.csv", gold.encode())):
        (tmp_path / name).write_bytes(text)
    flags = [word for role, name in COLUMNS.items() for word in (f"--{role}", name)]
    with contextlib.chdir(tmp_path):
        words = ["check", "one.csv", *flags, "--gold-file", "truth.csv", "--out", "results"]
        CliRunner().invoke(command_line, words, catch_exceptions=False)
    ours = page(server, f"/files/{first}/download/result.json").text
    assert not unlike(ours, (tmp_path / "results" / "result.json").read_text())
    assert json.loads(ours)["accuracy"]["source"] == "gold"
    home = page(server).text
    assert home.index("two.csv") < home.index("one.csv")
    assert "review its columns, then check it" in home
    assert json.loads(ours)["answer"]["headline"] in home
    assert "Uploaded: <bdi>truth.csv</bdi>" in page(server, f"/files/{first}/columns").text


@pytest.mark.long
@pytest.mark.parametrize("question", ["accuracy"])
def test_other_questions_match_the_command_line(server, tmp_path, question):
    content, truth = table(n_items=60, seed=7)
    id = send(server, "odd.csv", content)
    page(server, f"/files/{id}/columns", do="check", **COLUMNS)
    settle(server, id)
    shown = page(server, f"/files/{id}").text
    assert question_words(question, ("majority",)) in shown
    assert page(server, f"/files/{id}/label/begin", question="nonsense").status == 200
    page(server, f"/files/{id}/label/begin", question=question)
    settle(server, id)
    shown = page(server, f"/files/{id}/label").text
    assert question_words(question, ("majority",)) in shown
    for _ in range(8):
        draw, item = re.search(r'name="draw" value="(\d+)"', shown)[1], re.search(r"item <bdi>(\w+)</bdi>", shown)[1]
        shown = page(server, f"/files/{id}/label", draw=draw, label=truth[item]).text
    page(server, f"/files/{id}/label", do="finish")
    settle(server, id)
    ours = page(server, f"/files/{id}/download/result.json").text
    assert json.loads(ours)["answer"]["expert"]["kind"] == question
    for name in ("to_label.csv", "to_label.design.json"):
        (tmp_path / name).write_text(page(server, f"/files/{id}/download/{name}").text)
    (tmp_path / "odd.csv").write_bytes(content)
    flags = [word for role, name in COLUMNS.items() for word in (f"--{role}", name)]
    with contextlib.chdir(tmp_path):
        words = ["check", "odd.csv", *flags, "--gold-file", "to_label.csv", "--out", "results"]
        CliRunner().invoke(command_line, words, catch_exceptions=False)
    assert not unlike(ours, (tmp_path / "results" / "result.json").read_text())


def test_errors_in_the_table_are_shown_beside_the_form(server):
    id = send(server, "twice.csv", b"item,worker,label\na,w,1\na,w,0\nb,w,1\n")
    page(server, f"/files/{id}/columns", do="check")
    shown = page(server, f"/files/{settle(server, id)}").text
    assert "worker 'w' labels item 'a' a second time" in shown
    assert "“Repeated votes” (first, last, each)" in shown
    assert "<details open>" in shown
    page(server, f"/files/{id}/columns", do="check", threshold="high")
    assert "“Two classes of scores”: 'high' is not a number." in page(server, f"/files/{id}").text


def test_a_wide_table_shows_its_workers_and_takes_a_choice_of_them(server):
    rows = "".join(f"{n},yes,{'no' if n % 3 else 'yes'},{'yes' if n % 2 else 'no'}\n" for n in range(9))
    id = send(server, "wide.csv", f"item,ana,bo,cy\n{rows}".encode())
    shown = page(server, f"/files/{id}").text
    assert "One row per item and one column per worker: 3 workers." in shown
    assert "One row per item, one column per worker:" in shown
    assert server.runs.get(id).told({"workers": ["ana", "bo", "cy"]}) == {}
    page(server, f"/files/{id}/columns", do="look", workers=["ana", "bo"])
    assert "2 workers" in page(server, f"/files/{settle(server, id)}").text
    assert server.runs.get(id).told({"workers": ["ana", "bo"]}) == {"workers": ["ana", "bo"]}
    page(server, f"/files/{id}/columns", do="look", headless="yes", item="ana", worker="bo")
    assert "say which column is “Label”" in page(server, f"/files/{id}").text


def test_a_run_can_be_stopped_and_a_file_removed(server):
    id = send(server, "gone.csv", table(n_items=400)[0])
    answer = ask(
        server,
        "POST",
        f"/{TOKEN}/files/{id}/columns",
        urlencode(COLUMNS),
        content_type="application/x-www-form-urlencoded",
    )
    assert answer.status == 303
    busy = page(server, f"/files/{id}")
    assert "Checking the votes" in busy.text
    assert 'http-equiv="refresh"' in busy.text
    clash = ask(
        server, "POST", f"/{TOKEN}/files/{id}/columns", "do=check", content_type="application/x-www-form-urlencoded"
    )
    assert clash.status == 409
    folder = server.runs.get(id).folder
    page(server, f"/files/{id}/stop", do="stop")
    assert not server.runs.get(id).busy
    page(server, f"/files/{id}/remove", do="remove")
    assert page(server, f"/files/{id}").status == 404
    assert not folder.exists()


@pytest.mark.long
def test_large_file_is_processed_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "SPREAD", 10**6)
    (tmp_path / "own.csv").write_bytes(table(n_items=60)[0])
    with listening(tmp_path / "kept", memory=10**9) as server:
        id = server.runs.add_local(tmp_path / "own.csv").id
        settle(server, id)
        server.runs.check(id, {role: [name] for role, name in COLUMNS.items()})
        settle(server, id)
        kept = server.runs.get(id)
        assert kept.trouble == ""
        assert "sample" in kept.facts
        assert kept.facts["answer"]["step"]["labels"] > 0
        assert "to_label.csv" not in kept.downloads
        page(server, f"/files/{id}/label/begin", do="begin")
        settle(server, id)
        shown = page(server, f"/files/{id}/label").text
        assert "Which label is right?" in shown
        truth = table(n_items=60)[1]
        draw, item = re.search(r'name="draw" value="(\d+)"', shown)[1], re.search(r"item <bdi>(\w+)</bdi>", shown)[1]
        page(server, f"/files/{id}/label", draw=draw, label=truth[item])
        page(server, f"/files/{id}/label", do="finish")
        settle(server, id)
        kept = server.runs.get(id)
        assert kept.trouble == ""
        assert kept.facts["answer"]["expert"]["labels"] == 1
        # labels of all items that the user brings: sorted again, because gold belongs to what is sorted
        page(server, f"/files/{id}/label/begin", question="accuracy")
        settle(server, id)
        assert "How often are the labels" in page(server, f"/files/{id}/label").text
    assert (tmp_path / "own.csv").exists()


def test_a_busy_port_and_a_missing_package_are_reported(monkeypatch):
    how = {"browser": False, "memory": 10**9, "limit": LIMIT, "say": print}
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} is in use by another program"):
            serve([], port=port, **how)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ConfigError, match="pip install starlette uvicorn python-multipart"):
        serve([], port=0, **how)
