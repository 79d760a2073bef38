"""The table of options: each is declared once, with its type, default and help.

Flags, the groups and pages of --help, the web form, the reference and the words of messages are derived from it. `Read`
has the options for reading votes, and each command and each group of shared options has a class of its own. To add an
option, add a field here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, Literal

from majorant.defaults import LEVEL, MAX_CLASSES, REPEATS, TARGET, TOLERANCE, WORKER_METHOD
from majorant.filetypes import format_words

Kind = Literal["", "table", "numbers", "rows", "names", "counts", "vote-counts", "said", "overwrite"]
Page = Literal["main", "input", "all"]
GROUPS = (
    "Output",
    "Columns",
    "Judges",
    "Labels",
    "File format",
    "Large files",
    "General",
)  # of --help; a command's own come first
INPUT = ("Columns", "Judges", "Labels", "File format", "Large files")  # the groups of --help-input


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes
    ----------
    name, hint, default
        Name of the argument in Python, its type and its default; None if it is detected or left out.
    help
        What it does, in a line or two.
    group
        Its heading in --help; a command's own options have none.
    page
        "main" if --help shows it; "input" if --help-input does, as for most options about reading; "all" if only
        --help-all does.
    flag, short
        Its flag, if that is not the name with dashes, and a one-letter flag.
    argument
        Name of the argument in Python, if it is not the name of the option.
    metavar
        What stands for the value in --help.
    choices
        The only values.
    least, most
        The smallest and the largest whole number.
    several
        Whether it can be given more than once.
    kind
        How its text is parsed, if the type does not say.
    field, place
        Its label in the web form, and the id of the field that a message can link to.
    """

    name: str
    hint: str
    default: Any
    help: str
    group: str = ""
    page: Page = "main"
    flag: str = ""
    short: str = ""
    argument: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    several: bool = False
    required: bool = False
    hidden: bool = False
    show_default: bool = False
    kind: Kind = ""
    usual: str = ""  # the file's name, if the value is a folder
    bare: int | None = None  # the value, if the flag is given without one
    field: str = ""
    place: str = ""


def option(default: Any, help: str, **facts: Any) -> Any:
    """A field of a table: its default, its help, and other facts about the option."""
    return field(default=default, metadata={"option": {"help": help, **facts}})


def options_of(table: type) -> Iterator[Option]:
    """The options of a table, in order; fields without help are not options.

    >>> next(options_of(Common)).flag
    '--level'
    """
    for one in fields(table):
        if "option" in one.metadata:
            yield _option(one)


def tables() -> dict[str, type]:
    """Every table of options, by its name."""
    return {name: one for name, one in globals().items() if isinstance(one, type) and _has_options(one)}


def _has_options(one: type) -> bool:
    return is_dataclass(one) and any("option" in each.metadata for each in fields(one))


def _option(one: Field[Any]) -> Option:
    facts = dict(one.metadata["option"])
    group = facts.get("group", "")
    facts.setdefault("page", "input" if group in INPUT else "main")
    facts.setdefault("flag", f"--{one.name.replace('_', '-')}")
    facts.setdefault("place", one.name if "field" in facts else "")
    default = None if one.default is MISSING else one.default
    return Option(name=one.name, hint=str(one.type), default=default, **facts)


