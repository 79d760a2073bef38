"""What was computed, as text, JSON, pages and pictures; nothing is computed here."""
