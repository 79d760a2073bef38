"""The same votes in another order, or with other names, give the same answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import majorant as mj
from corpus import fuzz
from majorant.errors import MajorantError


def shuffle_rows(columns: dict[str, list[Any]], rng: np.random.Generator) -> dict[str, list[Any]]:
    """The rows in another order."""
    order = rng.permutation(len(columns["item"]))
    return {name: [values[n] for n in order] for name, values in columns.items()}


def rename(columns: dict[str, list[Any]], rng: np.random.Generator) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Other names for items, workers and labels, in an order of their own; and the labels' new names."""
    renamed, of_label = dict(columns), {}
    for role in ("item", "worker", "label"):
        old = sorted({*columns[role], *(columns.get("gold", ()) if role == "label" else ())} - {None}, key=str)
        new = [f"{role[0]}{n:05d}" for n in rng.permutation(len(old))]
        name_of = dict(zip(old, new, strict=True))
        renamed[role] = [name_of[value] for value in columns[role]]
        if role == "label":
            of_label = name_of
            if "gold" in columns:
                renamed["gold"] = [None if value is None else name_of[value] for value in columns["gold"]]
    return renamed, of_label


def answer_facts(columns: dict[str, list[Any]], *, labels: bool) -> dict[str, Any]:
    """What must not depend on order or names: the answer, verdicts, and how many items have which label."""
    result = mj.check(columns, rng=0)
    answer, certificate = result.answer, result.certificate
    facts: dict[str, Any] = {
        "action": str(answer.action),
        "certainty": str(answer.certainty),
        "rule": answer.rule,
        "verdicts": [str(getattr(claim, "verdict", None)) for claim in (certificate.anonymous, certificate.named)],
    }
    table = result.labels.table()
    if labels:
        facts["labels"] = dict(zip(map(str, table["item"]), map(str, table["label"]), strict=True))
    else:  # ties are decided by the item's name
        facts["untied"] = sum(1 for tied in table["tied"] if not tied)
        facts["changed"] = sum(
            1 for tied, changed in zip(table["tied"], table["changed"], strict=True) if changed and not tied
        )
    return facts


def difference(columns: dict[str, list[Any]], rng: np.random.Generator) -> str | None:
    """What a shuffle and a renaming of the votes change."""
    first, plain = answer_facts(columns, labels=True), answer_facts(columns, labels=False)
    if (other := answer_facts(shuffle_rows(columns, rng), labels=True)) != first:
        return f"shuffled: {_changed(first, other)}"
    renamed, _ = rename(columns, rng)
    if (other := answer_facts(renamed, labels=False)) != plain:
        return f"renamed: {_changed(plain, other)}"
    return None


def _changed(first: dict[str, Any], other: dict[str, Any]) -> str:
    return "; ".join(
        f"{key}: {str(first[key])[:100]} and {str(other[key])[:100]}" for key in first if first[key] != other[key]
    )


def run_order(number: int) -> tuple[int, str | None]:
    """Generated table `number`, shuffled and renamed."""
    rng = np.random.default_rng([7, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with fuzz.small_budgets():
                return number, difference(fuzz.table(rng), rng)
        except MajorantError:
            return number, None
        except Exception as error:
            return number, fuzz.describe_error(error)
