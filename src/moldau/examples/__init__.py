"""Apps to read, run and begin from; each file stands for itself and says how to run it."""
