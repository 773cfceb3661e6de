"""The errors of connectors, converters and transforms.

Each one knows the name of Kafka's exception for the same condition. Dead-letter headers and status
traces carry that name, so that what a user filters for with Apache's worker is found here as well.
"""

from typing import ClassVar


class ConnectError(Exception):
    """Something failed in Connect; the base of all its errors."""

    java_class: ClassVar[str] = "org.apache.kafka.connect.errors.ConnectException"


class DataError(ConnectError):
    """A record or a schema is not what it should be. Retrying does not help."""

    java_class = "org.apache.kafka.connect.errors.DataException"


class SchemaBuilderError(DataError):
    """A schema cannot be built from the given parts, such as a default value of another type."""

    java_class = "org.apache.kafka.connect.errors.SchemaBuilderException"


class SchemaProjectorError(DataError):
    """A value cannot be read with another schema than its own."""

    java_class = "org.apache.kafka.connect.errors.SchemaProjectorException"


class SerializationError(ConnectError):
    """Bytes cannot be read as, or a value cannot be written in, the format of a serializer."""

    java_class = "org.apache.kafka.common.errors.SerializationException"


class RetriableError(ConnectError):
    """The operation failed for a reason that may pass; it can be repeated as it was."""

    java_class = "org.apache.kafka.connect.errors.RetriableException"
