"""Which items an expert should label, and what the labels prove: questions, designs, learned rules, rates.

May import backends, methods, evidence and results; imported by the pipeline, rendering, web and the command line.
"""
