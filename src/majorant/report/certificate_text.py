"""Certificates as text: one sentence for all readers, then the numbers."""

from __future__ import annotations

from typing import Any

from majorant.certify.certificate import ALIKE
from majorant.report.text import LEAD, columns, named, printable, worth
from majorant.wording import NEEDS, count, level_percent, listed, percent, points

TITLES = {
    "anonymous": "Rules that ignore who voted",
    "named": "Rules that know who voted",
    "gold": "By gold labels alone, rules that ignore who voted",
}
EVIDENCE = {  # what is shown of it; JSON holds all
    "e_value": "e-value",
    "e_value_against": "e-value against",
    "e_value_against_ties": "e-value against even ties",
    "likelihood_ratio": "likelihood ratio",
    "margin low": "lower limit of the margin",
    "worker sets": "worker sets",
    "p_optimal": "p-value for optimal",
    "p_not_optimal": "p-value against",
    "gold_items": "gold items",
    "cells": "vote counts",
    "cells_certified": "vote counts certified",
}
LABELS_NUMBERS = {
    "accuracy": "right on gold",
    "over_majority": "lead over majority",
    "loss": "loss, by gold",
    "model_loss": "loss, by the model",
}
MOST_HANDICAP = 1e6  # votes: beyond, votes that hardly tell the classes apart make a number without sense


def certificate_text(summary: dict[str, Any]) -> str:
    """What `majorant certify` prints."""
    lines = [printable(summary["sentence"])]
    for kind, title in TITLES.items():
        if summary[kind] is not None:
            lines += ["", *claim_lines(kind, title, summary[kind], summary["level"], said=summary["sentence"])]
    if summary["design"] is not None:
        lines += ["", f"Design   {summary['design']['text']}"]
    if summary.get("dependence") is not None:
        lines += ["", *dependence_lines(summary["dependence"], summary["level"])]
    return "\n".join(lines)


def claim_lines(kind: str, title: str, claim: dict[str, Any], level: float, said: str = "") -> list[str]:
    """A claim and its numbers, those of a void one marked; its reason unless it was `said` before."""
    model = f", {claim['model']}" if claim["model"] not in ("", "none") else ""
    own = level if claim["level"] is None else claim["level"]
    condition = "" if claim["tested"] else ", on a condition"
    lines = [f"{title}: {claim['verdict']}{condition} at {level_percent(own)}{model}"]
    if claim["why"] not in said:
        lines.append(f"{LEAD}{printable(claim['why'])}")
    numbers = _numbers(kind, claim)
    if claim["verdict"] == "void" and numbers:
        lines.append(f"{LEAD}The numbers below are the model's alone: what they assume failed a test.")
    elif claim["model"] != "none" and numbers:
        lines.append(f"{LEAD}The numbers below are the model's: they hold as far as its assumptions do.")
    assumed = [(_how(text, claim), text) for text in claim["assumptions"]]
    facts = [*numbers, *_gates(claim), *(("holds if", text) for text in claim["conditions"]), *assumed]
    return [*lines, *columns([(name, printable(text)) for name, text in facts], left=(0, 1))] if facts else lines


def _numbers(kind: str, claim: dict[str, Any]) -> list[tuple[str, str]]:
    facts = []
    if claim["by_votes"]:
        facts.append(("by votes", listed(f"{row['votes']}: {row['verdict']}" for row in claim["by_votes"])))
    if claim["without_say"]:
        few = listed(f"{row['votes']} ({percent(row['items'])})" for row in claim["without_say"])
        facts.append(("no say", f"numbers of votes that less than 1 % of the items hold: {few}"))
    if claim["margin"] is not None:
        told = claim["handicap"] is not None and abs(float(claim["handicap"])) < MOST_HANDICAP
        handicap = f"; handicap {float(claim['handicap']):+.2f} votes" if told else ""
        facts.append(("margin", f"{float(claim['margin']):+.3f} nats{handicap}"))
    loss = claim["loss"]
    if loss["value"] is not None:
        ends = "" if loss["low"] is None else f" [{points(loss['low'])}, {points(loss['high'])}]"
        facts.append(("loss", f"{points(loss['value'])} points of accuracy{ends}, {claim['whose']}"))
    facts += _ties(claim)
    if claim["breaks_down"]:
        facts.append(("breaks down", claim["breaks_down"]))
    if claim["items_certified"] is not None and claim["verdict"] != "void":
        facts.append(("certified", f"{percent(claim['items_certified'])} of the items"))
    evidence = [_evidence(name, claim["evidence"][name]) for name in EVIDENCE if name in claim["evidence"]]
    if evidence:
        facts.append(("evidence", ", ".join(evidence)))
    if "majority_accuracy" in claim["evidence"]:
        items = "gold items" if kind == "gold" else "items"
        right = f"right on {percent(float(claim['evidence']['majority_accuracy']))} of the {items}"
        best = claim["evidence"].get("best_accuracy")
        facts.append(("majority", right if best is None else f"{right}, the best rule on {percent(float(best))}"))
    if claim["more_items"]:
        facts.append(("would decide", f"about {count(claim['more_items'], NEEDS[kind])}, judged by themselves"))
    return facts


