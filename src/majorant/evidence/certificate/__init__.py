"""Is majority vote optimal for these votes: proved, supported, refuted, or not to be told."""