@dataclass(frozen=True, kw_only=True)
class Read:
    """How votes are read; None means that it is detected automatically."""

    item: str | Sequence[str] | None = option(
        None, "Item column; several: question,model.", group="Columns", page="main", metavar="COLUMN", field="Item"
    )
    worker: str | None = option(
        None, "Worker or judge column; file: one file per worker.", group="Columns", page="main", metavar="COLUMN",
        field="Worker",
    )  # fmt: skip
    label: str | None = option(None, "Label column.", group="Columns", page="main", metavar="COLUMN", field="Label")
    gold: Any = option(  # a column, or a file, frame, Series or dict of true labels
        None, "True labels: a column or a file; none: ignore.", group="Columns", page="main", metavar="COLUMN|FILE",
        field="True label",
    )  # fmt: skip
    gold_file: Any = option(
        None, "True labels: a file with items and labels.", group="Columns", metavar="FILE",
        field="Labels of an expert", place="labelled",
    )  # fmt: skip
    status: str | None = option(
        None, "Status column (ok, abstain, error); none: ignore.", group="Columns", metavar="COLUMN"
    )
    seconds: str | None = option(None, "Column with the duration of each vote.", group="Columns", metavar="COLUMN")
    by: str | None = None  # column by which to slice the items; a flag of each command that slices
    trust_column: str | None = option(
        None, "Each worker's trust or earlier accuracy.", group="Judges", metavar="COLUMN"
    )
    trust: Mapping[str, float] | None = option(  # ratings by the name of a judge
        None, "Rating of a judge, in points; repeatable.", group="Judges", metavar="NAME=RATING", several=True,
        field="Ratings of judges", place="trust",
    )  # fmt: skip
    ratings: Any = option(  # a file of ratings, or False for none
        None, "Ratings of models: a CSV file with model and rating.", group="Judges", metavar="FILE"
    )
    text: str | None = option(None, "Column with the item's text; none: ignore.", group="Columns", metavar="COLUMN")
    columns: str | Sequence[str] | None = option(
        None, "Column roles if there is no header; _ skips one.", group="Columns", metavar="A,B,...",
        field="No header row", place="",
    )  # fmt: skip
    wide: bool = option(
        False, "One row per item, one column per worker.", group="Columns", field="One column per worker", place=""
    )
    workers: str | Sequence[str] | None = option(  # names or patterns
        None, "Worker columns of a wide table, e.g. 'Dr_*'.", group="Columns", metavar="A,B,...",
        field="One column per worker", place="",
    )  # fmt: skip
    several: bool = option(  # a list of labels means a yes or no for each
        False, "A vote may have several labels (a list, or a|b).", group="Labels",
        field="Several labels per item", place="",
    )  # fmt: skip
    order: str | Sequence[Any] | None = option(
        None, "Labels from lowest to highest.", group="Labels", metavar="LOW,...,HIGH",
        field="Labels from lowest to highest",
    )  # fmt: skip
    threshold: float | None = option(
        None, "Turn scores into two classes, split at SCORE.", group="Labels", metavar="SCORE",
        field="Two classes of scores",
    )  # fmt: skip
    codes: str | Mapping[Any, Any] | None = option(None, "Meaning of label codes.", group="Labels", metavar="1=yes,...")
    fold_case: bool = option(  # or in invisible characters
        False, "Merge labels that differ in case or spaces.", group="Labels"
    )
    repeats: str = option(
        "error", "Repeated votes: error, first, last or each.", group="Labels", metavar="WHICH", choices=REPEATS,
        show_default=True, field="Repeated votes",
    )  # fmt: skip
    empty: str | Sequence[str] = option(
        (), "Label that means no vote, e.g. NA; repeatable.", group="Labels", metavar="TEXT", several=True,
        field="Means no vote",
    )  # fmt: skip
    allow_network: bool = option(False, "Fetch s3://, gs:// and https:// addresses.", group="File format")
    sheet: str | None = option(None, "Sheet of an Excel workbook.", group="File format", metavar="NAME", field="Sheet")
    format: str | None = option(
        None, f"{', '.join(format_words())}; overrides the extension.", group="File format", metavar="TYPE",
        choices=tuple(format_words()),
    )  # fmt: skip
    delimiter: str | None = option(
        None, "Field separator.", group="File format", metavar="SIGN", field="Field separator"
    )
    encoding: str | None = option(
        None, "Text encoding; UTF-8 and UTF-16 are detected.", group="File format", metavar="NAME", field="Encoding"
    )
    max_classes: int = option(
        MAX_CLASSES, "Maximum number of distinct labels.", group="File format", metavar="N", least=1,
        show_default=True,
    )  # fmt: skip
    memory: str | int | None = None  # limit on memory: larger files are sorted into a folder; a flag in `Files`
    work: str | None = None  # this folder, to keep it; by default a temporary one; a flag in `Files`
    threads: int | None = option(None, "Number of threads; default: all.", group="Large files", metavar="N", least=1)


