"""Table 1: sizes of the real data sets, and which synthetic ones satisfy the theorems."""

from __future__ import annotations

from typing import Any

from majorant.theory import majority_margin
from majorant.votes import Votes
from paper.item import Cell, Context, Item, Outcome, compare
from paper.printed import printed
from paper.sets import DATA, class_shares, present

VOTES = 3
NOTES = (
    "By the caption, v_tr is the number of votes on an item and v_wr the number of items of a worker. Printed under "
    "v_tr is the number of workers, under H the mean number of votes on an item, cut to a whole number.",
)


def run(context: Context) -> Outcome:
    """Count the real sets, and check the exact condition for the synthetic ones."""
    table = printed("table1")
    here, missing = present(context)
    cells = [cell for name, votes in here.items() for cell in _real(name, votes, table["real"][name])]
    cells += [cell for name, row in table["synthetic"].items() for cell in _synthetic(name, row)]
    return Outcome(cells=tuple(cells), notes=NOTES, missing=missing)


def _real(name: str, votes: Votes, row: dict[str, Any]) -> list[Cell]:
    n_items, n_workers, _ = votes.shape
    per_item, per_worker = votes.n_votes / n_items, votes.n_votes / n_workers
    few, many = int(votes.votes_i.min()), int(votes.votes_i.max())
    digits = 1 if any(share % 1 for share in row["nu"]) else 0
    shares = zip(row["nu"], (100 * class_shares(votes)).tolist(), strict=True)
    return [
        *(compare(f"{name}, nu{k} in %", was, ours, digits=digits) for k, (was, ours) in enumerate(shares)),
        compare(f"{name}, items", row["N"], n_items, digits=0, errata=(25,)),
        compare(f"{name}, votes on an item, as v_tr", row["v_tr"], per_item, digits=0, errata=(25,)),
        compare(f"{name}, workers, as v_tr", row["v_tr"], n_workers, digits=0),
        compare(f"{name}, votes on an item, as H", row["H"], per_item, digits=0, errata=(25,)),
        compare(f"{name}, the same cut to a whole number", row["H"], int(per_item), digits=0),
        compare(f"{name}, fewest votes on an item", None, few),
        compare(f"{name}, most votes on an item", None, many),
        compare(f"{name}, votes of a worker, v_wr", row["v_wr"], per_worker, digits=0, errata=(25,)),
    ]


def _synthetic(name: str, row: dict[str, Any]) -> list[Cell]:
    margin = _margin(row)
    return [
        compare(f"{name}, margin in nats", None, margin, exact=margin),
        compare(f"{name}, satisfied by the text", row["text says satisfied"], margin > 0, exact=margin > 0),
        compare(
            f"{name}, satisfied by the caption",
            row["caption says satisfied"],
            margin > 0,
            exact=margin > 0,
            errata=(25,),
        ),
    ]


def _margin(row: dict[str, Any]) -> float:
    a, b = row["T00"], row["T11"]
    return majority_margin([share / 100 for share in row["nu"]], [[a, 1 - a], [1 - b, b]], VOTES)


ITEM = Item("table1", "Table 1: data sets", run, DATA)
