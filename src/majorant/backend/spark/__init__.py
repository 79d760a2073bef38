"""Votes in a Spark data frame, packed into blocks on the cluster.

May import what `backend` may; imported only by `as_backend` and the command line.
"""
