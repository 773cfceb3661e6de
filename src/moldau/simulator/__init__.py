"""Whole clusters in one process: virtual time, network and disk under the real node.

One seed decides everything that happens, so a failure is replayed by its seed: ``world`` keeps the
time, ``loop`` runs the code of one machine, ``network`` and ``disk`` fail as real ones do.
"""
