"""Choose items for an expert to label and evaluate the labels: questions, designs, learned rules, rates.

May import methods, evidence and results; imported by the pipeline, rendering, web and the command line.
"""