@dataclass(frozen=True)
class Ratings:
    """Public ratings of judges."""

    no_ratings: bool = option(False, "Do not weigh judges by public ratings of their names.", group="Judges")


TABLE_HELP = "CSV or Parquet file, or a folder; - prints CSV."


@dataclass(frozen=True)
class Common:
    """Level and seed."""

    level: float = option(LEVEL, "Confidence level.", group="General", page="all", metavar="SHARE", show_default=True)


@dataclass(frozen=True)
class Shown:
    """How results are printed."""

    as_json: bool = option(False, "Print the full result as JSON.", group="General", flag="--json", kind="said")
    quiet: bool = option(False, "Print only the answer.", group="General", short="-q", kind="said")


@dataclass(frozen=True)
class Seed:
    """For commands that use random numbers."""

    seed: int = option(0, "Random seed.", group="General", argument="rng", metavar="N", least=0, show_default=True)


@dataclass(frozen=True)
class Overwrite:
    """For commands that write files."""

    overwrite: bool = option(
        False, "Replace existing files, but no input or label file.", group="Output", page="all", kind="overwrite"
    )


@dataclass(frozen=True)
class Spreadsheet:
    """For commands that write tables."""

    spreadsheet: bool = option(
        False, "Escape cells that a spreadsheet would run as formulas.", group="Output", page="all"
    )


@dataclass(frozen=True)
class Files:
    """Votes that are larger than memory."""

    memory: str | None = option(
        None, "Memory limit, e.g. 2GB: process votes on disk.", group="Large files", metavar="SIZE"
    )
    work: str | None = option(
        None, "With --memory: folder to keep the sorted votes in.", group="Large files", metavar="DIR"
    )
    resume: bool = option(False, "With --memory: resume, reusing the sorted votes.", group="Large files")


@dataclass(frozen=True)
class Cluster:
    """Votes on a cluster."""

    engine: str = option("memory", "Where to run.", group="Large files", metavar="memory|spark", show_default=True)
    master: str | None = option(None, "Spark master URL; default: local[*].", group="Large files", metavar="URL")


@dataclass(frozen=True)
class Tolerance:
    """What is too small to matter."""

    tolerance: float = option(
        TOLERANCE, "Difference in accuracy that is too small to matter.", metavar="SHARE", show_default=True,
        field="Difference too small to matter", place="",
    )  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """Which claim of the certificate sets the exit code."""

    claim: str | None = option(
        None, "Claim for the exit code: anonymous, named or gold.", group="General", page="all", metavar="CLAIM",
        choices=("anonymous", "named", "gold"),
    )  # fmt: skip


EXPORTS = ("label-studio", "argilla", "prodigy")


@dataclass(frozen=True)
class Check:
    """`majorant check`."""

    out: str | None = option(None, "Write the labels, tables and report to this folder.", group="Output", metavar="DIR")
    report: str | None = option(None, "Write only the report, as one HTML file.", group="Output", metavar="FILE")
    export: str | None = option(
        None, "With --out: also write a file that a labelling tool imports.", group="Output", metavar="TOOL",
        choices=EXPORTS,
    )  # fmt: skip
    digest: str | None = option(
        None, "Write the answer as Markdown, e.g. for CI; - prints it.", group="Output", flag="--summary",
        metavar="FILE",
    )  # fmt: skip
    masked: bool = option(
        False, "Replace the names of items and workers with numbers.", group="Output", flag="--mask", page="all"
    )
    method: str | None = option(None, "Rule to compare: method, worker or a+b.", metavar="NAME")
    no_gold_labels: bool = option(False, "Do not copy gold labels into labels.csv.", page="all")
    verbose: bool = option(False, "Print more details.", short="-v")
    target: float = option(TARGET, "Accuracy to plan for.", page="all", metavar="SHARE", show_default=True)
    by: str | None = option(None, "Also check each value of this column separately.", metavar="COLUMN")
    design: str | None = option(
        None, "Design file written by ask, if it was moved.", group="Columns", metavar="FILE",
        field="Labels of an expert", place="labelled",
    )  # fmt: skip
    compare: bool = option(False, "Add a table that compares all methods.")
    fail_on: str | None = option(
        None, "Exit with 1 on switch, unproved or not-optimal.", metavar="WHAT",
        choices=("switch", "unproved", "not-optimal"),
    )  # fmt: skip
    log_progress: bool | None = option(
        None, "Print a line per stage.", group="General", page="all", flag="--log-progress/--no-log-progress"
    )


