"""What a person sees: a summary as plain data, and text, JSON and figures made from it."""
