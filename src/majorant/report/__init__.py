"""What a person sees: a summary as plain data, and text and JSON made from it."""
