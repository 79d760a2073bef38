"""Which rows hold a vote, and what the labels are called."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from majorant.errors import DataError
from majorant.io.collect import Coded
from majorant.io.frames import kind_key
from majorant.io.gold import Gold, match_labels
from majorant.io.ids import distinct
from majorant.io.options import ReadOptions
from majorant.io.several import written_list
from majorant.io.values import decode, is_vote, numbers_if_all, voted
from majorant.io.vocabulary import Codes
from majorant.votes import Note

Mask = NDArray[np.bool_]


def vote_mask(coded: Coded, label_values: Sequence[Any], no_vote: frozenset[str]) -> Mask | None:
    """Which rows hold a vote: a label that is not empty, and a status that does not say otherwise (None: all)."""
    filled = np.array([is_vote(v, no_vote) for v in label_values] + [False])
    code_n = coded.codes["label"]
    vote_n = None if filled[:-1].all() and (not len(code_n) or code_n.min() >= 0) else filled[code_n]
    if "status" not in coded.codes:
        return vote_n
    status_n = coded.codes["status"]
    values = decode(coded.known["status"], coded.table.kind)
    said = [voted(value) for value in values]
    if None in said:
        code = said.index(None)
        raise DataError(
            f"{coded.where(int(np.argmax(status_n == code)))}, column {coded.table.columns['status']!r}: cannot tell "
            f"whether {values[code]!r} means a vote. Use ok, abstain or error, or leave it out with status=''."
        )
    ok_n = np.array([*said, True])[status_n]
    if ok_n.all():
        return vote_n
    return np.asarray(ok_n if vote_n is None else ok_n & vote_n)


def _refuse_lists(coded: Coded, values: Sequence[Any]) -> None:
    """A list that is written out as text is several labels, and no label of its own."""
    listed = next((v for v in values if isinstance(v, str) and v.lstrip()[:1] == "[" and written_list(v)), None)
    if listed is not None:
        raise DataError(
            f"{coded.table.source}, column {coded.table.columns['label']!r}: {listed!r} is a list of labels. Say "
            "several=True for a yes or no on each label."
        )


def label_uses(coded: Coded, n_values: int, vote_n: Mask | None) -> NDArray[np.integer[Any]]:
    """How many votes each raw label has."""
    code_n = coded.codes["label"]
    return np.bincount(code_n if vote_n is None else code_n[vote_n], minlength=n_values)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCodes:
    """The label vocabulary, the final code of every raw label and gold code, and how often each label is used."""

    labels: list[Hashable]
    label_map: Codes
    gold_map: Codes | None
    gold_i: Codes | None  # from a file
    n_by_label: dict[Any, int]
    note: Note | None = None  # what claims are about, where the caller gave labels an order or a threshold


def name_labels(
    coded: Coded,
    label_values: Sequence[Any],
    uses: NDArray[np.integer[Any]],
    gold: Gold | None,
    options: ReadOptions,
    n_items: int,
) -> LabelCodes:
    """All labels that a vote (`uses` counts them) or gold uses, sorted; text becomes numbers where every label does."""
    scale = options.scale
    used = [code for code in range(len(label_values)) if uses[code]]
    gold_values = decode(coded.known["gold"], coded.table.kind) if "gold" in coded.codes else []
    gold_used = [code for code, v in enumerate(gold_values) if is_vote(v, options.no_vote)]
    _refuse_lists(coded, [label_values[code] for code in used])
    if coded.table.kind == "text":
        texts = [label_values[code] for code in used] + [gold_values[code] for code in gold_used]
        numbers = numbers_if_all(texts)
        label_values = [numbers.get(v, v) for v in label_values]
        gold_values = [numbers.get(v, v) for v in gold_values]
    source = coded.table.source
    label_values = [scale.cut(v, source) if uses[code] else v for code, v in enumerate(label_values)]
    used_gold = frozenset(gold_used)
    gold_values = [scale.cut(v, source) if code in used_gold else v for code, v in enumerate(gold_values)]
    if gold_used:
        distinct(coded, "gold", gold_values)  # refuses what is not a single value
    given, remap = distinct(coded, "label", [label_values[code] for code in used])
    file_items = list(gold.value_by_item) if gold else []
    file_values = match_labels([scale.cut(gold.value_by_item[at], source) for at in file_items] if gold else [], given)
    in_column = match_labels([gold_values[code] for code in gold_used], given)
    labels, _ = distinct(coded, "label", [*given, *in_column, *file_values])
    labels = scale.sorted(labels, source)
    at = {kind_key(label): code for code, label in enumerate(labels)}
    label_map = np.full(len(label_values) + 1, -1, dtype=np.int32)
    label_map[used] = [at[kind_key(given[remap[k]])] for k in range(len(used))]
    gold_map = np.full(len(gold_values) + 1, -1, dtype=np.int32)
    gold_map[gold_used] = [at[kind_key(value)] for value in in_column]
    gold_i = np.full(n_items, -1, dtype=np.int32)
    gold_i[file_items] = [at[kind_key(value)] for value in file_values]
    counts = np.bincount(label_map[used], weights=uses[used], minlength=len(labels)) if used else np.zeros(len(labels))
    return LabelCodes(
        labels=labels,
        label_map=label_map,
        gold_map=gold_map if "gold" in coded.codes else None,
        gold_i=gold_i if gold else None,
        n_by_label={label: int(n) for label, n in zip(labels, counts, strict=True)},
        note=scale.note(),
    )
