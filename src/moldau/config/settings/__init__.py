"""Every setting that Apache Kafka 4.3 has, by theme, as text tables."""
