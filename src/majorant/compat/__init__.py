"""Other libraries' class names over our methods."""
