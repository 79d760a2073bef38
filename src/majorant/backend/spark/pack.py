"""Blocks of votes as rows of a Spark frame: each partition is packed into one row and unpacked in every pass.

A row holds the block's number, facts about its votes, the votes themselves and the names of its items. Items are sorted
by name and votes by code, so a partition that is recomputed gives the same block, in whatever order its rows arrive.
"""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from majorant.backend.base import Part
from majorant.backend.stage import PartFacts, count_part, is_empty_name
from majorant.errors import DataError
from majorant.kernels import Block, make_block
from majorant.read.build import first_per_item, resolve
from majorant.read.table import arrow_view
from majorant.votes import Account, IntArray, Votes

CHANGED = "The votes changed while Spark worked on them. Run again once nothing writes to them."
PACKED = ("part", "content")  # the columns that a pass needs


def map_batches(frame: Any, fn: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> Any:
    """A frame with the results of `fn` for the Arrow batches of each partition."""
    with warnings.catch_warnings():  # PySpark warns about new pandas versions, but pandas is not used here
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(fn, schema)


class BlockFacts(NamedTuple):
    """What the driver learns about the votes in a block; facts about several blocks can be added."""

    rows: int
    merged: int
    nameless: int  # rows without an item
    trouble: list[dict[str, Any]]  # the first contradiction between votes or gold labels
    counts: PartFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How raw codes are turned into votes; the last entry of each map is for -1, an empty cell."""

    n_workers: int
    n_classes: int
    repeats: str  # error or each
    worker_map: NDArray[np.int32] | None = None  # None if the column already holds final codes
    label_map: NDArray[np.int32] | None = None
    gold_map: NDArray[np.int32] | None = None
    voted: NDArray[np.bool_] | None = None  # whether each status means a vote


def pack(batches: Iterator[Any], packing: Packing) -> Iterator[Any]:
    """Pack the rows of a partition (item and codes of worker, label, gold, status) into one row."""
    import pyarrow as pa
    from pyspark import TaskContext

    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return
    context = TaskContext.get()
    part = 0 if context is None else context.partitionId()
    facts, arrays, items = pack_table(pa.Table.from_batches(filled), packing)
    content = pickle.dumps(arrays)
    yield pa.record_batch(
        {
            "part": pa.array([part], pa.int32()),
            "facts": pa.array([pickle.dumps((zlib.crc32(content), facts))], pa.binary()),
            "content": pa.array([content], pa.binary()),
            "names": one_list(items),
        }
    )


def pack_table(table: Any, packing: Packing) -> tuple[BlockFacts, tuple[NDArray[Any], ...], Any]:
    """Facts, votes (see `blocks_of`) and item names of a block."""
    n_workers, n_classes = packing.n_workers, packing.n_classes
    empty = is_empty_name(table.column("item"))
    nameless = int(empty.sum())
    if nameless:
        table = table.filter(~empty)
    item_n, items = _item_codes(table.column("item"))
    worker_n, label_n, gold_n = (
        _codes(table, name, code_map)
        for name, code_map in (
            ("worker", packing.worker_map), ("label", packing.label_map), ("gold", packing.gold_map),
        )
    )  # fmt: skip
    if packing.voted is not None:
        label_n = np.where(packing.voted[_codes(table, "status")], label_n, -1)
    voted_n = label_n >= 0
    key_m = np.sort(((item_n * n_workers + worker_n) * n_classes + label_n)[voted_n])  # rows arrive in any order
    pair_m, label_m = np.divmod(key_m, n_classes)
    item_m, worker_m = np.divmod(pair_m, n_workers)
    trouble: list[dict[str, Any]] = []

    def labels_differ(earlier: int, later: int) -> None:
        both = [int(label_m[earlier]), int(label_m[later])]
        trouble.append({"item": _text(items, item_m[later]), "worker": int(worker_m[later]), "labels": both})

    def gold_differs(earlier: int, later: int) -> None:
        both = sorted([int(gold_n[earlier]), int(gold_n[later])])
        trouble.append({"item": _text(items, item_n[later]), "gold": both})

    resolved = resolve(
        item_m, worker_m, label_m, n_items=len(items), n_workers=n_workers, policy=packing.repeats, refuse=labels_differ
    )
    gold_i = first_per_item(item_n, gold_n, len(items), gold_differs)
    if resolved.kept_n is not None:
        item_m, worker_m, label_m = (code_m[resolved.kept_n] for code_m in (item_m, worker_m, label_m))
    size = len(items), n_workers, n_classes
    counts = count_part(
        item_m, worker_m, label_m, gold_i, size, lambda code_p: items.take(arrow_view(code_p)).to_pylist()
    )
    facts = BlockFacts(table.num_rows + nameless, resolved.merged, nameless, trouble[:1], counts)
    votes_i = np.bincount(item_m, minlength=len(items))
    kind = np.int32 if n_workers * n_classes <= np.iinfo(np.int32).max else np.int64
    offsets_i = np.concatenate([[0], np.cumsum(votes_i)])
    return facts, ((worker_m * n_classes + label_m).astype(kind), offsets_i.astype(kind), gold_i), items


def _text(items: Any, code: np.integer[Any]) -> str:
    return str(items[int(code)].as_py())


def one_list(values: Any) -> Any:
    """A column with a single row that holds a list of values."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def _item_codes(column: Any) -> tuple[NDArray[np.int64], Any]:
    """The code of each row's item, and the sorted items."""
    import pyarrow.compute as pc

    encoded = column.combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    order_i = pc.sort_indices(encoded.dictionary).to_numpy(zero_copy_only=False)
    place_i = np.empty(len(order_i), dtype=np.int64)
    place_i[order_i] = np.arange(len(order_i))
    return place_i[encoded.indices.to_numpy(zero_copy_only=False)], encoded.dictionary.take(order_i)


def _codes(table: Any, name: str, code_map: NDArray[np.int32] | None = None) -> NDArray[np.int64]:
    code_n = np.asarray(table.column(name).combine_chunks().to_numpy(zero_copy_only=False), dtype=np.int64)
    return code_n if code_map is None else code_map[code_n].astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where each block starts; this determines the codes of its items."""

    part_b: NDArray[np.int64]  # ascending
    item_b: NDArray[np.int64]  # the first item of each block, then the number of items
    seal_b: NDArray[np.int64]  # its checksum
    n_workers: int
    n_classes: int
    has_gold: bool


def blocks_of(batch: Any, places: Places) -> Iterator[Block]:
    """Unpack a batch of rows into blocks: matrix columns of the votes, offsets of the items, and gold labels."""
    for row in range(batch.num_rows):
        part = batch.column("part")[row].as_py()
        index = int(np.searchsorted(places.part_b, part))
        content = batch.column("content")[row].as_buffer()
        if part not in places.part_b or zlib.crc32(content) != places.seal_b[index]:
            raise DataError(CHANGED)
        column_n, offsets_i, gold_i = pickle.loads(content)
        entries = np.ones(len(column_n)), column_n, offsets_i
        size, known_i = (places.n_workers, places.n_classes), gold_i if places.has_gold else None
        yield make_block(index, int(places.item_b[index]), entries, size, gold_i=known_i)


def without_gold(block: Block) -> Block:
    """The block without gold labels, for models that learn from votes alone."""
    return replace(block, gold_i=None)


def votes_of(block: Block) -> Votes:
    """The votes in a block; items and workers are named by their numbers."""
    n_items, n_columns = block.matrix.shape
    n_workers, column_n = n_columns // block.n_classes, block.matrix.indices
    votes_i = np.diff(block.matrix.indptr)
    label_n: IntArray = column_n % block.n_classes
    return Votes(
        item_n=np.repeat(np.arange(n_items, dtype=np.int32), votes_i),
        worker_n=column_n // block.n_classes,
        label_n=label_n,
        offsets_i=block.matrix.indptr,
        items=cast("tuple[Any, ...]", range(n_items)),
        workers=cast("tuple[Any, ...]", range(n_workers)),
        labels=cast("tuple[Any, ...]", range(block.n_classes)),
        account=Account(source="block", rows=len(column_n), votes=len(column_n), repeats="each"),
        gold_i=block.gold_i,
    )


def part_of(block: Block) -> Part:
    """The votes of a block with gold labels, and the block without them, for models."""
    return Part(votes_of(block), block.start, without_gold(block))
