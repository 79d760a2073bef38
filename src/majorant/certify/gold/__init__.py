"""The claim from gold labels alone, without a model."""
