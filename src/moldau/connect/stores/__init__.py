"""The internal topics of Connect: configurations, statuses and source offsets, in Kafka's JSON."""
