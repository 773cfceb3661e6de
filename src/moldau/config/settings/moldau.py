"""Settings that only Moldau has."""

from typing import Final

MOLDAU: Final = """
moldau.failure.detection.enable BOOLEAN true any MEDIUM read-only honoured
  Whether a node that closes all connections and refuses new ones counts as dead at once.
"""