@dataclass(frozen=True)
class Ask:
    """`majorant ask`."""

    teach: bool = option(
        False, "First items that teach a rule, then items that prove it. Default for a panel of judges.",
    )  # fmt: skip
    draw: str | None = option(
        None, "teach: ten items, then five at a time, chosen where labels change most. random: a random sample, which "
        "measures better and teaches less. prove: items on which two rules differ.  [default: teach; random if more "
        "than ten are drawn at once]", metavar="HOW", choices=("teach", "random", "prove"),
    )  # fmt: skip
    between: str | None = option(
        None, "Rules to compare, the current one first: methods, auto (the weighted vote), or workers by name; a+b is "
        "the majority of a and b.  [default for a crowd: majority auto]", metavar="A B ...",
    )  # fmt: skip
    race: str | None = option(
        None, "Find the best of several rules; by default each judge of a panel.", metavar="[A B C ...]"
    )
    accuracy: bool = option(False, "Measure how often --rule is right; takes hundreds of labels.", page="all")
    rate: bool = option(
        False, "Draw a random sample to measure a pass rate with majorant rate: like --draw random, with 60 items. "
        "With --more: more items of the random sample.",
    )  # fmt: skip
    question: str | None = option(None, "The question by name, as in mj.ask(question=...).", metavar="NAME", page="all")
    rule: str = option("auto", "With --accuracy: the rule to measure.", show_default=True, page="all")
    n: int | None = option(
        None, "Number of items to label now.  [default: 10 to teach, 30 at random, else 25]", least=1
    )
    more: int | None = option(None, "Add this many items to an existing design.", least=1)
    design: str | None = option(None, "With --more: the design to continue.", metavar="FILE")
    items: str | None = option(
        None, "Table with a column item and columns to show the expert, such as the text.", metavar="FILE"
    )
    expert_from: str | None = option(
        None, "Stand-in for the expert: a file of labels, a column of the votes, or a worker, whose votes are then "
        "used for nothing else.", metavar="FILE|COLUMN|WORKER", page="all",
    )  # fmt: skip
    by: str | None = option(None, "Passed on to the next command.", hidden=True)
    experts: str = option(
        "majority", "Which label counts if several experts label an item; if none does, the item counts as skipped.",
        choices=("majority", "unanimous"), show_default=True, page="all",
    )  # fmt: skip
    tool: str = option("csv", "File format for the items to label.", choices=("csv", *EXPORTS), show_default=True)
    out: str | None = option(
        None, "File or folder for the items; the design is written beside it.  [default: to_label.csv]",
        group="Output",
    )  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """`majorant aggregate`."""

    method: str = option(
        "auto", "A method, a worker's name, a rule from --save-rule, or auto for the rule that check chooses.",
        metavar="NAME", show_default=True,
    )  # fmt: skip
    ties: str = option(
        "coin", "How to break ties: coin (fixed by the item's name), flag (leave empty), first, random or prior.",
        metavar="HOW", choices=("coin", "flag", "first", "random", "prior"), show_default=True,
    )  # fmt: skip
    out: str = option("labels.csv", TABLE_HELP, group="Output", kind="table", show_default=True)
    export: str | None = option(
        None, "Write a file that label-studio, argilla or prodigy can import instead.", group="Output",
        metavar="TOOL", choices=EXPORTS,
    )  # fmt: skip
    save_rule: str | None = option(
        None, "Also write what was learned about the workers, to label other votes with.", metavar="FILE"
    )


