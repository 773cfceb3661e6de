"""Converters between the bytes of a topic and the values of Connect, one module for each format."""
