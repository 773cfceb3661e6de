"""Moldau: a distributed, replicated commit log that every Kafka client can use."""

__version__ = "0.1.0"
