"""Text of the local page: the stages of a run, files, and questions about columns."""

from __future__ import annotations

from collections.abc import Sequence

from majorant.render.words import count, one_of

STAGES = {  # of a check, in order
    "reading": "Reading the file",
    "counting": "Counting votes",
    "comparing": "Comparing majority vote with other rules",
    "testing": "Testing assumptions",
    "judging": "Rating workers",
    "measuring": "Measuring agreement",
    "writing": "Writing the report",
}
LOOKING = {"looking": "Looking at the columns"}
DRAWING = {"reading": STAGES["reading"], "comparing": "Drawing the items to label"}


def download_text(name: str) -> str:
    """What a downloadable file contains."""
    if name.startswith("earlier-"):
        _, number, own = name.split("-", 2)
        return f"{download_text(own)} (labelled before, {number})"
    return {
        "labels.csv": "one label per item, with its confidence",
        "workers.csv": "how good each worker is",
        "review.csv": "the most doubtful labels",
        "result.json": "all numbers",
        "report.html": "the full report in one file",
        "to_label.csv": "the items to label, with the labels so far",
        "to_label.design.json": "the design that evaluates the labels",
    }[name]


def running_title(state: str, *, with_labels: bool) -> str:
    """The title of the page while a run is in progress."""
    if state == "looking":
        return LOOKING["looking"]
    if with_labels:
        return "Checking with your labels"
    return DRAWING["comparing"] if state == "drawing" else "Checking the votes"


def progress_note(done: int | None, total: int | None, what: str) -> str:
    """The progress of a stage.

    >>> progress_note(1200, None, ""), progress_note(500, 2000, "sorting")
    ('1,200 rows', 'sorting, 25%')
    """
    if done is None:
        return ""
    far = f"{100 * done // total}%" if total else f"{done:,}" if what else f"{done:,} rows"
    return f"{what}, {far}" if what else far


def file_size(n_bytes: int) -> str:
    """The size of a file, rounded.

    >>> file_size(512), file_size(20_400), file_size(3_200_000_000)
    ('512 bytes', '20 kB', '3.2 GB')
    """
    for unit, name, digits in ((10**9, "GB", 1), (10**6, "MB", 1), (10**3, "kB", 0)):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.{digits}f} {name}"
    return count(n_bytes, "byte")


def ask_for_columns(missing: Sequence[str]) -> str:
    """The question to ask if columns cannot be recognised.

    >>> ask_for_columns(["label"]), ask_for_columns(["item", "label"])
    ('Which column is the label?', 'Which columns are the item and the label?')
    """
    roles = [f"the {role}" for role in missing]
    return f"Which column is {roles[0]}?" if len(roles) == 1 else f"Which columns are {one_of(roles)}?"
