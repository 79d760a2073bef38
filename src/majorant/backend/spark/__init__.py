"""Votes in a Spark frame: `pip install 'majorant[spark]'`, Java 17, and a frame with a row for each vote."""

from majorant.backend.spark.frames import Columns, encode
from majorant.backend.spark.lines import SparkFit, SparkTally, aggregate, certify, methods, tally, workers
from majorant.backend.spark.session import spark_session
from majorant.backend.spark.votes import SparkVotes

__all__ = [
    "Columns",
    "SparkFit",
    "SparkTally",
    "SparkVotes",
    "aggregate",
    "certify",
    "encode",
    "methods",
    "spark_session",
    "tally",
    "workers",
]
