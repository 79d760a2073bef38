"""What follows from a fit: labels, workers, judges, review list, plan, agreement, comparison.

May import evidence and methods; imported by the pipeline and rendering.
"""
