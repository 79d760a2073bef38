"""Leave out the doctests of a module whose optional package is not installed; any other import error fails the run."""

from importlib.util import find_spec

NEEDS = {"src/majorant/compat/inspect_ai.py": "inspect_ai", "src/majorant/web/app.py": "starlette"}
collect_ignore = [path for path, package in NEEDS.items() if find_spec(package) is None]
