"""Our methods behind the interfaces of crowd-kit, scikit-learn and Inspect.

May import reading, methods, results and the pipeline; nothing in the package imports it.
"""
