"""The same votes in another order, or with other names, give the same answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import majorant as mj
from corpus import fuzz
from majorant.errors import MajorantError
from majorant.evidence.evidence import Evidence

Columns = dict[str, list[Any]]


def shuffle_rows(columns: Columns, rng: np.random.Generator) -> Columns:
    """The rows in another order."""
    order = rng.permutation(len(columns["item"]))
    return {name: [values[n] for n in order] for name, values in columns.items()}


def rename(columns: Columns, rng: np.random.Generator) -> tuple[Columns, dict[str, str]]:
    """Other names for workers and labels, in an order of their own; and the old names by the new ones.

    Items keep theirs: lots, such as which items are left out of a fold, are drawn by the items' names.
    """
    renamed, old_names = dict(columns), {}
    for role in ("worker", "label"):
        used = {*columns[role], *(columns.get("gold", ()) if role == "label" else ())} - {None}
        new = [f"{role}-{n:05d}" for n in rng.permutation(len(used))]
        name_of = dict(zip(sorted(used, key=str), new, strict=True))
        old_names |= {name: str(value) for value, name in name_of.items()}
        renamed[role] = [name_of[value] for value in columns[role]]
        if role == "label" and "gold" in columns:
            renamed["gold"] = [None if value is None else name_of[value] for value in columns["gold"]]
    return renamed, old_names


def answer_facts(columns: Columns, old_names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What must not depend on order or names, in the old names: the answer, verdicts, and labels.

    With other names, the labels of tied items may differ: a coin decides them on panels.  Rules of which labels say
    exactly the same are taken by their names.
    """
    result = mj.check(columns, rng=0, repeats="each")
    answer, certificate, table = result.answer, result.certificate, result.labels.table()

    def old(name: Any) -> str:
        return str(name) if old_names is None else old_names.get(str(name), str(name))

    def strength(one: Evidence) -> tuple[Any, ...]:
        return one.source, one.n_used, None if one.gain.value is None else round(one.gain.value, 9)

    basis = answer.basis
    equal = {answer.rule, *(one.other for one in answer.evidence if basis and strength(one) == strength(basis))}
    rules = sorted(map(old, equal if basis is not None and answer.rule == basis.other else {answer.rule}))
    kept = [n for n, tied in enumerate(table["tied"]) if old_names is None or not tied]
    items, labels = ([table[name][n] for n in kept] for name in ("item", "label"))
    return {
        "action": str(answer.action),
        "certainty": str(answer.certainty),
        "rule": rules,
        "verdicts": [str(getattr(claim, "verdict", None)) for claim in (certificate.anonymous, certificate.named)],
        "labels": {old(item): old(label) for item, label in zip(items, labels, strict=True)} if len(rules) == 1 else {},
    }


def difference(columns: Columns, first: dict[str, Any], rng: np.random.Generator, *, renaming: bool) -> str | None:
    """How the answer to the same votes in another order, and by other names if asked, differs from the first."""
    changed, old_names = rename(columns, rng) if renaming else (columns, None)
    other = answer_facts(shuffle_rows(changed, rng), old_names)
    first = first | {"labels": {item: label for item, label in first["labels"].items() if item in other["labels"]}}
    found = [f"{key}: {_told(first[key], other[key])}" for key in first if first[key] != other[key]]
    return f"{'renamed' if renaming else 'shuffled'}: {'; '.join(found)}" if found else None


def _told(one: Any, other: Any) -> str:
    if isinstance(one, dict):
        items = [item for item in one if one[item] != other.get(item)]
        return f"{len(items)} labels, such as {one[items[0]]!r} and {other.get(items[0])!r} of {items[0]!r}"
    return f"{one} and {other}"


def run_order(number: int) -> tuple[int, str | None]:
    """Generated table `number`, shuffled and then renamed."""
    rng = np.random.default_rng([7, number])
    columns = fuzz.table(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with fuzz.small_budgets():
                first = answer_facts(columns)
                return number, next(
                    filter(None, (difference(columns, first, rng, renaming=r) for r in (False, True))), None
                )
        except MajorantError:
            return number, None
        except Exception as error:
            return number, fuzz.describe_error(error)
