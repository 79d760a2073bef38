"""The class names of crowd-kit, scikit-learn and cleanlab over our methods.

May import reading, methods, results and the pipeline; nothing in the package imports it.
"""
