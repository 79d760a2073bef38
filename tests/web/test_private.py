"""What other users of the machine can see of the page: neither its key nor any file; and labels outlive the server."""

import http.client
import os
import re
import signal
import stat
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

import pytest

from majorant.ask.design import recognise
from majorant.web.runs import Runs

pytest.importorskip("uvicorn")
SHOWN = """#!/bin/sh
printf '%s\\n' "$@" > "$SHOWN/arguments"
"""


@pytest.fixture
def served(tmp_path):
    """`majorant serve` with a browser that writes down its command line; its address and folder."""
    browser = tmp_path / "browser"
    browser.write_text(SHOWN)
    browser.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    environment = {**os.environ, "BROWSER": f"{browser} %s", "SHOWN": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    command = [sys.executable, "-m", "majorant", "serve"]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path / "work", env=environment
    )
    try:
        yield server, server.stdout.readline().strip(), tmp_path
    finally:
        server.kill()
        server.communicate()


def post(address, place, body, kind):
    url = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    connection.request("POST", f"{url.path}{place}", body, {"content-type": kind})
    try:
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers.get("location", "")
    finally:
        connection.close()


def upload(address, text):
    mark = '--x\r\ncontent-disposition: form-data; name="file"; filename="v.csv"\r\n\r\n'
    return post(address, "files", f"{mark}{text}\r\n--x--\r\n", "multipart/form-data; boundary=x")


@pytest.mark.skipif(os.name == "nt", reason="permissions work otherwise on Windows")
def test_no_other_user_sees_the_key_or_a_file(served):
    server, address, folder = served
    key = urllib.parse.urlsplit(address).path.strip("/")
    shown = folder / "arguments"
    while not (shown.exists() and shown.read_text()):
        time.sleep(0.05)
    page = Path(urllib.parse.unquote(urllib.parse.urlsplit(shown.read_text().strip()).path))
    assert key not in shown.read_text()
    assert address in page.read_text()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert key.encode() not in process.read_bytes()
        except OSError:
            continue
    status, _, _ = upload(address, "item,worker,label\na,w,y\na,x,n\nb,w,y\nb,x,y\n")
    assert status == 303
    time.sleep(1)
    files = list((folder / "tmp").rglob("*"))
    assert any(path.name == "votes.csv" for path in files)
    assert [str(path) for path in files if stat.S_IMODE(path.lstat().st_mode) & 0o077] == []
    server.send_signal(signal.SIGINT)
    assert server.communicate(timeout=60)[1] == "Stopped; all uploads and results were deleted.\n"
    assert [path.name for path in (folder / "tmp").iterdir()] == []


def test_labels_of_the_page_outlive_other_questions_and_the_server(tmp_path):
    import majorant as mj

    runs = Runs(tmp_path / "page", memory=1 << 30)
    id, place = runs.place("v.csv")
    place.path.write_text("item,worker,label\n" + "".join(f"q{n},{w},{'yn'[n % 2]}\n" for n in range(9) for w in "abc"))
    kept = runs.add(id, place)
    from majorant.ask.label_file import LabelFile

    for question, n in (("accuracy", 3), ("teach", 2)):
        folder = kept.folder / "ask"
        folder.mkdir()
        design = mj.ask(str(place.path), question=question, n=5)
        design.write(folder / "to_label.csv")
        items = LabelFile.read(folder / "to_label.csv", folder / "to_label.design.json")
        for number in range(1, n + 1):
            items = items.write(number, "y")
        if question == "accuracy":
            runs._set_aside(kept)
            assert not folder.exists()
    assert "earlier-1-to_label.csv" in kept.downloads
    (tmp_path / "here").mkdir()
    saved = runs.save_labels(tmp_path / "here")
    runs.close()
    assert [path.name for path in saved] == ["to_label.csv", "to_label-2.csv"]
    assert [recognise(path).outcome.labels for path in saved] == [3, 2]
    assert re.fullmatch("teach", recognise(saved[1]).design.question.kind)
