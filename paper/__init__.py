"""The paper again, a file per table and figure: what it printed, what comes out here, and why they differ.

An item is a function from a `Context` to an `Outcome` of cells and figures (`item.py`); `registry.py` names them all,
`run.py` runs them and keeps what is finished, `page.py` shows it.  The printed numbers are in `expected/`.
"""