@dataclass(frozen=True)
class Workers:
    """`majorant workers`."""

    method: str = option(WORKER_METHOD, "Model for the estimates.", show_default=True)
    bar: float = option(
        0.9, "Accuracy that the gate requires; if you set it, exit with 1 unless a judge meets it.", metavar="SHARE",
        show_default=True,
    )  # fmt: skip
    position: str | None = option(
        None, "For pairs judged in both orders: column that says which one came first (order and swapped are "
        "detected).", metavar="COLUMN",
    )  # fmt: skip
    out: str = option("workers.csv", TABLE_HELP, group="Output", kind="table", show_default=True)


@dataclass(frozen=True)
class Agreement:
    """`majorant agreement`."""

    by_distance: bool = option(
        False, "For numbers or ordered labels: also measure agreement by distance, and how far mean, median and "
        "majority are from gold.", flag="--scores",
    )  # fmt: skip
    out: str | None = option(
        None, "With --scores: write mean, median and majority of each item: CSV, Parquet or a folder.", group="Output"
    )


@dataclass(frozen=True)
class Rate:
    """`majorant rate`."""

    wanted: str | None = option(
        None, "The class whose share to measure, such as pass.", flag="--label", metavar="CLASS"
    )
    by: str | None = option(None, "Compare the rates of each value of a column, such as system.", metavar="COLUMN")
    limits: tuple[float, float] | None = option(
        None, "Range of the scores, such as 1,7.", flag="--range", metavar="LOW,HIGH", kind="numbers"
    )
    at_n: bool = option(
        False, "Narrower intervals, if you fixed the number of labels before you saw any (at least 20)."
    )
    bar: float | None = option(
        None,
        "Exit with 1 unless the labels show a rate above this.",
        flag="--at-least",
        argument="at_least",
        metavar="RATE",
    )
    digest: str | None = option(
        None, 'Also write the answer as Markdown; - prints it. Appends to "$GITHUB_STEP_SUMMARY".', flag="--summary",
        metavar="FILE",
    )  # fmt: skip


@dataclass(frozen=True)
class Rank:
    """`majorant rank`."""

    by: str = option(None, "The system that gave each answer.", required=True, metavar="COLUMN")
    pair: str | None = option(
        None, "The question that several systems answered, if no item name shows it.", metavar="COLUMN"
    )
    wanted: str | None = option(None, "The class to rank by, such as pass.", flag="--label", metavar="CLASS")
    limits: tuple[float, float] | None = option(
        None, "Range of the scores, such as 1,7.", flag="--range", metavar="LOW,HIGH", kind="numbers"
    )
    folder: str | None = option(
        None, "Also write rank.csv, pairs.csv and rank.svg to this folder.", group="Output", flag="--out",
        metavar="DIR",
    )  # fmt: skip


@dataclass(frozen=True)
class Accept:
    """`majorant accept`."""

    at: float = option(0.95, "Accuracy that accepted labels must have.", metavar="SHARE", show_default=True)
    exact: bool = option(False, "Keep half of the labels apart to test: an exact promise, for fewer items.")
    price_vote: float | None = option(None, "Price of a vote, to see the cost.", metavar="PRICE")
    price_label: float | None = option(None, "Price of an expert's label.", metavar="PRICE")
    folder: str | None = option(
        None, "Also write accept.csv and escalate.csv to this folder.", group="Output", flag="--out", metavar="DIR"
    )


@dataclass(frozen=True)
class Label:
    """`majorant label`."""

    design: str | None = option(None, "Design file, if it is not beside FILE.", metavar="FILE")
    to_the_end: bool = option(False, "Continue after the question is settled.", flag="--all")
    restore: int | None = option(
        None, "Bring back state N of FILE from its journal; without N, list the states.", metavar="[N]", least=0,
        bare=0,
    )  # fmt: skip


