"""Generates Python modules from the text schema; ``schema.py`` describes its syntax."""
