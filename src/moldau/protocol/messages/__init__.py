"""Requests and responses, a module per API."""
