"""Slow, obvious answers for the tests; nothing here imports what it checks."""
