"""HTML: the page, one file that holds its figures, style and data and asks nothing of the network; and its pieces.

The pieces are the figures and short displays of results for notebooks, and what the script of the live map,
templates/map.js, is given.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant import wording
from majorant.output import write_files
from majorant.render.certificate import certificate_summary
from majorant.render.figures import FIGURES, panels_of
from majorant.render.figures.canvas import LIGHT, clipped, css_variables, figure_of, scheme, svg_of
from majorant.render.summary import result_summary
from majorant.render.workers import workers_facts
from majorant.wording import NUMBER_FORMS, map_reason, printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

    from majorant.evidence.certificate.certificate import Certificate
    from majorant.pipeline import Result

TEMPLATES = Path(__file__).parent / "templates"
MAP_SCRIPT, MAP_STYLE = TEMPLATES / "map.js", TEMPLATES / "map.css"
MAP_CLASSES = 3  # that sliders can show
PLANES = ("balance", "accuracies")  # of two classes, in the order of the summary's map
# What a hostile name must not be able to end or begin, and what older readers take for line ends.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
NAME_KEYS = (
    "judges",
    "other",
    "rule",
    "method",
    "worker",
    "item",
    "label",
    "runner_up",
    "workers",
    "from",
    "to",
    "value",
    "keep",
    "ignored",
    "columns",
)
CLIPPED_NAME, CLIPPED_TEXT = 120, 3000
ADDRESS = re.compile(r"\{([\w.]+)(?::([\w ]+))?\}")
STATUS_SIGNS = {"passed": "✓", "failed": "✗", "untestable": "?", "untested": "·"}


def render(summary: dict[str, Any]) -> str:
    """The page of a summary as one string of HTML; the same summary, the same bytes."""
    from markupsafe import Markup

    facts = clip({name: fact for name, fact in summary.items() if name != "files"})
    pictures = {
        name: [
            {"title": panel.title, "svg": Markup(svg_of(panel)), "width": panel.size[0]}
            for panel in panels_of(facts, name)
        ]
        for name in FIGURES
    }
    style, script = _part("style.css") + _part("map.css"), _part("page.js") + _part("map.js")
    page = _environment().get_template("page.html.j2")
    return page.render(
        s=facts,
        figures=pictures,
        fact=partial(fact, facts),
        estimate=partial(estimate, facts),
        say=partial(say, facts),
        style=Markup(scheme() + style),
        script=Markup(script),
        script_hash=_hash(script),
        live_map=live_map(facts),
        data=_embedded(facts),
    )


def write_report(summary: dict[str, Any], path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the page, whole or not at all."""
    return write_files({Path(path): render(summary)}, overwrite=overwrite)[0]


def figure(result: Result, name: str) -> Figure:
    """A figure of the report as a matplotlib Figure: map, path, agreement, votes, flow, confidence, workers, ...

    >>> import majorant as mj
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> figure(mj.check(votes), "votes").axes[0].get_title() is not None
    True
    """
    return figure_of(panels_of(result_summary(result), name), name)


