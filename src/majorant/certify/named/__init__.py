"""The claims from confusion matrices: of each worker, of a panel, of all votes with more than two classes."""
