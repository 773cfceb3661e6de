"""Benchmarks of Moldau and Apache Kafka with the same clients on the same machine, alternately.

``python -m benchmarks`` (or ``make bench``) prints one table and writes it to benchmarks/results.
A figure depends on the machine; the ratio to Apache Kafka in the same run is more meaningful.
"""