def _ties(claim: dict[str, Any]) -> list[tuple[str, str]]:
    """How many items are tied, and what a fair draw on them costs."""
    loss = claim["tie_loss"]
    if not claim["tied_share"]:
        return []
    if loss["value"] is None:
        return [("ties", f"{percent(claim['tied_share'])} of the items")]
    ends = "" if loss["low"] is None else f" [{points(loss['low'])}, {points(loss['high'])}]"
    untied = f"; apart from them: {claim['untied']}" if claim["untied"] not in (None, claim["verdict"]) else ""
    cost = f"a fair draw on them gives away {points(loss['value'])} points{ends}, {claim['whose']}{untied}"
    return [("ties", f"{percent(claim['tied_share'])} of the items; {cost}")]


def _how(assumption: str, claim: dict[str, Any]) -> str:
    return "not tested" if assumption in claim["not_tested"] else "assumes"


def _evidence(name: str, value: float | str) -> str:
    number = float(value)
    text = f"{number:,.0f}" if number.is_integer() and abs(number) < 1e9 else f"{number:.3g}"
    return f"{EVIDENCE[name]} {text}"


def _gates(claim: dict[str, Any]) -> list[tuple[str, str]]:
    answer = {True: "passed", False: "FAILED", None: "cannot be tested"}
    rows = []
    for gate in claim["gates"]:
        if gate["name"] == ALIKE:
            rows.append(("workers", gate["text"]))
            continue
        silent = gate["p_value"] is None or "p = " in gate["text"]
        p_value = "" if silent else f" (p = {gate['p_value']:.2g})"
        text = gate["text"][:1].upper() + gate["text"][1:]
        rows.append(("gate", f"{gate['name']}: {answer[gate['passed']]}{p_value}. {text}".rstrip()))
    return rows


def plug_in_text(summary: dict[str, Any]) -> str:
    """What `majorant certify` with a plug-in prints; the warning stands before the numbers."""
    head = ("votes", "items", "verdict", "margin", "majority", "best rule", "gap")
    rows = [
        (
            str(row["votes"]),
            percent(row["items"]),
            row["verdict"],
            f"{float(row['margin']):+.3f} nats",
            *("?" if row[name] is None else percent(row[name]) for name in ("majority_accuracy", "optimal_accuracy")),
            "?" if row["gap"] is None else f"{points(row['gap'])} points",
        )
        for row in summary["by_votes"]
    ]
    matrix = " / ".join(", ".join(f"{value:.3f}" for value in row) for row in summary["confusion"])
    source = f"all {summary['items']:,} items" if summary["share"] == 1 else count(summary["items"], "random item")
    return "\n".join(
        [
            summary["sentence"],
            f"Note     {summary['note']}",
            "",
            f"Estimate from {source}: prior {', '.join(f'{p:.3f}' for p in summary['prior'])}; confusion {matrix}",
            *columns([head, *rows], left=(2,)),
        ]
    )


def labels_loss_lines(found: dict[str, Any]) -> list[str]:
    """How the user's own labels compare."""
    head = f"Labels of {printable(found['source'])}, on {found['n_items']:,} items with a label and an untied vote"
    rows = []
    for name, title in LABELS_NUMBERS.items():
        one, form = found[name], percent if name == "accuracy" else _in_points
        if one["value"] is None:
            rows.append((title, one["reason"]))
        else:
            ends = f"({one['reason']})" if one["low"] is None else f"[{form(one['low'])}, {form(one['high'])}]"
            rows.append((title, f"{form(one['value'])} {ends}"))
    return [head, *columns(rows, left=(0, 1))]


def _in_points(accuracy: float) -> str:
    return f"{points(accuracy)} points"


def dependence_lines(found: dict[str, Any], level: float) -> list[str]:
    """What `majorant certify` prints of a panel."""
    facts = [("test", found["gate"]["text"])]
    if found["pairs"]:
        facts.append(("pairs", _pairs(found, 1 - level)))
    facts.append(("worth", worth(found) or found["n_eff"]["reason"]))
    if found["redundant"]:
        facts.append(("redundant", f"{named(found['redundant'])}: mostly repeating a better worker"))
    return ["Do the workers err together?", *columns([(name, printable(text)) for name, text in facts], left=(0, 1))]


def _pairs(found: dict[str, Any], alpha: float) -> str:
    """The pairs that stand out, all pairs considered, the strongest first."""
    pairs = sorted(found["pairs"], key=lambda pair: -abs(pair["correlation"]))
    clear = [pair for pair in pairs if pair["p_value"] * len(pairs) <= alpha]
    if not clear:
        return "none stands out"
    told = listed(f"{named(pair['workers'], ' and ')} {pair['correlation']:+.2f}" for pair in clear)
    source = "on gold items" if found["truth"] == "gold" else "by votes alone, rough"
    return f"correlated given the true label ({source}): {told}"
