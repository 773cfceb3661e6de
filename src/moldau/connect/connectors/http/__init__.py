"""The sink of HTTP requests."""
