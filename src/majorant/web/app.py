"""The web application: routes, checks on every request, and security headers."""

from __future__ import annotations

import errno
import hmac
import json
import re
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from majorant.ask.label_file import LabelFile
from majorant.ask.questions import QUESTIONS
from majorant.ask.race import Race
from majorant.ask.session import Session
from majorant.errors import ConfigError, MajorantError
from majorant.evidence.learn import LEARNED
from majorant.evidence.rules import AUTO
from majorant.read.table import whole_number
from majorant.read.tasks import CANNOT_TELL_WORDS, LABEL_KEYS
from majorant.render.ask import ACCURACY_COSTS, labels_left, progress_line, question_words
from majorant.render.cards import answer_cards
from majorant.render.figures.canvas import scheme
from majorant.render.html import MAP_SCRIPT, MAP_STYLE, environment, map_text, say
from majorant.render.words import signed_points
from majorant.web import words
from majorant.web.fields import (
    FIELDS,
    NO_COLUMN,
    PLACES,
    REPEATS_WORDS,
    ROLES,
    asks_for_columns,
    in_page_words,
    troubled_fields,
)
from majorant.web.job import DESIGN, LABEL_ITEMS, TO_LABEL
from majorant.web.runs import Kept, Runs

TEMPLATES = Path(__file__).parent / "templates"
ASSETS = {
    "style.css": (TEMPLATES / "style.css", "text/css"),
    "page.js": (TEMPLATES / "page.js", "text/javascript"),
    "icon.svg": (TEMPLATES / "icon.svg", "image/svg+xml"),
    "map.css": (MAP_STYLE, "text/css"),
    "map.js": (MAP_SCRIPT, "text/javascript"),
}
_ONE_LABEL = threading.RLock()  # only one label is written at a time, even with several browsers
MAIN_QUESTIONS = (Session.kind, Race.kind)  # the questions whose labels settle the answer


