"""Summaries as text for the terminal: what was read, counted and found, and what the commands print of it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from majorant.wording import (
    MOST_LISTED,
    VOTES_DEPEND,
    count,
    judges_sentence,
    level_percent,
    listed,
    nearer_sentence,
    one_of,
    percent,
    points,
    right_sentence,
    would_decide,
)

COEFFICIENT_NAMES = {
    "percent": "pairs of votes that agree",
    "krippendorff": "Krippendorff's alpha",
    "krippendorff_ordinal": "  the same, ordinal",
    "fleiss": "Fleiss' kappa",
    "cohen": "Cohen's kappa, mean of pairs",
    "gwet": "Gwet's AC1",
}
SCORE_NAMES = {
    "interval_alpha": "Krippendorff's alpha, interval",
    "icc": "ICC(1), one-way",
    "icc_agreement": "ICC(A,1), two-way, absolute agreement",
    "weighted_kappa": "Cohen's kappa, quadratic weights, mean over pairs",
}
SHORT_NAMES = (
    ("percent", "pairs of votes agree"),
    ("krippendorff", "Krippendorff's alpha"),
    ("gwet", "Gwet's AC1"),
)
JUDGE_LOGS = ("Inspect", "promptfoo", "DeepEval", "lm-eval", "Ragas")  # how their formats are described
MOST_NOTES = 3  # on the input, below an answer
LONGEST_NAME, WIDTH = 40, 116
LEAD = "         "  # under the title of a line


def answer_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """Five lines: the answer, the gain, the evidence, the files written, what next; then the tables asked for."""
    answer = summary["answer"]
    lines = [
        *_wrapped("Answer", answer["headline"]),
        *_wrapped("Gain", answer["gain_sentence"]),
        *_wrapped("Evidence", answer["why"]),
        *_judges(summary["input"]),
        *_expert(answer),
        *_written(written),
        *_next(answer["next"], answer["command"]),
    ]
    return "\n".join(
        [*lines, *_slices(summary["slices"], summary["input"]["notes"]), *comparison_lines(summary["comparison"])]
    )


def _judges(read: dict[str, Any]) -> list[str]:
    """What else there is to ask of a log of judges."""
    from majorant.io.columns import JUDGES, bare_word

    worker = bare_word(read["columns"].get("worker", ""))
    if worker not in JUDGES and not read["format"].startswith(JUDGE_LOGS):
        return []
    return _wrapped("Judges", judges_sentence(read["source"].split(" (")[0]))


def _expert(answer: dict[str, Any]) -> list[str]:
    """What labels drawn by design say of another question, and what to know about the labels."""
    expert = answer["expert"]
    if expert is None:
        return []
    said = [] if answer["basis"] == "expert labels" else _wrapped("Labels", expert["sentence"])
    said += [f"{LEAD}{printable(expert['command'])}"] if expert["command"] else []
    return [*said, *(line for note in expert["notes"] for line in _wrapped("Note", note))]


def check_text(summary: dict[str, Any], written: Sequence[Path] = ()) -> str:
    """The answer, and under it what was read, counted and found; result.json and the report have it all."""
    parts = [
        input_lines(summary["input"], most_notes=MOST_NOTES),
        votes_lines(summary["votes"]),
        _agreement(summary["agreement"]),
        _claims(summary["certificate"]),
        _accuracy(summary),
        labels_lines(summary["labels"]),
        _workers(summary["workers"]),
        _review(summary["review"]),
        _plan(summary["plan"]),
    ]
    return "\n".join([answer_text(summary, written), "", *(line for part in parts for line in part)])


def _next(text: str, command: str) -> list[str]:
    """What to do now; a command stays whole, on a line of its own where the two are long."""
    lines = _wrapped("Next", text)
    if len(lines) == 1 or not command:
        return lines
    return [*_wrapped("Next", text.removesuffix(command)), f"{LEAD}{printable(command)}"]


def _written(paths: Sequence[Path]) -> list[str]:
    """The files, those of one folder together."""
    names: dict[Path, list[str]] = {}
    for path in paths:
        names.setdefault(path.parent, []).append(path.name)
    return [line for folder, files in names.items() for line in _wrapped("Wrote", f"{', '.join(files)} in {folder}")]


def _wrapped(title: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{title:<8} {printable(text)}", WIDTH, subsequent_indent=LEAD, break_long_words=False, break_on_hyphens=False
    )


def _claims(certificate: dict[str, Any]) -> list[str]:
    """The claims, up to which correlation of votes they stand, and what they take for granted."""
    lines = _wrapped("Claims", certificate["sentence"])
    for kind, title in (("anonymous", "ignoring who voted"), ("named", "knowing who voted")):
        if (claim := certificate[kind]) and claim["breaks_down"]:
            lines += _wrapped("", f"Rules {title}: {claim['breaks_down']}.")
    return [*lines, *(_wrapped("Untested", text) if (text := certificate["not_tested_sentence"]) else [])]


def _agreement(agreement: dict[str, Any]) -> list[str]:
    if agreement["percent"]["value"] is None:
        return [f"Agree    {agreement['percent']['reason']}"]
    parts = []
    for name, title in SHORT_NAMES:
        one, form = agreement[name], percent if name == "percent" else "{:.3f}".format
        if one["value"] is not None:
            parts.append(f"{title} {with_ends(one, form)}")
    return _wrapped("Agree", "; ".join(parts) + ".")


def _accuracy(summary: dict[str, Any]) -> list[str]:
    """How often majority vote and the other rule are right, by gold or, said to be that, by the model."""
    accuracy, answer = summary["accuracy"], summary["answer"]
    majority, other = accuracy["majority"], accuracy["other"]
    if majority["value"] is None:
        return []
    n_gold = summary["gold"]["n_items"] if accuracy["source"] == "gold" else None
    shown = {"majority vote": with_ends(majority, percent)}
    if answer["other"] != "majority" and other["value"] is not None:
        shown[answer["other"]] = with_ends(other, percent)
    return _wrapped("Right", right_sentence(shown, n_gold))


def _workers(workers: dict[str, Any]) -> list[str]:
    flagged = {flag: n for flag, n in workers["flagged"].items() if flag != "too few votes"}
    found = ", ".join(f"{flag} {number:,}" for flag, number in flagged.items())
    text = f"{count(workers['workers'], 'worker')}; stand out: {found or 'none'}."
    if workers["removal"] is not None:
        gone = workers["removal"]
        text += f" Without the {gone['workers']:,} flagged, {count(gone['labels_changed'], 'label')} would change."
    text += f" {dependence_sentence(workers['dependence'])}".rstrip()
    return _wrapped("Workers", text)


def _review(review: dict[str, Any]) -> list[str]:
    if not review["items"]:
        return []
    first = review["rows"][0]
    return _wrapped(
        "Review",
        f"An expert on the {count(review['items'], 'most doubtful item')} would gain {points(review['gain'])} points; "
        f"the first is {shown(first['item'])} ({first['reason']}).",
    )


def _plan(plan: dict[str, Any] | None) -> list[str]:
    return [] if plan is None else _wrapped("Buy", plan["sentence"])


def _slices(slices: list[dict[str, Any]], notes: list[dict[str, Any]]) -> list[str]:
    if not slices:
        return []
    kind = "label" if any(note["kind"] == "several" for note in notes) else "slice"
    head = (kind, "items", "votes", "ignoring who voted", "knowing who voted", "loss by the model, points")
    rows = [
        (
            shown(one["value"]),
            f"{one['items']:,}",
            f"{one['votes']:,}",
            one["verdict"],
            one["named"] or "-",
            _short_loss(one["loss_named"] or one["loss_anonymous"]),
        )
        for one in slices
    ]
    title = f"{kind.title() + 's':<8} each at {percent(slices[0]['level'], 2)}, so that all hold together"
    return [title, *columns([head, *rows], left=(0, 3, 4))]


def _short_loss(loss: dict[str, Any]) -> str:
    return "-" if loss["value"] is None else f"{points(loss['value'])}{interval(loss, points)}"


def comparison_lines(comparison: list[dict[str, Any]]) -> list[str]:
    """All methods side by side."""
    if not comparison:
        return []
    head = ("method", "right", "as majority", "note")
    rows = [
        (
            one["method"],
            "-" if one["accuracy"]["value"] is None else with_ends(one["accuracy"], percent),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            one["note"],
        )
        for one in comparison
    ]
    source = "by gold" if comparison[0]["source"] == "gold" else "by the model"
    return [
        f"Methods  right {source}; share of labels as majority's",
        *columns([head, *rows], left=(0, 3)),
    ]


def input_lines(account: dict[str, Any], *, most_notes: int | None = None) -> list[str]:
    """What was read, which column was taken for what, what was left out, and what to know about it."""
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in account["columns"].items())
    left_out = [
        f"{account[name]:,} {meaning}"
        for name, meaning in (
            ("abstained", "without a label"),
            ("merged", "exact copies merged"),
            ("dropped", f"repeats dropped (kept the {account['repeats']})"),
        )
        if account[name]
    ]
    form = f" ({account['format']})" if account["format"] else ""
    rows = ", ".join([count(account["rows"], "row"), *left_out])
    lines = [f"Read     {printable(account['source'])}{form}: {rows}."]
    if columns:
        unused = f"; not used: {listed(map(shown, account['ignored']))}" if account["ignored"] else ""
        lines.append(f"{LEAD}{columns}{unused}")
    notes = account["notes"][:most_notes]
    lines += [f"Note     {printable(note['text'])}" for note in notes]
    if len(notes) < len(account["notes"]):
        lines.append(f"Note     {len(account['notes']) - len(notes)} more notes on the input: see result.json.")
    return lines


def votes_lines(votes: dict[str, Any]) -> list[str]:
    """How many votes, items, workers and classes there are."""
    labels = listed(f"{shown(row['label'])} {share(row['votes'], votes['votes'])}" for row in votes["label_votes"])
    sizes = votes["votes_per_item"]
    if len(sizes) > MOST_LISTED:
        spread = f"{sizes[0]['votes']} to {sizes[-1]['votes']}"
    else:
        spread = ", ".join(f"{row['votes']} on {count(row['items'], 'item')}" for row in sizes)
    worker = votes["votes_per_worker"]
    return [
        f"Votes    {count(votes['votes'], 'vote')} by {count(votes['workers'], 'worker')} on "
        f"{count(votes['items'], 'item')}; votes for: {labels}.",
        f"{LEAD}Votes per item: {spread}. Per worker: {worker['least']:,} to {worker['most']:,}, "
        f"median {worker['median']:,.0f}.",
    ]


def agreement_lines(agreement: dict[str, Any], *, pairs: bool = False) -> list[str]:
    """Each coefficient with its interval or the reason why it is missing."""
    lines = [f"Agreement, with {level_percent(agreement['level'])} intervals"]
    for name, title in COEFFICIENT_NAMES.items():
        one = agreement[name]
        if name == "krippendorff_ordinal" and agreement["classes"] <= 2:
            continue  # the same number: two classes have no order
        if one["value"] is None:
            if pairs or name == "percent":
                lines.append(f"{LEAD}{title:<29}{one['reason']}")
            continue
        if name == "percent":
            value, ends = percent(one["value"]), interval(one, percent)
        else:
            value, ends = f"{one['value']:.3f}", interval(one, lambda x: f"{x:.3f}")
        lines.append(f"{LEAD}{title:<29}{value:>7}{ends}")
    if pairs:
        lines += pair_lines(agreement)
    return lines


def pair_lines(agreement: dict[str, Any]) -> list[str]:
    """The pairs of workers with the most items in common."""
    if not agreement["pairs"]:
        return []
    rows = [
        (
            " and ".join(shown(name) for name in row["workers"]),
            f"{row['items']:,}",
            percent(row["agreed"]),
            "-" if row["cohen"] is None else f"{row['cohen']:.3f}",
        )
        for row in agreement["pairs"]
    ]
    head = f"Pairs of workers with the most items in common, {len(rows)} of {agreement['n_pairs']:,}"
    return [head, *columns([("workers", "items", "agree", "Cohen's kappa"), *rows])]


def labels_lines(labels: dict[str, Any]) -> list[str]:
    """How many items got which label."""
    open_items = [
        text
        for number, text in (
            (labels["tied"], f"{labels['tied']:,} tied and left open"),
            (labels["without_votes"], f"{labels['without_votes']:,} without votes"),
        )
        if number
    ]
    by_label = listed(f"{shown(row['label'])} {share(row['items'], labels['labelled'])}" for row in labels["by_label"])
    rest = f", {', '.join(open_items)}" if open_items else ", no ties"
    doubt = "" if labels["converged"] else f" Not converged after {labels['steps']:,} steps."
    return [f"Labels   by {labels['method']}: {count(labels['labelled'], 'item')} labelled{rest}: {by_label}.{doubt}"]


def workers_lines(workers: dict[str, Any]) -> list[str]:
    """The workers with the most votes, and how many stand out."""
    flagged = ", ".join(f"{flag} {number:,}" for flag, number in workers["flagged"].items())
    rows = [
        (
            shown(one["worker"]),
            f"{one['votes']:,}",
            "-" if one["accuracy"] is None else percent(one["accuracy"]),
            "" if one["accuracy"] is None else interval(one, percent).strip(),
            "-" if one["agreement"] is None else percent(one["agreement"]),
            "; ".join(flag["flag"] for flag in one["flags"]),
        )
        for one in workers["rows"]
    ]
    head = ("worker", "votes", "accuracy", f"{level_percent(workers['level'])} interval", "agreement", "stands out")
    return [
        f"Workers  {count(workers['workers'], 'worker')} by {workers['method']}; stand out: {flagged or 'none'}.",
        f"{LEAD}Those with the most votes, {len(rows)} of {workers['workers']:,}:",
        *columns([head, *rows], left=(0, 5)),
    ]


def plan_text(summary: dict[str, Any]) -> str:
    """What `majorant plan` prints."""
    lines = [summary["sentence"], *_doubt(summary), "", *_points(summary)]
    wants = [
        (summary["gold_items"], "gold item", ""),
        (summary["more_gold"], "fresh gold item", ", judged by themselves,"),
        (summary["more_items"], "fresh item", " without gold, judged by themselves,"),
    ]
    condition = f", if {one_of(summary['doubts'])}" if summary["doubts"] else ""
    decide = [
        would_decide(number, what, more, condition if what == "gold item" else "")
        for number, what, more in wants
        if number is not None
    ]
    lines += ["", *decide] if decide else []
    if summary["crew"]:
        lines += ["", *_crew(summary)]
    return "\n".join([*lines, "", *(f"Assumes: {text}." for text in summary["assumptions"])])


def _doubt(summary: dict[str, Any]) -> list[str]:
    """A warning where gold, or the votes themselves, show that the model promises too much."""
    if VOTES_DEPEND not in summary["doubts"]:
        return []
    seen, expected = summary["observed_now"], summary["expected_now"]
    if expected is None or seen["high"] is None or seen["high"] >= expected:
        return [
            "Note     Votes depend on each other (hard items, shared errors): they gain less than the numbers below."
        ]
    right = with_ends(seen, percent)
    return [
        f"Note     By gold, majority is right on {right} of the items. The numbers below expect",
        f"{LEAD}{percent(expected)}: votes depend on each other (hard items, shared errors).",
    ]


def _points(summary: dict[str, Any]) -> list[str]:
    """A row for each number of votes, as far as it matters."""
    needed = [n for n in (summary["majority_votes"], summary["best_votes"], summary["votes_now"]) if n is not None]
    last = len(summary["points"]) if summary["majority_votes"] is None else round(max(needed)) + 1
    rows = [
        (
            str(row["votes"]),
            *("?" if row[name] is None else percent(row[name]) for name in ("majority", "best")),
            f"{row['votes'] * summary['price_per_vote']:.{_decimals(summary['price_per_vote'])}f}",
        )
        for row in summary["points"][:last]
    ]
    return columns([("votes per item", "majority", "best rule", "price per item"), *rows], left=())


def _crew(summary: dict[str, Any]) -> list[str]:
    head = ("the workers, best addition first", "majority of them", "best rule that knows them")
    rows = [(shown(row["worker"]), percent(row["majority"]), percent(row["best"])) for row in summary["crew"]]
    keep = ", ".join(shown(worker) for worker in summary["keep"])
    reached = percent(summary["crew"][len(summary["keep"]) - 1]["best"])
    together = "together " if len(summary["keep"]) > 1 else ""
    condition = f" if {one_of(summary['doubts'])}" if summary["doubts"] else ""
    told = f"Keep {keep}: {together}right on {reached}{condition}, by the best rule that knows who voted."
    return [told, *columns([head, *rows])]


def _decimals(price: float) -> int:
    """As many decimals as the price was given with.

    >>> _decimals(0.05), _decimals(1.0), _decimals(2.5)
    (2, 0, 1)
    """
    from decimal import Decimal

    exponent = Decimal(repr(float(price))).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def score_lines(facts: dict[str, Any]) -> list[str]:
    """The same as lines; distances are in the units of the scores."""
    lines = [f"Agreement by distance, between {facts['about']}:"]
    lines += [f"  {spelt}: {_spelt(facts[name])}" for name, spelt in SCORE_NAMES.items()]
    lines.append("Mean distance from gold of each rule:")
    lines += [f"  {rule}: {_spelt(facts['distance'][rule])}" for rule in facts["distance"]]
    lines += [nearer_sentence(rule, one) for rule, one in facts["nearer"].items() if one["low"] is not None]
    if facts["closest"] is not None:
        lines.append(f"Closest to gold on these items: {facts['closest']}.")
    return lines


def _spelt(one: dict[str, Any]) -> str:
    if one["value"] is None:
        return f"not known ({one['reason']})"
    interval = "" if one["low"] is None else f" ({one['low']:.3f} to {one['high']:.3f})"
    return f"{one['value']:.3f}{interval}"


def dependence_sentence(found: dict[str, Any] | None) -> str:
    """The same for a reader in a hurry; empty where nothing is known."""
    if found is None or found["gate"]["passed"] is None:
        return ""
    if found["gate"]["passed"]:
        return f"No shared errors are seen (p = {found['gate']['p_value']:.2g})."
    parts = [f"They err together or avoid each other's errors (p = {found['gate']['p_value']:.2g})"]
    if found["n_eff"]["value"] is not None:
        parts.append(worth(found))
    if found["redundant"]:
        parts.append(f"mostly repeating a better one: {named(found['redundant'])}")
    return f"{'; '.join(parts)}."


def worth(found: dict[str, Any]) -> str:
    """How many independent votes those of an item are worth; empty where that is not known.

    >>> worth({"n_eff": {"value": 3.91, "low": None, "high": None, "reason": "votes alone do not bound it"}})
    'the votes on an item are worth roughly 3.9 independent ones (votes alone do not bound it)'
    """
    n_eff = found["n_eff"]
    if n_eff["value"] is None:
        return ""
    rough, ends = "", interval(n_eff, "{:.1f}".format).replace("  [", " [")
    if n_eff["low"] is None:
        rough, ends = "roughly ", f" ({n_eff['reason']})"
    return f"the votes on an item are worth {rough}{n_eff['value']:.1f} independent ones{ends}"


def named(names: list[Any], between: str = ", ") -> str:
    """Users' names in a row."""
    return between.join(shown(name) for name in names)


