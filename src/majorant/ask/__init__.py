"""Gold by design: which items an expert should label, and exact statements from what the expert says."""
