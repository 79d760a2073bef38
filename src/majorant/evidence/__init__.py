"""Evidence about two rules: the Evidence type and the engines that produce it.

May import methods and theory; imported by `decide`, `ask`, results, the pipeline and rendering.
"""
