"""A synchronous Kafka client: ``Admin``, ``Producer`` and ``Consumer`` on one wire client."""
