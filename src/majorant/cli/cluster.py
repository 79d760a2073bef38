"""Votes on a cluster: --engine spark, and which one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from majorant.cli.progress import at_work
from majorant.cli.source import DATASET, Source
from majorant.errors import ConfigError

if TYPE_CHECKING:
    from majorant.backend.spark.backend import SparkBackend

Command = Callable[..., Any]
_OPTIONS = (
    click.option(
        "--engine", type=click.Choice(["memory", "spark"]), default="memory", show_default=True, help="Where to work."
    ),
    click.option(
        "--master", metavar="URL", help="With --engine spark: Spark's master, local[2] for two cores here.  [local[*]]"
    ),
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster to work on."""

    master: str

    @contextlib.contextmanager
    def backend(self, source: Source) -> Iterator[SparkBackend]:
        """The votes of the files as blocks on the cluster, which go at the end."""
        from majorant.backend.spark.backend import SparkBackend
        from majorant.backend.spark.files import read_votes, spark_errors
        from majorant.backend.spark.session import spark_session

        if source.file[0].startswith(DATASET):
            raise ConfigError(f"{source.file[0]} fits into memory: leave out --engine spark.")
        with at_work("Spark", quiet=source.quiet), spark_session(self.master) as spark, spark_errors():
            votes = read_votes(spark, source.file, source.options)
            try:
                yield SparkBackend(votes)
            finally:
                votes.close()


def cluster_options(command: Command) -> Command:
    """Give a command --engine and --master; it receives them as `cluster`, None in memory."""

    def with_cluster(**values: Any) -> Any:
        engine, master = values.pop("engine"), values.pop("master")
        if engine == "memory" and master is not None:
            raise ConfigError("--master goes with --engine spark.")
        return command(cluster=Cluster(master or "local[*]") if engine == "spark" else None, **values)

    with_cluster.__name__, with_cluster.__doc__ = command.__name__, command.__doc__
    with_cluster.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        with_cluster = option(with_cluster)
    return with_cluster
