"""Uploads are never imported as modules, whatever their name, and the current folder is not on the path."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from web.test_server import COLUMNS, listening, page, parts, send, settle, table

MODULES = ("numpy.py", "json.py", "majorant.py", "sitecustomize.py")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with listening(tmp_path_factory.mktemp("serve") / "kept") as found:
        yield found


def trap(folder: Path) -> tuple[bytes, Path]:
    """Python that leaves a file behind where it runs, and that is a table of votes as well."""
    seen = folder / "it-ran"
    return f"open({str(seen)!r}, 'w').close()\nraise SystemExit\n".encode(), seen


@pytest.mark.parametrize("name", MODULES)
def test_an_upload_named_like_a_module_never_runs(server, tmp_path, name):
    code, seen = trap(tmp_path)
    id = send(server, name, code)
    page(server, f"/files/{id}/columns", do="look")
    settle(server, id)
    assert not seen.exists()
    assert name in page(server, f"/files/{id}").text  # the page shows the user's name ...
    stored = [path.name for path in (server.runs.folder / id / "files").iterdir()]
    assert stored == ["votes"]  # ... which no file on the disk has


def test_labels_files_named_like_modules_never_run(server, tmp_path):
    code, seen = trap(tmp_path)
    content, _ = table(n_items=30)
    id = send(server, "votes.csv", content)
    fields = [("do", None, b"check"), *((role, None, column.encode()) for role, column in COLUMNS.items())]
    for name in MODULES[:3]:
        answer = parts(server, f"/files/{id}/columns", *fields, ("labelled", name, code))
        assert answer.status == 303
        settle(server, id)
    assert not seen.exists()
    assert all(path.name.startswith(("votes", "labels-")) for path in (server.runs.folder / id / "files").iterdir())


def test_jobs_import_nothing_from_the_server_start_folder(tmp_path):
    """The server may be started in a folder of downloads with arbitrary file names."""
    code, seen = trap(tmp_path)
    for name in ("majorant.py", "numpy.py", "scipy.py"):
        (tmp_path / name).write_bytes(code)
    script = "import json, os, sys, majorant.web.runs as runs; sys.path[:0] = ['', os.getcwd()]"
    script += "; print(json.dumps(runs.job_command()))"
    command = [sys.executable, "-P", "-c", script]
    start = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    job = {"kind": "look", "settings": {}, "file": {"path": str(tmp_path / "no.csv"), "name": "no.csv"}}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(json.loads(start.stdout), cwd=tmp_path, **pipes) as process:
        process.stdin.write(json.dumps(job) + "\n")
        process.stdin.flush()
        assert "no.csv: no such file" in process.stdout.read()
    assert not seen.exists()


def test_python_m_majorant_imports_nothing_from_the_current_folder(tmp_path):
    code, seen = trap(tmp_path)
    for name in ("numpy.py", "click.py", "duckdb.py"):
        (tmp_path / name).write_bytes(code)
    (tmp_path / "votes.csv").write_text("item,worker,label\na,u,1\na,v,1\nb,u,0\nb,v,1\n")
    command = [sys.executable, "-m", "majorant", "agreement", "votes.csv", "-q"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not seen.exists()
