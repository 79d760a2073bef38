"""The page: one HTML file that holds its figures, its style and its data, and asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from majorant.output import write_files
from majorant.report.facts import chip, clip, estimate, fact, lookup
from majorant.report.figures.palette import LIGHT, css_variables, scheme
from majorant.report.figures.words import clipped
from majorant.report.live_map import TEMPLATES, live_map
from majorant.report.text import printable
from majorant.wording import at_most

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# What a hostile name must not be able to end or begin, and what older readers take for line ends.
INERT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def render(summary: dict[str, Any]) -> str:
    """The page of a summary as one string of HTML; the same summary, the same bytes."""
    from markupsafe import Markup

    from majorant.report.figures import FIGURES, panels_of
    from majorant.report.figures.canvas import svg_of

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
        at=partial(lookup, facts),
        style=Markup(scheme() + style),
        script=Markup(script),
        script_hash=_hash(script),
        live_map=live_map(facts),
        data=_embedded(facts),
    )


def write_report(summary: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all."""
    return write_files({Path(path): render(summary)})[0]


def fragment(template: str, summary: dict[str, Any], **more: Any) -> str:
    """A piece of HTML for a notebook, in the page's words and light colours."""
    facts = clip(summary)
    return (
        _environment()
        .get_template(template)
        .render(s=facts, estimate=partial(estimate, facts), colours=css_variables(LIGHT), **more)
    )


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
    environment.filters["stake"] = at_most
    environment.globals["chip"] = chip
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
