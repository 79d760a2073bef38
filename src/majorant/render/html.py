"""The HTML report, one self-contained file; its figures; and short displays of results for notebooks.

`live_map` prepares the data for the script of the live map, templates/map.js.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.output import write_files
from majorant.ownership import sealed
from majorant.render.answer import rule_name
from majorant.render.cards import answer_cards
from majorant.render.certificate import certificate_summary
from majorant.render.figures import FIGURES, charts_of
from majorant.render.figures.canvas import css_variables, figure_of, scheme
from majorant.render.figures.charts import clipped
from majorant.render.map import map_facts
from majorant.render.review import REASON_HEADINGS
from majorant.render.summary import result_summary
from majorant.render.words import in_points, level_percent, one_decimal, percent, printable, signed_points
from majorant.render.workers import workers_facts
from majorant.results.review import Reason

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup
    from matplotlib.figure import Figure

    from majorant.evidence.certificate.certificate import Certificate
    from majorant.results.result import Result

TEMPLATES = Path(__file__).parent / "templates"
MAP_SCRIPT, MAP_STYLE = TEMPLATES / "map.js", TEMPLATES / "map.css"
NUMBER_FORMS: dict[str, Callable[[Any], str]] = {
    "percent": percent,
    "points": in_points,
    "bare points": one_decimal,
    "gain": lambda share: signed_points(share).replace("-", "−"),  # as wide as the plus
    "count": "{:,}".format,
    "ratio": "{:.2f}".format,
    "whole": level_percent,
    "fine": "{:.3g}".format,
}


def render(summary: dict[str, Any]) -> str:
    """The report of a summary as HTML; deterministic."""
    from markupsafe import Markup

    facts = clip({name: fact for name, fact in summary.items() if name != "files"})
    style, script = (
        "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
        for names in (("style.css", "map.css"), ("page.js", "map.js"))
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            s=facts,
            figures={name: charts_of(facts, name) for name in FIGURES},
            fact=partial(fact, facts),
            estimate=partial(estimate, facts),
            say=partial(say, facts),
            cards=answer_cards(facts),
            map_text=map_text(facts),
            rate_title="" if facts["rate"] is None else facts["rate"]["title"],
            rate_order=_rate_order(facts["rate"], judges=facts["answer"]["panel"]),
            review_groups=_review_groups(facts["review"]["rows"]),
            style=Markup(scheme() + style),
            script=Markup(script),
            script_hash=f"sha256-{digest}",
            live_map=live_map(facts),
            data=_embedded(facts),
        )
    )


def write_report(summary: dict[str, Any], path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the report atomically."""
    return write_files({Path(path): sealed(render(summary))}, overwrite=overwrite)[0]


def figure(result: Result, name: str) -> Figure:
    """A figure of the report as a matplotlib Figure, such as votes, flow, workers or map.

    >>> import majorant as mj
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> figure(mj.check(votes), "votes").axes[0].get_title() is not None
    True
    """
    summary = result_summary(result)
    if name == "map":  # the report shows it only if its assumptions passed
        summary["map"] = map_facts(result.map)
    return figure_of(charts_of(summary, name), name)


