"""From fits to decisions: the labels, who is good, what to look at."""
