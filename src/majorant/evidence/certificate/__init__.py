"""Certificates: whether majority vote is as good as the best rule of a family, by models whose assumptions are tested.

May import methods, theory and `evidence.evidence`; imported by the pipeline, results and rendering.
"""
