"""Votes in a Spark frame, packed into blocks on the cluster.

May import what `backend` may; imported only through `as_backend` and the command line.
"""
