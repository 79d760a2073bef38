"""Whether the workers of a panel err together, in words."""

from __future__ import annotations

from typing import Any

from majorant.report.text import columns, interval, printable, shown
from majorant.wording import listed


def dependence_lines(found: dict[str, Any], level: float) -> list[str]:
    """What `majorant certify` prints of a panel."""
    facts = [("test", found["gate"]["text"])]
    if found["pairs"]:
        facts.append(("pairs", _pairs(found, 1 - level)))
    facts.append(("worth", worth(found) or found["n_eff"]["reason"]))
    if found["redundant"]:
        facts.append(("redundant", f"{_named(found['redundant'])}: mostly repeating a better worker"))
    return ["Do the workers err together?", *columns([(name, printable(text)) for name, text in facts], left=(0, 1))]


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
        parts.append(f"mostly repeating a better one: {_named(found['redundant'])}")
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


def _pairs(found: dict[str, Any], alpha: float) -> str:
    """The pairs that stand out, all pairs considered, the strongest first."""
    pairs = sorted(found["pairs"], key=lambda pair: -abs(pair["correlation"]))
    clear = [pair for pair in pairs if pair["p_value"] * len(pairs) <= alpha]
    if not clear:
        return "none stands out"
    told = listed(f"{_named(pair['workers'], ' and ')} {pair['correlation']:+.2f}" for pair in clear)
    source = "on gold items" if found["truth"] == "gold" else "by votes alone, rough"
    return f"correlated given the true label ({source}): {told}"


def _named(names: list[Any], between: str = ", ") -> str:
    return between.join(shown(name) for name in names)