def columns(rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,), indent: str = LEAD) -> list[str]:
    """Rows of text as aligned columns, those in `left` to the left, the others to the right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    return [
        indent + "  ".join(cell.ljust(w) if c in left else cell.rjust(w) for c, (cell, w) in cells).rstrip()
        for cells in (enumerate(zip(row, widths, strict=True)) for row in rows)
    ]


def shown(value: Any) -> str:
    """A user's value on the terminal: control signs made harmless, clipped."""
    text = printable(str(value))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def printable(text: str) -> str:
    """Text without signs that could move the cursor, change colours or reverse the writing."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def share(part: int, whole: int) -> str:
    """Part of a whole in percent, or a dash of nothing."""
    return percent(part / whole) if whole else "-"


def with_ends(one: dict[str, Any], form: Any) -> str:
    """A number and its interval within a sentence.

    >>> with_ends({"value": 0.97, "low": 0.936, "high": 0.989}, percent)
    '97.0 % [93.6 %, 98.9 %]'
    """
    return f"{form(one['value'])}{interval(one, form).replace('  [', ' [')}"


def interval(one: dict[str, Any], form: Any) -> str:
    """[low, high], or nothing where there is no interval."""
    return "" if one["low"] is None else f"  [{form(one['low'])}, {form(one['high'])}]"
