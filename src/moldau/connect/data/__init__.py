"""Connect's data model: schemas, values and records, as in Kafka's
``org.apache.kafka.connect.data``.
"""
