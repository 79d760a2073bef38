"""`majorant data`: the public data sets."""

from __future__ import annotations

import click


@click.group()
def data() -> None:
    """List and fetch public data sets."""