def application(runs: Runs, *, token: str, port: int, limit: int) -> ASGIApp:
    """The ASGI application; requests need the token and a local host name."""
    base, templates = f"/{token}", environment(TEMPLATES)
    templates.filters["in_page_words"] = in_page_words
    templates.filters["thousands"] = lambda number: f"{number:,}"

    def page(name: str, status: int = 200, *, with_map: bool = False, **more: Any) -> HTMLResponse:
        """A page from its template."""
        text = templates.get_template(name).render(base=base, with_map=with_map, **more)
        return HTMLResponse(text, status_code=status)

    def refused(message: str, status: int) -> HTMLResponse:
        return page("layout.html.j2", status, message=message, files=len(runs.all()))

    def back(place: str = "/") -> RedirectResponse:
        return RedirectResponse(base + place, status_code=303)

    def kept_of(request: Request) -> Kept:
        kept = runs.get(request.path_params["id"])
        if kept is None:
            raise HTTPException(404, "This file does not exist. It was removed, or the server was restarted.")
        return kept

    def home(request: Request) -> Response:  # noqa: ARG001
        files = [_row(kept) for kept in runs.all()]
        return page("home.html.j2", files=files, limit=limit, limit_words=words.file_size(limit))

    async def upload(request: Request) -> Response:
        added = []
        async with _form(request) as form:
            for file in _files(form, "file"):
                id, place = runs.place(file.filename or "")
                try:
                    await run_in_threadpool(_save, file, place.path)
                    added.append(await run_in_threadpool(runs.add, id, place))
                except OSError:
                    runs.discard(id)
                    raise
        if not added:
            return refused("No file was chosen. Choose a table of votes, or drop one onto the page.", 400)
        return back(f"/files/{added[0].id}" if len(added) == 1 else "/")

    def show(request: Request) -> Response:
        kept = kept_of(request)
        if kept.busy:
            title = words.running_title(kept.state, with_labels=kept.settled)
            return page("running.html.j2", kept=kept, title=title, **_progress(kept))
        if kept.state == "done" and kept.facts is not None:
            with_map = kept.facts["live_map"] is not None
            return page("answer.html.j2", with_map=with_map, kept=kept, **_answer(kept))
        return columns(request)

    def columns(request: Request) -> Response:
        kept = kept_of(request)
        if kept.busy:
            return back(f"/files/{kept.id}")
        given = labelling(kept.folder / "ask")
        return page("columns.html.j2", kept=kept, given=0 if given is None else len(given.labelled), **_columns(kept))

    async def tell_columns(request: Request) -> Response:
        kept = kept_of(request)
        async with _form(request) as form:
            sent = {name: [value for value in form.getlist(name) if isinstance(value, str)] for name in form}
            runs.free(kept.id)
            files = _files(form, "labelled")
            places = runs.place_labels(kept, [file.filename or "" for file in files])
            for file, place in zip(files, places, strict=True):
                await run_in_threadpool(_save, file, place.path)
        if places:
            runs.add_labels(kept.id, places)
        for name in sent.get("drop", ()):
            runs.drop_labels(kept.id, name)
        begin = runs.look if sent.get("do") == ["look"] or "drop" in sent else runs.check
        await run_in_threadpool(begin, kept.id, sent)
        return back(f"/files/{kept.id}")

    def state(request: Request) -> Response:
        kept = kept_of(request)
        return JSONResponse({"state": kept.state, "busy": kept.busy, **_progress(kept)})

    def stop(request: Request) -> Response:
        runs.stop(kept_of(request).id)
        return back(f"/files/{request.path_params['id']}/columns")

    def remove(request: Request) -> Response:
        runs.remove(kept_of(request).id)
        return back()

    def report(request: Request) -> Response:
        path = _result(kept_of(request), "report.html")
        # The report embeds its style and one script, allowed by hash; the sandbox also gives it a separate origin.
        policy = "sandbox allow-scripts allow-downloads; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        return FileResponse(path, media_type="text/html", headers={"content-security-policy": policy})

    def download(request: Request) -> Response:
        kept, name = kept_of(request), request.path_params["name"]
        stem = re.sub(r"\.[^.]*$", "", kept.name)
        return FileResponse(_result(kept, name), filename=f"{stem}-{name}", media_type="application/octet-stream")

    def label(request: Request) -> Response:
        kept = kept_of(request)
        if kept.busy:
            return back(f"/files/{kept.id}")
        now = labelling(kept.folder / "ask")
        if now is None:
            return back(f"/files/{kept.id}")
        at = None if now.outcome.decided else now.next
        keys = LABEL_KEYS.ljust(len(now.design.labels))
        return page(
            "label.html.j2",
            kept=kept,
            now=now,
            at=at,
            known=None if at is None else _known(now, [now.design.asked[at - 1]])[0],
            classes=[(key.strip(), str(label)) for key, label in zip(keys, now.design.labels, strict=False)],
            in_sight="votes" in request.query_params,
            left=labels_left(now.outcome.more),
            progress=progress_line(now.outcome) if now.design.is_drawing and now.outcome.learned is not None else "",
            question=question_words(now.design.question.kind, now.outcome.rules),
        )

    async def begin_labels(request: Request) -> Response:
        kept = kept_of(request)
        async with _form(request) as form:
            question = str(form.get("question", AUTO))
        now = await run_in_threadpool(labelling, kept.folder / "ask")
        kind = None if now is None else now.design.question.kind
        drawn = kind in MAIN_QUESTIONS if question == AUTO else kind == question
        if question in (AUTO, *other_questions()) and kept.facts is not None and not drawn:
            runs.draw(kept.id, question)
            return back(f"/files/{kept.id}")
        return back(f"/files/{kept.id}/label")

    async def tell_label(request: Request) -> Response:
        kept = kept_of(request)
        async with _form(request) as form:
            folder, sent = kept.folder / "ask", {name: str(value) for name, value in form.items()}
        if not (folder / DESIGN).exists():
            return back(f"/files/{kept.id}")
        return back(f"/files/{kept.id}{await run_in_threadpool(change_label, kept, folder, sent)}")

    def change_label(kept: Kept, folder: Path, sent: Mapping[str, str]) -> str:
        """Apply a form, one at a time, and return the page to show next."""
        with _ONE_LABEL:
            decided = runs.stop_stale_check(kept.id)
            try:
                if sent.get("do") == "finish":
                    decided = True
                else:
                    items = LabelFile.read(folder / TO_LABEL, folder / DESIGN)
                    if sent.get("do") == "undo":
                        items = items.undo()
                    else:
                        draw = whole_number(sent.get("draw", "")) or 0
                        items = give(items, draw, sent.get("label", ""))
                        runs.note_in_sight(kept.id, draw, in_sight="votes" in sent)
                    decided |= _extended(items).outcome.decided
            finally:
                if decided:
                    runs.check_labels(kept.id)
        return "" if decided else "/label"

    def asset(request: Request) -> Response:
        name = request.path_params["asset"]
        if name not in ASSETS:
            raise HTTPException(404, "There is no such page.")
        path, media_type = ASSETS[name]
        colours = scheme() if name == "style.css" else ""
        return Response(colours + path.read_text(encoding="utf-8"), media_type=media_type)

    async def of_fault(request: Request, error: Exception) -> Response:  # noqa: ARG001
        if isinstance(error, HTTPException):
            return refused(str(error.detail), error.status_code)
        if isinstance(error, ClientDisconnect):  # nobody reads this
            return PlainTextResponse("The upload broke off.\n", 400)
        if isinstance(error, OSError):
            reason = error.strerror or type(error).__name__
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
                return refused(f"The request failed: {reason}. Try again.", 500)
            return refused(f"There is not enough disk space for this file: {reason}. Nothing was kept. Free space on "
                           f"the disk of {runs.folder}, or restart the server with the file: majorant serve "
                           "votes.csv", 507)  # fmt: skip
        return refused(in_page_words(error.message if isinstance(error, MajorantError) else str(error)), 409)

    routes = [
        Route("/", home),
        Route("/files", upload, methods=["POST"]),
        Route("/files/{id}", show),
        Route("/files/{id}/columns", columns),
        Route("/files/{id}/columns", tell_columns, methods=["POST"]),
        Route("/files/{id}/state", state),
        Route("/files/{id}/stop", stop, methods=["POST"]),
        Route("/files/{id}/remove", remove, methods=["POST"]),
        Route("/files/{id}/report", report),
        Route("/files/{id}/download/{name}", download),
        Route("/files/{id}/label", label),
        Route("/files/{id}/label", tell_label, methods=["POST"]),
        Route("/files/{id}/label/begin", begin_labels, methods=["POST"]),
        Route("/{asset}", asset),
    ]
    faults = (HTTPException, MajorantError, OSError, ClientDisconnect)
    handlers: Mapping[Any, Any] = dict.fromkeys(faults, of_fault)
    inner = Starlette(routes=[Mount(base, routes=routes)], exception_handlers=handlers)
    return _Guard(inner, token=token, port=port, limit=limit, refused=refused)


