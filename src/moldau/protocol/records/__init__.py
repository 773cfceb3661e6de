"""Record bodies, one module per log."""
