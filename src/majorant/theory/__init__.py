"""Exact mathematics of majority vote and the optimal rule: small arrays in, numbers out."""
