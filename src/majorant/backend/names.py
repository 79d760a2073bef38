"""Names of items and workers in a file: written as they are learned, read some at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from majorant.errors import ConfigError, DataError
from majorant.io.table import arrow_view
from majorant.io.values import decode
from majorant.votes import IntArray

PER_GROUP = 1 << 16


class NameWriter:
    """Writes names in the order of their codes, PER_GROUP to a row group, so that a code tells where its name lies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waiting: list[Any] = []
        self.n_waiting = self.n_names = 0
        self.file: Any = None

    def add(self, names: Any) -> None:
        """The next names, an Arrow array; integers of any width are written as 64 bits.  All are of one type."""
        import pyarrow as pa

        if pa.types.is_integer(names.type) and names.type != pa.uint64():
            names = names.cast(pa.int64())
        if self.waiting and names.type != self.waiting[0].type:
            raise TypeError(f"{names.type} after {self.waiting[0].type}")
        self.waiting.append(names)
        self.n_waiting += len(names)
        self.n_names += len(names)
        if self.n_waiting >= PER_GROUP:
            self._write(self.n_waiting // PER_GROUP * PER_GROUP)

    def close(self) -> None:
        """Write what waits and end the file."""
        if self.n_waiting or self.file is None:
            self._write(self.n_waiting)
        self.file.close()

    def _write(self, n_names: int) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        every = pa.concat_arrays(self.waiting) if self.waiting else pa.nulls(0, pa.large_string())
        table = pa.table({"name": every.slice(0, n_names)})
        if self.file is None:
            whole = pa.types.is_integer(every.type)  # differences pack ids that rise, and cost little where they do not
            self.file = pq.ParquetWriter(
                self.path, table.schema, write_page_checksum=True, compression="zstd", use_dictionary=False,
                column_encoding={"name": "DELTA_BINARY_PACKED" if whole else "PLAIN"},
            )  # fmt: skip
        self.file.write_table(table, row_group_size=PER_GROUP)
        self.waiting, self.n_waiting = [every.slice(n_names)], self.n_waiting - n_names


class Names(Sequence[Hashable]):
    """The names in a file, as the user's own values; a few row groups at a time are in memory."""

    def __init__(self, path: Path, n_names: int, kind: str) -> None:
        self.path, self.n_names, self.kind = path, n_names, kind

    def __len__(self) -> int:
        return self.n_names

    @overload
    def __getitem__(self, index: int) -> Hashable: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hashable]: ...
    def __getitem__(self, index: int | slice) -> Hashable | list[Hashable]:
        if isinstance(index, slice):
            start, stop, _ = index.indices(self.n_names)
            return self.take(np.arange(start, stop))
        return self.take(np.array([index % self.n_names]))[0]

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, self.n_names, PER_GROUP):
            yield from self[start : start + PER_GROUP]

    def take(self, code_p: IntArray) -> list[Hashable]:
        """The names of some codes, which must rise."""
        found: list[Hashable] = []
        group_p = np.asarray(code_p) // PER_GROUP
        for group in np.unique(group_p):
            names = self._group(int(group))
            found += decode(names.take(arrow_view(code_p[group_p == group] - group * PER_GROUP)), self.kind)
        return found

    def _group(self, group: int) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path, page_checksum_verification=True) as file:
                column = file.read_row_group(group).column("name")
                return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        except (OSError, pa.ArrowException, IndexError) as error:
            raise damaged(self.path, error) from None


def no_room(folder: Path, error: OSError) -> ConfigError:
    """The error for a folder of our own that cannot be written, with the system's reason."""
    return ConfigError(
        f"Cannot write to {folder}: {error.strerror or error}. Sorting takes some 15 bytes of disk a vote; name a "
        "folder with more room with work='DIR'."
    )


def damaged(path: Path, error: Exception) -> DataError:
    """The error for a file of our own that does not read back as it was written."""
    return DataError(
        f"{path} is damaged ({str(error).splitlines()[0]}). Remove {path.parent} and run again without resume=True."
    )
