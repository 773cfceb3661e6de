"""Tables of PostgreSQL and SQLite as sinks and polled sources, with Confluent's options."""
