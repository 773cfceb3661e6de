"""Example apps to read, run and start from; each file explains how to run it."""