class _Guard:
    """Checks every request before the application sees it, and adds security headers to every response."""

    def __init__(
        self, app: ASGIApp, *, token: str, port: int, limit: int, refused: Callable[[str, int], Response]
    ) -> None:
        self.app, self.token, self.limit, self.refused = app, token, limit, refused
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        self.headers = {
            "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
            "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",  # any stricter, and our own forms would not send their origin
            "cache-control": "no-store",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "x-frame-options": "DENY",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
        }
        self.too_large = (
            f"The file exceeds the upload limit of {words.file_size(limit)}. To open a large file without uploading "
            "it, restart the server with the file: majorant serve votes.csv"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise MultiPartException(self.too_large)  # makes the parser close its temporary files
            return message

        async def marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                status = 413 if received > self.limit else message["status"]
                own = {name for name, _ in message["headers"]}
                headers = self.headers.items()
                more = [(name.encode(), text.encode()) for name, text in headers if name.encode() not in own]
                message = {**message, "status": status, "headers": [*message["headers"], *more]}
            await send(message)

        refusal = self._refusal(scope)
        try:
            await (self.app if refusal is None else refusal)(scope, counted, marked)
        except MultiPartException:
            if not started:
                await self.refused(self.too_large, 413)(scope, receive, marked)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {name.lower(): text.decode("latin-1") for name, text in scope["headers"]}
        if headers.get(b"host", "").lower() not in self.hosts:
            return PlainTextResponse("This server only answers to 127.0.0.1 and localhost.\n", 403)
        first = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        if not hmac.compare_digest(first.encode(), self.token.encode()):
            return PlainTextResponse("Open the address that majorant serve printed; it contains the key.\n", 403)
        if scope["path"] == f"/{self.token}":
            return RedirectResponse(f"/{self.token}/")
        if scope["method"] not in ("GET", "HEAD"):
            origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
            if (origin is not None and origin not in self.origins) or site not in (None, "same-origin", "none"):
                return PlainTextResponse("This request did not come from a page of this server.\n", 403)
        length = headers.get(b"content-length", "0")[:18]
        if length.isdecimal() and int(length) > self.limit:
            return self.refused(self.too_large, 413)
        return None


def _form(request: Request) -> AbstractAsyncContextManager[FormData]:
    return request.form(max_files=50, max_fields=5000, max_part_size=1 << 16)


def _files(form: FormData, name: str) -> list[UploadFile]:
    """The files of a field, without the empty one that a browser sends if none was chosen."""
    return [file for file in form.getlist(name) if isinstance(file, UploadFile) and file.filename]


def _save(file: UploadFile, path: Path) -> None:
    """Store an upload atomically."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as out:
            shutil.copyfileobj(file.file, out, 1 << 20)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _result(kept: Kept, name: str) -> Path:
    path = kept.downloads.get(name)
    if path is None:
        raise HTTPException(404, f"There is no {name} for {kept.name} yet.")
    return path


def _row(kept: Kept) -> dict[str, Any]:
    """A row of the list of files."""
    facts = kept.facts
    row = {"kept": kept, "size": words.file_size(kept.size), "answer": None, **_progress(kept)}
    if facts is None:
        return row
    answer, gain = facts["answer"], facts["answer"]["gain"]
    bounded = gain["value"] is not None and gain["low"] is not None and gain["low"] != gain["high"]
    return {
        **row,
        "answer": answer,
        "gain": "–" if gain["value"] is None else f"{signed_points(gain['value'])} points",
        "ends": f"{signed_points(gain['low'])} to {signed_points(gain['high'])}" if bounded else "",
        "votes": facts["votes"],
    }


def _progress(kept: Kept) -> dict[str, Any]:
    """The stages of the run, the current one, and its progress."""
    progress = kept.progress
    stage = progress.get("stage", "")
    names = {"looking": words.LOOKING, "drawing": words.DRAWING}.get(kept.state, words.STAGES)
    keys = list(names)
    at = keys.index(stage) if stage in keys else 0 if stage else -1
    note = words.progress_note(progress.get("done"), progress.get("total"), progress.get("what") or "")
    return {
        "stages": [
            {"key": key, "name": names[key], "state": "done" if n < at else "now" if n == at else "later"}
            for n, key in enumerate(keys)
        ],
        "note": note,
        "now": names.get(stage, "Waiting for other files" if kept.state == "waiting" else "Starting"),
        "at": at + 1,
    }


def _columns(kept: Kept) -> dict[str, Any]:
    """How the columns were interpreted, for the form."""
    preview = kept.preview or {"names": [], "rows": [], "columns": {}, "workers": [], "notes": [], "format": "",
                               "ignored": [], "named": True}  # fmt: skip
    form = {name: list(values) for name, values in kept.form.items()}
    understood = preview["columns"]
    missing = [role for role in ROLES[:3] if role not in understood and not preview["workers"]]
    asked = words.ask_for_columns(missing) if asks_for_columns(kept.trouble) and missing else ""
    roles = {} if preview["workers"] else {name: role for role, name in understood.items()}
    return {
        "preview": preview,
        "role_of": roles
        if not preview["workers"]
        else {understood.get("item"): "item", understood.get("gold"): "gold"},
        "understood": {role: understood.get(role, "") for role in ROLES},
        "form": {name: values[0] if values else "" for name, values in form.items()},
        "workers": form.get("workers") or preview["workers"],
        "wide": bool(preview["workers"]) or bool(form.get("wide")),
        "asked": asked,
        "trouble": in_page_words(kept.trouble),
        "wrong": troubled_fields(kept.trouble),
        "fields": FIELDS,
        "places": PLACES,
        "no_column": NO_COLUMN,
        "repeats": REPEATS_WORDS,
        "size": words.file_size(kept.size),
    }


def _answer(kept: Kept) -> dict[str, Any]:
    facts = kept.facts
    assert facts is not None
    answer = facts["answer"]
    given = labelling(kept.folder / "ask")
    return {
        "answer": answer,
        "facts": facts,
        "cards": answer_cards(facts),
        "say": partial(say, facts),
        "map_text": map_text(facts),
        "given": 0 if given is None else len(given.labelled),
        "asked": None if given is None or given.design.question.kind in MAIN_QUESTIONS else given.design.question.kind,
        # No other design can be drawn for a rule learned from labels, because it cannot be named.
        "questions": {}
        if answer["rule"] == LEARNED
        else {kind: question_words(kind, (answer["rule"],)) for kind in other_questions()},
        "accuracy_costs": ACCURACY_COSTS,
        "in_sight": 0 if given is None else sum(place in kept.in_sight for place in given.labelled),
        "downloads": [
            (name, words.download_text(name), words.file_size(path.stat().st_size))
            for name, path in kept.downloads.items()
        ],
    }


def other_questions() -> list[str]:
    """The questions that labels can answer, apart from the choice of a rule."""
    return [kind for kind in QUESTIONS if kind not in MAIN_QUESTIONS]


def labelling(folder: Path) -> LabelFile | None:
    """The items to label and the labels so far; None if no items were drawn."""
    with _ONE_LABEL:  # read the design and the labels in a consistent state
        return LabelFile.read(folder / TO_LABEL, folder / DESIGN) if (folder / DESIGN).exists() else None


def give(items: LabelFile, place: int, label: str) -> LabelFile:
    """Write a label, or the first of CANNOT_TELL_WORDS."""
    if not 0 < place <= items.n_items:
        raise ConfigError(f"There is no item {place} to label.")
    if label != CANNOT_TELL_WORDS[0] and label not in map(str, items.design.labels):
        raise ConfigError(f"{label!r} is not a class of these votes.")
    return items.write(place, label)


def _known(items: LabelFile, positions: Sequence[int]) -> list[Mapping[str, Any]]:
    """Each item's own columns, such as its text, and its votes, for positions in the design's order."""
    known = json.loads((items.path.parent / LABEL_ITEMS).read_text(encoding="utf-8"))
    return [known[position] if position < len(known) else {"own": {}, "votes": []} for position in positions]


def _extended(items: LabelFile) -> LabelFile:
    """The file with more items, if none are left and the question is still open."""
    if items.next is not None or items.outcome.decided:
        return items
    longer = items.longer(items.design.next_batch)
    new = [one["own"] for one in _known(items, longer.asked[len(items.design.items) :])]
    if not new:
        return items
    return items.extend(longer, {name: [own.get(name) for own in new] for name in dict.fromkeys(chain(*new))})