def report(result: Result, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the whole report as one HTML file that needs nothing else.

    A file that majorant did not write, or that was changed since, is replaced only with `overwrite`.

    >>> import majorant as mj, tempfile
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> report(mj.check(votes), Path(tempfile.mkdtemp()) / "page.html").name
    'page.html'
    """
    return write_report(result_summary(result), path, overwrite=overwrite)


def result_html(result: Result) -> str:
    """The answer and the workers, as a notebook shows them."""
    from markupsafe import Markup

    from majorant.render.answer import python_command

    summary = result_summary(result, details=False, next_command=python_command(result))
    summary["workers"] = workers_facts(result.workers)
    pictures = [Markup(svg_of(panel)) for panel in panels_of(summary, "workers")]
    return _notebook(summary, pictures)


def certificate_html(certificate: Certificate) -> str:
    """The verdict and its claims, as a notebook shows them."""
    return _notebook(certificate_summary(certificate))


def _notebook(summary: dict[str, Any], pictures: Sequence[Markup] = ()) -> str:
    """A piece of HTML for a notebook, in the page's words and light colours."""
    template = _environment().get_template("notebook.html.j2")
    return template.render(s=clip(summary), colours=css_variables(LIGHT), pictures=pictures)


def live_map(summary: dict[str, Any]) -> str | None:
    """What the attribute data-majorant-map holds, as JSON; None beyond three classes.

    Without a place on the map (no items with three votes) it shows the theory alone.
    """
    labels = [clipped(one["label"], 24) for one in summary["votes"]["label_votes"]]
    planes = summary["map"]
    if len(labels) > MAP_CLASSES or (planes and len(planes[0]["model"]["prior"]) > MAP_CLASSES):
        return None
    settings: dict[str, Any] = {}
    if planes:
        settings = {"labels": labels, "point": planes[0]["model"]}
        if len(labels) == 2:
            settings["regions"] = {name: plane["region"] for name, plane in zip(PLANES, planes, strict=True)}
        claim = summary["certificate"]["anonymous"]
        if claim["reason"] == "assumption failed":
            failed = [one["assumption"] for one in claim["assumptions"] if one["status"] == "failed"]
            settings["grey"] = map_reason(failed)
    return json.dumps(settings, allow_nan=False)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_bound,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = lambda value, most=40: clipped(value, most)
    environment.filters["file"] = lambda path: clipped(re.split(r"[/\\]", path)[-1] or path, 60)
    environment.globals |= {"status_signs": STATUS_SIGNS, "wording": wording}
    return environment


def _bound(value: Any) -> Any:
    """Text without signs that could reverse the writing or hide; a number and its percent sign stay on one line."""
    from markupsafe import Markup

    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value).replace(" %", "\u00a0%")


def _part(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _embedded(facts: dict[str, Any]) -> Markup:
    """The data as JSON that no name can break out of."""
    from markupsafe import Markup

    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(re.sub("[<>&\u2028\u2029]", lambda sign: INERT[sign[0]], text))


def lookup(summary: dict[str, Any], path: str) -> Any:
    """The value at `votes.label_votes.0.votes`; None where the way ends early."""
    value: Any = summary
    for key in path.split("."):
        if value is None:
            return None
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def fact(summary: dict[str, Any], path: str, form: str = "count") -> Any:
    """A number with its address in the summary, so that a test, or a reader's script, can find it again."""
    from markupsafe import Markup

    value = lookup(summary, path)
    if value is None:
        return Markup('<span class="none">–</span>')
    if isinstance(value, str):  # inf and -inf
        value = float(value)
    text = NUMBER_FORMS[form](value).replace(" ", "\u00a0")
    return Markup('<data value="{}" data-at="{}">{}</data>').format(value, path, text)


def estimate(summary: dict[str, Any], path: str, form: str = "percent") -> Any:
    """A number and its interval, or the reason why there is none."""
    from markupsafe import Markup

    one = lookup(summary, path)
    if one is None or one["value"] is None:
        reason = "not estimated" if one is None or not one["reason"] else one["reason"]
        return Markup('<span class="none">{}</span>').format(printable(reason))
    value = fact(summary, f"{path}.value", form)
    if one["low"] is None:
        return value
    ends = "bare points" if form == "points" else form
    low, high = (fact(summary, f"{path}.{end}", ends) for end in ("low", "high"))
    return Markup('{} <span class="ends">[{}, {}]</span>').format(value, low, high)


def say(summary: dict[str, Any], text: str) -> Markup:
    """A sentence of the page, with the numbers whose addresses it holds."""
    from markupsafe import Markup, escape

    def number(address: re.Match[str]) -> str:
        path, form = address[1], address[2] or "count"
        if form.startswith("estimate "):
            return str(estimate(summary, path, form.removeprefix("estimate ")))
        return str(fact(summary, path, form))

    return Markup(ADDRESS.sub(number, str(escape(_bound(text)))))


def clip(value: Any, key: str = "") -> Any:
    """The summary with names of a length that a page can bear; sentences may be longer."""
    if isinstance(value, dict):
        return {clip(str(name)): clip(one, key if key == "columns" else str(name)) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clip(one, key) for one in value]
    most = CLIPPED_NAME if key in NAME_KEYS else CLIPPED_TEXT
    if isinstance(value, str) and len(value) > most:
        return value[: most - 1] + "…"
    return value