def report(result: Result, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write the report as one self-contained HTML file.

    A file that is no unchanged page of majorant is replaced only with `overwrite`.

    >>> import majorant as mj, tempfile
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> report(mj.check(votes), Path(tempfile.mkdtemp()) / "page.html").name
    'page.html'
    """
    return write_report(result_summary(result), path, overwrite=overwrite)


def result_html(result: Result) -> str:
    """The answer and the workers, as HTML for a notebook."""
    from majorant.render.answer import python_command

    summary = result_summary(result, details=False, next_command=python_command(result))
    summary["workers"] = workers_facts(result.workers)
    return _notebook(summary)


def certificate_html(certificate: Certificate) -> str:
    """The verdict and its claims, as HTML for a notebook."""
    return _notebook(certificate_summary(certificate))


def _notebook(summary: dict[str, Any]) -> str:
    """HTML for a notebook cell, in the light colours of the report."""
    return environment().get_template("notebook.html.j2").render(s=clip(summary), colours=css_variables())


def live_map(summary: Mapping[str, Any]) -> str | None:
    """The JSON for the attribute data-majorant-map; None without a map, or with more than three classes."""
    planes, labels = summary["map"], [clipped(one["label"], 24) for one in summary["votes"]["label_votes"]]
    if not planes or len(labels) > 3:  # sliders cannot show more
        return None
    settings: dict[str, Any] = {"labels": labels, "point": planes[0]["model"]}
    if len(labels) == 2:
        settings["regions"] = {"balance": planes[0]["region"], "accuracies": planes[1]["region"]}
    return json.dumps(settings, allow_nan=False)


# --- sentences of the page; {address:form} is replaced by a number of the summary


def map_text(summary: Mapping[str, Any]) -> str:
    """What the map shows; empty without one."""
    if not summary["map"]:
        return ""
    around = " The outline around it is its {level:whole} region." if summary["map"][0]["region"] else ""
    return (
        "If votes on an item are independent given its class, majority vote is the best rule that ignores who voted "
        f"wherever accuracies and class balance lie in the blue region. The dot marks these votes.{around}"
    )


def _rate_order(rate: Mapping[str, Any] | None, *, judges: bool) -> list[int]:
    """The order of the reported rates: rules first, then the judges of a panel from the highest rate to the lowest."""
    reported = [] if rate is None else rate["overall"]["reported"]
    places = [at for at, one in enumerate(reported) if judges or not one["judge"]]
    return sorted(places, key=lambda at: (reported[at]["judge"], -reported[at]["rate"]))


def _review_groups(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int]]]:
    """The positions of the items to review, grouped by reason, in order of first appearance."""
    places: dict[Reason, list[int]] = {}
    for at, row in enumerate(rows):
        places.setdefault(Reason(row["reason"]), []).append(at)
    return [(REASON_HEADINGS[reason], each) for reason, each in places.items()]


@cache
def environment(folder: Path = TEMPLATES) -> Environment:
    """The templates of a folder; values are HTML-escaped, and control characters in them are made visible."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_bound,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["name"] = lambda value, most=40: clipped(value, most)
    made.filters["file"] = lambda path: clipped(re.split(r"[/\\]", path)[-1] or path, 60)
    made.filters["rule"] = rule_name
    made.globals["status_signs"] = {"passed": "✓", "failed": "✗", "untestable": "?", "untested": "·"}
    return made


def _bound(value: Any) -> Any:
    from markupsafe import Markup

    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _embedded(facts: dict[str, Any]) -> Markup:
    """The data as JSON that is safe inside a script element, no matter what the names contain."""
    from markupsafe import Markup

    text = json.dumps(facts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # These could open or close markup, or end a line for an older parser.
    return Markup(re.sub("[<>&\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text))


def lookup(summary: Mapping[str, Any], path: str) -> Any:
    """The value at an address such as `votes.label_votes.0.votes`; None if it does not exist."""
    value: Any = summary
    for key in path.split("."):
        if value is None:
            return None
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def fact(summary: Mapping[str, Any], path: str, form: str = "count") -> Any:
    """A number tagged with its address in the summary, so that tests and scripts can trace it."""
    from markupsafe import Markup

    value = lookup(summary, path)
    if value is None:
        return Markup('<span class="none">–</span>')
    if isinstance(value, str):  # inf and -inf
        value = float(value)
    text = NUMBER_FORMS[form](value).replace(" ", "\u00a0")
    return Markup('<data value="{}" data-at="{}">{}</data>').format(value, path, text)


def estimate(summary: Mapping[str, Any], path: str, form: str = "percent") -> Any:
    """A number and its interval, or why the number is missing."""
    from markupsafe import Markup

    one = lookup(summary, path)
    if one is None or one["value"] is None:
        reason = "not estimated" if one is None or not one["reason"] else one["reason"]
        return Markup('<span class="none">{}</span>').format(printable(reason))
    value = fact(summary, f"{path}.value", form)
    if one["low"] is None:
        return value
    ends = "bare points" if form == "points" else form  # the unit once
    low, high = (fact(summary, f"{path}.{end}", ends) for end in ("low", "high"))
    return Markup('{} <span class="ends">{} to {}</span>').format(value, low, high)


def say(summary: Mapping[str, Any], text: str) -> Markup:
    """A sentence of the page, with the addresses in it replaced by numbers."""
    from markupsafe import Markup, escape

    def number(address: re.Match[str]) -> str:
        path, form = address[1], address[2] or "count"
        if form.startswith("estimate "):
            return str(estimate(summary, path, form.removeprefix("estimate ")))
        return str(fact(summary, path, form))

    return Markup(re.sub(r"\{([\w.]+)(?::([\w ]+))?\}", number, str(escape(_bound(text)))))


def clip(value: Any) -> Any:
    """The summary with long texts truncated."""
    longest = 1000  # characters
    if isinstance(value, dict):
        return {clip(str(name)): clip(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clip(one) for one in value]
    return value[: longest - 1] + "…" if isinstance(value, str) and len(value) > longest else value
