"""Requests to the page: uploads with any name and content, forms with any field; no fault, no bare 500, no code run.

The jobs, which the server starts as processes, run within this one: thousands of processes would take hours. One case
in `REAL_EVERY` starts them as users do.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import io
import json
import random
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock
from urllib.parse import urlencode

from corpus import fuzz
from majorant.errors import DataNote
from majorant.web import job as jobs
from majorant.web import runs as keeping
from majorant.web.app import application
from majorant.web.fields import FIELDS
from majorant.web.runs import Runs

TOKEN, PORT, LIMIT = "k" * 32, 8000, 300_000
REAL_EVERY = 200
PATIENCE = 120  # seconds
NAMES = (
    "votes.csv", "numpy.py", "json.py", "sitecustomize.py", "majorant.py", "__init__.py", "../../etc/passwd", "a/b.csv",
    "..\\..\\x.csv", ".htaccess", "-rf", "~", "", " ", "x" * 500, "é.csv", "名.csv", "a\0b.csv", "a\nb.csv", "a;b.csv",
    'a"b.csv', "a.csv.gz", "a.design.json", "to_label.csv", "to_label.design.json", "votes", "con", "nul.csv",
    "<img src=x>.csv", "{{7*7}}.csv", "a.parquet", "a.xlsx", "a.eval", "matplotlibrc", "%2e%2e%2fx.csv",
    "\u202ecsv.exe",
)  # fmt: skip
CODE = b"open(%r, 'w').close()\nraise SystemExit\n"


class _Process:
    """What a job would say as a process of its own, said by this one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.stdin, self.returncode = io.StringIO(), 0
        self.stdin.close = lambda: None  # type: ignore[method-assign]
        self.stdout = self

    def __iter__(self) -> Iterator[str]:
        job = json.loads(self.stdin.getvalue())
        try:
            outcome = {"result": jobs.work(job, lambda *_, **__: None)}
        except jobs.MajorantError as error:
            outcome = {"error": str(error)}
        except OSError as error:
            outcome = {"error": f"{error.strerror or error}."}
        except Exception as error:
            FAULTS.append(fuzz.describe_error(error))
            outcome = {"error": FAULTS[-1]}
        return iter([json.dumps(outcome, default=str)])

    def poll(self) -> int:
        return 0

    def kill(self) -> None: ...

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None: ...


FAULTS: list[str] = []  # of the jobs of the present case


@cache
def _server() -> tuple[Runs, Any, Path]:
    home = Path(tempfile.mkdtemp(prefix="majorant-uploads-"))
    runs = Runs(home / "kept", memory=2 * 10**9)
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    return runs, application(runs, token=TOKEN, port=PORT, limit=LIMIT), home


