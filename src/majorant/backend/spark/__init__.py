"""Votes in a Spark frame: blocks on the cluster, and what is small beside them."""
