"""Arguments as the command line spells them: the library speaks of `repeats='first'`, a terminal of --repeats first."""

from __future__ import annotations

from majorant.errors import respell

_READING = "item worker label gold gold_file status seconds by columns wide repeats empty format delimiter encoding"
_SHAPES = "workers sheet several allow_network order threshold"
FLAGS = {
    **{name: f"--{name.replace('_', '-')}" for name in f"{_READING} {_SHAPES} max_classes threads".split()},
    **{
        name: f"--{name}"
        for name in ("memory", "work", "resume", "design", "master", "method", "state", "level", "target")
    },
    "rng": "--seed",
    "compare_all": "--compare",
    "price_per_vote": "--price",
    "max_votes": "--max-votes",
    "max_upload": "--max-upload",
}
NONE = "none"  # how a terminal says that there is no such column


def as_flags(text: str) -> str:
    """A message of the library in the words of the command line.

    >>> as_flags("Say which with item='NAME', or choose with repeats='first'|'last'. One column per worker: wide=True.")
    'Say which with --item NAME, or choose with --repeats first|last. One column per worker: --wide.'
    >>> as_flags("Leave one out: gold='' ignores the column. Allow more with max_classes=.")
    'Leave one out: --gold none ignores the column. Allow more with --max-classes.'
    >>> as_flags("votes.csv has no column 'item=1' to take for the item.")
    "votes.csv has no column 'item=1' to take for the item."
    """
    return respell(text, FLAGS, _flag)


def _flag(name: str, values: list[str]) -> str:
    if not values:
        return FLAGS[name]
    return f"{FLAGS[name]} {'|'.join(values) or NONE}"
