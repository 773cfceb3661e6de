"""Can one client delay the others? Attacks on a real broker, each measured by a probe.

``make stalls`` runs all of them; CONTRIBUTING.md describes how to add one.
"""
