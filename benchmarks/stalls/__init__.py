"""Can one client keep the others waiting? Attacks on a real broker, with a probe beside each.

``make stalls`` runs the whole list; CONTRIBUTING.md says how to add to it.
"""
