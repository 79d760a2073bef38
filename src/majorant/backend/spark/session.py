"""A Spark session for one command: quiet, local by default, stopped when the command ends."""

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

LOG_SETTINGS = """rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %m%n
"""


@contextlib.contextmanager
def spark_session(master: str, *, memory: str = "2g", settings: dict[str, str] | None = None) -> Iterator[Any]:
    """A Spark session that is stopped at the end; an active one is used and left running.

    `memory` is the driver's, which with a master such as local[2] is all there is.  `settings` are Spark's own.
    """
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run the Python that has majorant
    with tempfile.TemporaryDirectory(prefix="majorant-spark-") as folder:
        log = Path(folder) / "log4j2.properties"
        log.write_text(LOG_SETTINGS, encoding="utf-8")
        wanted = _settings(master, memory, log, Path(folder)) | (settings or {})
        session = _start(SparkSession.builder.master(master).appName("majorant"), master, wanted)
        try:
            yield session
        finally:
            session.stop()


def require_spark() -> None:
    """Raise an error if a part of Spark is missing, with the command that installs it."""
    least_java = 17
    for package in ("pyspark", "pandas"):  # PySpark hands over Arrow only where pandas is installed; we never use it
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
    """The version of the Java that Spark would start; None without Java."""
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
    local = "127.0.0.1"  # a laptop's host name may not resolve, or resolve to another network
    settings = {
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log}",
        "spark.driver.memory": memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",
    }
    if master.startswith("local"):
        settings |= {
            # Half of the startup time would go into optimising code that runs once.
            "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": local,
            "spark.driver.bindAddress": local,
            "spark.sql.adaptive.enabled": "false",  # a pass is planned in two thirds of the time
            "spark.sql.shuffle.partitions": str(_cores(master)),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    return settings


def _cores(master: str) -> int:
    """The cores of a local master.

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
    except Exception as error:  # PySpark's own, or what Java throws by way of py4j
        raise ConfigError(f"Spark did not start with master='{master}': {_first_line(error)}") from None


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discard what the launcher writes to standard error before it has read the log settings."""
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
    """Turn Spark's exceptions into our own errors, with the first line of the message."""
    from pyspark.errors import AnalysisException

    no_space = "No space left on device"
    disk_full = ConfigError(
        f"Spark gave up: {no_space}. It sorts votes in its folder for temporary files: make room there, or set "
        "SPARK_LOCAL_DIRS to another folder."
    )
    try:
        yield
    except AnalysisException as error:
        raise DataError(f"Spark cannot read the votes: {_first_line(error)}") from None
    except OSError as error:  # from PySpark itself, which writes what it sends to a file
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
    """The rows of a frame as an Arrow table in the driver."""
    with spark_errors():
        return frame.toArrow()


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:400]
