"""Figures, pages and short displays of results, for notebooks and scripts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from majorant.answer.answer import Answer
from majorant.certify.certificate import Certificate
from majorant.pipeline import Result
from majorant.report.certificate_summary import certificate_summary
from majorant.report.decision_summary import answer_summary
from majorant.report.figures import panels_of
from majorant.report.html import fragment, write_report
from majorant.report.summary import result_summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(result: Result, name: str) -> Figure:
    """A figure of the report as a matplotlib Figure: map, path, agreement, votes, flow, confidence, workers, ...

    >>> import majorant as mj
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> figure(mj.check(votes), "votes").axes[0].get_title() is not None
    True
    """
    from majorant.report.figures.canvas import figure_of

    return figure_of(panels_of(result_summary(result), name), name)


def report(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write the whole report as one HTML file that needs nothing else.

    >>> import majorant as mj, tempfile
    >>> votes, truth = mj.simulate([.5, .5], [[.8, .2], [.2, .8]], n_items=60, n_votes=3)
    >>> report(mj.check(votes), Path(tempfile.mkdtemp()) / "page.html").name
    'page.html'
    """
    return write_report(result_summary(result), path)


def answer_html(answer: Answer) -> str:
    """The answer in four lines, as a notebook shows it."""
    return fragment("answer.html.j2", {"answer": answer_summary(answer)})


def result_html(result: Result) -> str:
    """The verdict, three numbers and the map, as a notebook shows them."""
    from markupsafe import Markup

    from majorant.report.figures.canvas import svg_of

    summary = result_summary(result)
    pictures = [Markup(svg_of(panel)) for panel in panels_of(summary, "map")]
    return fragment("notebook.html.j2", summary, certificate=summary["certificate"], pictures=pictures)


def certificate_html(certificate: Certificate) -> str:
    """The verdict and its claims, as a notebook shows them."""
    summary = certificate_summary(certificate)
    return fragment("notebook.html.j2", summary, certificate=summary, pictures=[])
