"""A Spark session for one command: quiet, local by default, and stopped when the command ends."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from majorant.backend.spark.pack import CHANGED
from majorant.errors import ConfigError, DataError


@contextlib.contextmanager
def spark_session(master: str, *, memory: str = "2g", settings: dict[str, str] | None = None) -> Iterator[Any]:
    """Start a Spark session and stop it at the end; if one is already active, use it and leave it running.

    `memory` is for the driver, which does all the work with a master such as local[2].  `settings` are Spark's own.
    """
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the one with majorant
    with tempfile.TemporaryDirectory(prefix="majorant-spark-") as folder:
        log = Path(folder) / "log4j2.properties"
        log_settings = (
            "rootLogger.level = fatal",
            "rootLogger.appenderRef.stderr.ref = stderr",
            "appender.stderr.type = Console",
            "appender.stderr.name = stderr",
            "appender.stderr.target = SYSTEM_ERR",
            "appender.stderr.layout.type = PatternLayout",
            "appender.stderr.layout.pattern = %m%n",
        )
        log.write_text("\n".join(log_settings) + "\n", encoding="utf-8")
        wanted = _settings(master, memory, log, Path(folder)) | (settings or {})
        session = _start(SparkSession.builder.master(master).appName("majorant"), master, wanted)
        try:
            yield session
        finally:
            session.stop()


def require_spark() -> None:
    """Raise an error if a part of Spark is missing, with the command that installs it."""
    least_java = 17
    for package in ("pyspark", "pandas"):  # PySpark needs pandas to exchange Arrow data, although we never use pandas
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"Spark needs the Python package {package}, which is not installed: pip install 'pyspark[sql]>=4'"
            )
    version = java_version()
    if version is None or version < least_java:
        which = "none was found" if version is None else f"this is {version}"
        raise ConfigError(
            f"Spark needs Java {least_java} or newer, and {which}. Install it (Debian: apt install "
            f"openjdk-{least_java}-jre-headless; macOS: brew install openjdk@{least_java}), or set JAVA_HOME."
        )


def java_version() -> int | None:
    """The version of Java that Spark would use; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return None
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    matched = re.search(r'version "(?:1\.)?([0-9]+)', answer.stderr + answer.stdout)
    return int(matched[1]) if matched else None


def _settings(master: str, memory: str, log: Path, folder: Path) -> dict[str, str]:
    local = "127.0.0.1"  # a laptop's host name may not resolve, or may point to another network
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log}",
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
    }
    if master.startswith("local"):
        settings |= {
            # Otherwise half of the startup time is spent on optimising code that runs once.
            "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": local,
            "spark.driver.bindAddress": local,
            "spark.sql.adaptive.enabled": "false",  # planning a pass is a third faster without it
            "spark.sql.shuffle.partitions": str(_cores(master)),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    return settings


def _cores(master: str) -> int:
    """The number of cores of a local master.

    >>> _cores("local"), _cores("local[3,2]")
    (1, 3)
    """
    matched = re.search(r"\[\s*([0-9]+|\*)", master)
    if matched is None:
        return 1
    return os.cpu_count() or 1 if matched[1] == "*" else int(matched[1])


def _start(builder: Any, master: str, settings: dict[str, str]) -> Any:
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _silent():
            return builder.getOrCreate()
    except Exception as error:  # an exception of PySpark, or a Java exception from py4j
        raise ConfigError(f"Spark did not start with master='{master}': {_first_line(error)}") from None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discard what the launcher writes to standard error before it reads the log settings."""
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def spark_errors() -> Iterator[None]:
    """Turn Spark's exceptions into our errors, with the first line of their message."""
    from pyspark.errors import AnalysisException

    no_space = "No space left on device"
    disk_full = ConfigError(
        f"Spark gave up: {no_space}. It sorts votes in its folder for temporary files. Free some space there, or set "
        "SPARK_LOCAL_DIRS to another folder."
    )
    try:
        yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read the votes: {_first_line(error)}") from None
    except OSError as error:  # PySpark writes the data that it sends to a file
        if error.errno != errno.ENOSPC:
            raise
        raise disk_full from error
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        if CHANGED in str(error):
            raise DataError(CHANGED) from None
        if no_space in str(error):
            raise disk_full from error
        raise ConfigError(f"Spark gave up: {_first_line(error)}") from error


def collect(frame: Any) -> Any:
    """Load the rows of a frame into the driver as an Arrow table."""
    with spark_errors():
        return frame.toArrow()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400]
