"""Sinks to files and tables of data lakes: Parquet, Delta and Iceberg."""
