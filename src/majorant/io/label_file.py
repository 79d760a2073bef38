"""Labels that the user already has, in a file of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.columns import GOLD_ROLES
from majorant.io.faults import naming_faults
from majorant.io.gold import match_labels, read_gold
from majorant.io.options import MAX_CLASSES, ReadOptions
from majorant.votes import Votes


@naming_faults
def read_labels(source: Any, votes: Votes, *, column: str = "label") -> NDArray[np.int32]:
    """The class code of each item from a table with the columns item and `column`; -1 where there is none.

    >>> votes = Votes.from_codes([0, 1], [0, 0], [1, 0], items="ab", workers="w", labels=("no", "yes"))
    >>> read_labels({"item": ["b"], "label": ["yes"]}, votes).tolist()
    [-1, 1]
    """
    most = max(MAX_CLASSES, len(votes.labels))
    how = ReadOptions(gold=column, worker="", label="", max_classes=most, needed=GOLD_ROLES)
    found = read_gold(source, how, votes.items, what="label")
    values = match_labels(list(found.value_by_item.values()), votes.labels)
    code_of = {label: code for code, label in enumerate(votes.labels)}
    unknown = [value for value in values if value not in code_of]
    if unknown:
        known = ", ".join(repr(label) for label in votes.labels[:8])
        raise DataError(f"{source}: label {unknown[0]!r} is not a label of the votes ({known}). Write labels alike.")
    code_i = np.full(len(votes.items), -1, dtype=np.int32)
    code_i[list(found.value_by_item)] = [code_of[value] for value in values]
    return code_i