@dataclass(frozen=True)
class Serve:
    """`majorant serve`."""

    port: int = option(0, "Port on 127.0.0.1.  [default: a free one]", least=0, most=65_535)
    no_browser: bool = option(False, "Print the address without opening a browser.")
    memory: str = option("2GB", "Memory limit; larger files are processed on disk.", metavar="SIZE", show_default=True)
    max_upload: str = option("4GB", "Maximum size of an upload.", metavar="SIZE", show_default=True)


@dataclass(frozen=True)
class Report:
    """`majorant report`."""

    out: str = option("report.html", "Output file or folder.", group="Output", show_default=True)


@dataclass(frozen=True)
class DataGet:
    """`majorant data get`."""

    out: str | None = option(None, "Copy the files into this folder.", group="Output", metavar="DIR")


@dataclass(frozen=True)
class DataDemo:
    """`majorant data demo`."""

    out: str = option("demo-out", "Output folder.", group="Output", metavar="DIR", show_default=True)


@dataclass(frozen=True)
class Theory:
    """`majorant theory`."""

    prior: tuple[float, ...] | None = option(None, "Probability of each class: .6,.4", metavar="LIST", kind="numbers")
    confusion: tuple[tuple[float, ...], ...] | None = option(
        None, "Shared by all, a row per class: .8,.2/.3,.7", metavar="ROWS", kind="rows"
    )
    panel: str | None = option(
        None, "Instead, a confusion matrix per voter: a JSON list, or an object with voter names as keys; - is stdin.",
        metavar="FILE",
    )  # fmt: skip
    votes: str = option("3,5,7", "Votes per item.", metavar="LIST", kind="counts", show_default=True)
    ties: str = option(
        "exclude", "How majority vote breaks ties.", choices=("exclude", "first", "prior", "random"),
        metavar="HOW", show_default=True,
    )  # fmt: skip
    labels: tuple[str, ...] | None = option(None, "Names of the classes: no,yes", metavar="LIST", kind="names")
    data: str | None = option(
        None, "Instead, a file of votes: walk through the paper's conditions for it.", metavar="FILE"
    )
    plot: str | None = option(
        None, "Draw the condition for two classes, and where the model is: a .svg, .png or .pdf.", metavar="FILE"
    )


@dataclass(frozen=True)
class Simulate:
    """`majorant theory simulate`."""

    items: int = option(None, "Number of items.", least=1, required=True)
    votes: str | None = option(
        None, "Votes on each item, or 3:1,5:2 (count:weight).  [default with --skills: all]", metavar="NUMBER",
        kind="vote-counts",
    )  # fmt: skip
    prior: tuple[float, ...] | None = option(
        None, "Probability of each class: .5,.5  [default: all equal]", metavar="LIST", kind="numbers"
    )
    confusion: tuple[tuple[float, ...], ...] | None = option(
        None, "Shared by all workers, a row per class: .8,.2/.3,.7", metavar="ROWS", kind="rows"
    )
    skills: tuple[float, ...] | None = option(
        None, "Instead, the accuracy of each worker: .9,.8,.6", metavar="LIST", kind="numbers"
    )
    workers: int | None = option(None, "Number of workers that share the confusion matrix.", least=1)
    difficulty: float | None = option(
        None, "Let items differ in difficulty: Dirichlet concentration C; smaller means larger differences.",
        metavar="C",
    )  # fmt: skip
    dependence: float = option(0.0, "Probability that a vote copies its group's shared vote.")
    groups: tuple[str, ...] | None = option(
        None, "Group of each worker, for --dependence: a,a,b  [default: one group]", metavar="LIST", kind="names"
    )
    labels: tuple[str, ...] | None = option(
        None, "Names of the classes: no,yes  [default: 0,1,...]", metavar="LIST", kind="names"
    )
    gold: float = option(0.0, "Share of items with their true label.")
    out: str = option("-", TABLE_HELP, group="Output", kind="table", usual="votes.csv", show_default=True)
    truth: str | None = option(None, "Also write the true label of every item to this file.")
