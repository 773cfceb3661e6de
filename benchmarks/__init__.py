"""Moldau next to Apache Kafka: the same clients, the same machine, turn by turn.

``python -m benchmarks`` (or ``make bench``) prints one table and writes it to benchmarks/results.
A figure of one machine says little; the ratio to Apache Kafka measured in the same run says more.
"""
