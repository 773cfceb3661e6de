"""Runs connectors on Apache Spark: one session, one streaming query for each connector."""
