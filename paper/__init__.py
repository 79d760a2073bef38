"""The paper reproduced, one file per table and figure: the printed numbers, ours, and why they differ.

An item is a function from a `Context` to an `Outcome` of cells and figures (`item.py`); `registry.py` lists them,
`run.py` runs them and stores the results, `page.py` shows them.  The printed numbers are in `expected/`.
"""
