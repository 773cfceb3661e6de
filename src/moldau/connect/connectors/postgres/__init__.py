"""Change data capture from PostgreSQL, in the envelopes of Debezium."""
