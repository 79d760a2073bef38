"""The results as an HTML index that works offline, and as a Markdown summary."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import resources

from paper.item import MARKS, Cell, Value
from paper.printed import printed
from paper.store import Finished

MEANING = {
    "equal": "we get the printed number, to the printed digits",
    "within noise": "a simulated number within four standard errors of the printed one",
    "explained": "we get another number, and an erratum or a note explains why",
    "ours only": "the paper prints no number here",
    "unexplained": "we get another number and do not know why",
}


def index_html(done: Sequence[Finished]) -> str:
    """The index page with every item, its figures, and its cells with their marks."""
    from jinja2 import Environment, StrictUndefined

    template = resources.files("paper").joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters["show"] = show
    return environment.from_string(template).render(
        done=done, marks=marks(done), meaning=MEANING, titles=printed("errata"), errata=by_erratum(done)
    )


def show(value: Value) -> str:
    """A value for a reader: yes and no for verdicts, four digits for numbers.

    >>> show(True), show(.78402499), show(12_345), show(None), show("undecided"), show(3.2e-7)
    ('yes', '0.7840', '12,345', '', 'undecided', '3.2e-07')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2g}" if 0 < abs(value) < 1e-4 else f"{value:.4f}"


def marks(done: Sequence[Finished]) -> dict[str, int]:
    """How many cells carry each mark."""
    cells = [cell for finished in done for cell in finished.outcome.cells]
    return {mark: sum(cell.mark == mark for cell in cells) for mark in MARKS}


def by_erratum(done: Sequence[Finished]) -> dict[int, list[tuple[str, Cell]]]:
    """The cells that each erratum explains, with the name of their item."""
    found: dict[int, list[tuple[str, Cell]]] = {}
    for finished in done:
        for cell in finished.outcome.cells:
            for number in cell.errata:
                found.setdefault(number, []).append((finished.name, cell))
    return dict(sorted(found.items()))


def story_markdown(done: Sequence[Finished]) -> str:
    """paper/reproduction.md: what holds, what does not, and which errata explain it."""
    return "\n".join([*_opening(done), *_items(done)]) + "\n"


def _opening(done: Sequence[Finished]) -> list[str]:
    counted, missing = marks(done), sorted({name for one in done for name in one.outcome.missing})
    kind = "quick run" if any(one.quick for one in done) else "run"
    seeds = ", ".join(sorted({str(one.seed) for one in done}))
    return [
        "# The paper, reproduced",
        "",
        *_wrapped(
            "Every table and figure of *The Majority Vote Paradigm Shift: When Popular Meets Optimal*, reproduced by "
            f"`python -m paper all --out DIR`. A {kind} with seed {seeds} wrote this page as `DIR/reproduction.md`, so "
            "do not edit it by hand. `DIR/index.html` shows all figures and cells. Errata are numbered as in "
            "[errata.md](errata.md)."
        ),
        "",
        "| mark | cells | meaning |",
        "|---|---:|---|",
        *(f"| {mark} | {counted[mark]} | {MEANING[mark]} |" for mark in MARKS),
        "",
        *([f"Data sets missing from this run: {', '.join(missing)}.", ""] if missing else []),
        *_told("What holds", "holds"),
        *_told("What does not hold, and why", "fails"),
        *_told("Beyond the paper", "beyond"),
    ]


def _told(title: str, part: str) -> list[str]:
    return [f"## {title}", "", *(line for told in printed("story")[part] for line in _wrapped(told, "- ")), ""]


def _items(done: Sequence[Finished]) -> list[str]:
    lines = [
        "## Item by item",
        "",
        "The last column lists the errata that explain differences; `index.html` shows all cells, printed and ours.",
        "",
        "| item | " + " | ".join(MARKS) + " | | errata |",
        "|---" * (len(MARKS) + 3) + "|",
    ]
    for one in done:
        counted = " | ".join(str(count or "") for count in marks([one]).values())
        lines.append(f"| `{one.name}` | {counted} | {one.title} | {', '.join(map(str, by_erratum([one])))} |")
    return lines


def _wrapped(text: str, bullet: str = "") -> list[str]:
    """Wrap a paragraph."""
    width = {"width": 118, "break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, initial_indent=bullet, subsequent_indent=" " * len(bullet), **width)  # type: ignore[arg-type]
