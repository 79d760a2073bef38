"""`python -m reproduction`."""

from majorant.cli import run
from reproduction.command import reproduce

run(reproduce, "python -m reproduction")
