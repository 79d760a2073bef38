"""`df.majorant.check()`: importing this module makes majorant's functions an accessor of pandas frames.

>>> import pandas as pd
>>> import majorant.pandas
>>> frame = pd.DataFrame({"item": [1, 1, 1], "worker": ["a", "b", "c"], "label": ["yes", "no", "yes"]})
>>> frame.majorant.aggregate("majority").labels()
['yes']
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from majorant.errors import ConfigError

try:
    from pandas.api.extensions import register_dataframe_accessor
except ImportError:
    raise ConfigError("majorant.pandas needs pandas: pip install pandas.") from None

__all__ = ["MajorantAccessor"]


def _method(name: str) -> Callable[..., Any]:
    def call(self: MajorantAccessor, *args: Any, **named: Any) -> Any:
        return getattr(importlib.import_module("majorant"), name)(self._frame, *args, **named)

    call.__name__ = name
    call.__doc__ = f"`majorant.{name}` with the votes of this frame; see `help(majorant.{name})` for the arguments."
    return call


@register_dataframe_accessor("majorant")
class MajorantAccessor:
    """Votes in a frame: `df.majorant.check()`, `.aggregate()`, `.workers()`, `.judges(gold=...)`, ..."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    read = _method("read")
    check = _method("check")
    aggregate = _method("aggregate")
    compare = _method("compare")
    workers = _method("workers")
    judges = _method("judges")
    agreement = _method("agreement")
    rate = _method("rate")
    plan = _method("plan")
    ask = _method("ask")