def request(
    app: Any, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """One request to the application, without a socket."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    named = {"host": f"127.0.0.1:{PORT}", "content-length": str(len(body)), **(headers or {})}
    raw = [(name.encode("latin-1"), text.encode("utf-8", "surrogateescape")) for name, text in named.items()]
    where, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode("utf-8", "replace"),
        "query_string": query.encode("utf-8", "replace"),
        "root_path": "",
        "headers": raw,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", PORT),
    }
    asyncio.run(app(scope, receive, send))
    start = next((one for one in sent if one["type"] == "http.response.start"), None)
    if start is None:
        return 0, {}, b""
    headers_sent = {name.decode("latin-1"): text.decode("latin-1") for name, text in start["headers"]}
    return start["status"], headers_sent, b"".join(one.get("body", b"") for one in sent)


def multipart(fields: list[tuple[str, str | None, bytes]]) -> bytes:
    """A form with files: (name, file name or None, content) each."""
    body = b""
    for name, file, content in fields:
        named = "" if file is None else f'; filename="{file}"'
        head = f'--zz\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'
        body += head.encode("utf-8", "replace") + content + b"\r\n"
    return body + b"--zz--\r\n"


def run_upload(number: int) -> tuple[int, str | None]:
    """Case `number`: an upload and a few requests about it."""
    rng = random.Random(number)
    runs, app, home = _server()
    FAULTS.clear()
    trap = home / f"ran-{number}"
    real = number % REAL_EVERY == 0
    with contextlib.ExitStack() as stack:
        if not real:
            within = SimpleNamespace(Popen=_Process, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
            stack.enter_context(mock.patch.object(keeping, "subprocess", within))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataNote)
        warnings.simplefilter("ignore", ResourceWarning)  # starlette leaves a broken upload to the garbage collector
        try:
            fault = _session(rng, runs, app, trap, real=real)
        except Exception as error:
            fault = fuzz.describe_error(error)
        for kept in runs.all():
            runs.remove(kept.id)
    if fault is None and trap.exists():
        fault = "an upload was run as code"
    if fault is None and [path.name for path in home.iterdir()] not in ([], ["kept"]):
        fault = f"files beside the folder of the page: {[path.name for path in home.iterdir()]}"
    return number, fault or (FAULTS[0] if FAULTS else None)


def _content(rng: random.Random, trap: Path) -> tuple[str, bytes]:
    if rng.random() < 0.15:
        return rng.choice(NAMES), CODE % str(trap).encode()
    case = fuzz.input_case(rng.randrange(10**6)) if rng.random() < 0.5 else rng.choice(_small_seeds())
    return case.name if rng.random() < 0.5 else rng.choice(NAMES), case.content[: LIMIT // 2]


@cache
def _small_seeds() -> list[fuzz.Case]:
    return [case for case in fuzz.seeds() if case.reader in ("votes", "wide", "gold", "answers", "design")]


def _session(rng: random.Random, runs: Runs, app: Any, trap: Path, *, real: bool) -> str | None:
    name, content = _content(rng, trap)
    kind = {"content-type": "multipart/form-data; boundary=zz"}
    body = multipart([("file", name, content)])
    if rng.random() < 0.2:
        body = fuzz._mutated(body, _generator(rng))
    status, headers, text = request(app, "POST", f"/{TOKEN}/files", body, kind)
    if (fault := _answer_fault("/files", status, headers, text)) is not None:
        return fault
    id = headers.get("location", "/none").rsplit("/", 1)[-1]
    if (fault := _settle(runs, id)) is not None:
        return fault
    for _ in range(1 if real else rng.randrange(1, 6)):
        method, path, body, kind = _next(rng, id, trap)
        status, headers, text = request(app, method, f"/{TOKEN}{path}", body, kind)
        if (fault := _answer_fault(f"{method} {path}", status, headers, text)) is not None:
            return fault
        if (fault := _settle(runs, id)) is not None:
            return fault
        kept = runs.get(id)
        if kept is not None and "a bug in majorant" in kept.trouble:
            return f"{path}: {kept.trouble}"
    return None


def _next(rng: random.Random, id: str, trap: Path) -> tuple[str, str, bytes, dict[str, str]]:
    form = {"content-type": "application/x-www-form-urlencoded"}
    place = rng.choice(["", "/columns", "/state", "/report", "/label", "/label?votes", "/download/labels.csv",
                        "/download/../x", "/download/result.json", "/%00", "/x" * 50])  # fmt: skip
    pick = rng.random()
    if pick < 0.3:
        return "GET", f"/files/{id}{place}", b"", {}
    values = (
        "item",
        "worker",
        "label",
        "gold",
        "",
        "-",
        "\0",
        "1",
        "nan",
        "ok",
        "é",
        "x" * 5000,
        "0",
        "check",
        "look",
        "a,b",
    )
    if pick < 0.65:
        names = [*FIELDS, "do", "drop", "role", "worker_columns", "x", ""]
        fields = [(rng.choice(names), rng.choice(values)) for _ in range(rng.randrange(6))]
        fields += [("do", rng.choice(("check", "look", "x")))]
        if rng.random() < 0.6:
            fields += [(role, role) for role in ("item", "worker", "label")]
        if rng.random() < 0.5:
            name, content = _content(rng, trap)
            parts = [(field, None, text.encode("utf-8", "replace")) for field, text in fields]
            body = multipart([*parts, ("labelled", name, content)])
            return "POST", f"/files/{id}/columns", body, {"content-type": "multipart/form-data; boundary=zz"}
        return "POST", f"/files/{id}/columns", urlencode(fields).encode(), form
    if pick < 0.9:
        fields = [
            ("draw", rng.choice(("1", "2", "0", "-1", "9" * 30, "x", ""))),
            ("label", rng.choice(values)),
            ("do", rng.choice(("", "undo", "finish", "label"))),
            ("question", rng.choice(("rules", "accuracy", "teach", "x"))),
        ]
        where = rng.choice(("/label", "/label/begin"))
        return "POST", f"/files/{id}{where}", urlencode(fields).encode(), form
    return "POST", f"/files/{id}/{rng.choice(('stop', 'remove', 'columns', 'nothing'))}", b"", rng.choice((form, {}))


def _answer_fault(what: str, status: int, headers: dict[str, str], text: bytes) -> str | None:
    if status == 0 or status >= 500:
        return f"{what[:60]}: status {status}"
    if "content-security-policy" not in headers:
        return f"{what[:60]}: no Content-Security-Policy"
    if b"<script>alert" in text or b"<img src=x>" in text:
        return f"{what[:60]}: a name is markup"
    return None


def _settle(runs: Runs, id: str) -> str | None:
    until = time.monotonic() + PATIENCE
    while (kept := runs.get(id)) is not None and kept.busy:
        if time.monotonic() > until:
            runs.stop(id)
            return f"{kept.state} for over {PATIENCE} s"
        time.sleep(0.001)
    return None


def _generator(rng: random.Random) -> Any:
    import numpy as np

    return np.random.default_rng(rng.randrange(2**32))
