"""Everything a person reads: a summary as plain data, and text, JSON, HTML and figures made from it.

May import the pipeline and all result types; imported by the command line and the web page.
"""
