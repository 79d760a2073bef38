"""`python -m paper`."""

from majorant.cli import run
from paper.command import reproduce

run(reproduce, "python -m paper")
