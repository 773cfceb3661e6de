"""Record bodies, a module per log they are found in."""
