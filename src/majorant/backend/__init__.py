"""The same blocks elsewhere: files larger than memory, a cluster."""
