"""Moldau: a distributed, replicated commit log that every Kafka client can use.

The public API of the package (docs/api.md):

* the names in ``__all__`` below, which are the most used names of ``moldau.client``;
* ``moldau.client``: a Kafka client;
* ``moldau.spark``: topics as Apache Spark DataFrames;
* ``moldau.streams``: applications of streams and tables on Spark.

Everything else is private and may change in any release. Importing this package imports none of
the above: a name is loaded when it is first used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.client import (
        Admin,
        ApiError,
        ConnectionFailed,
        Consumer,
        ConsumerRecord,
        ErrorCode,
        GroupConsumer,
        Producer,
        Security,
        SecurityError,
        TopicPartition,
        parse_security,
    )
else:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from moldau import client

        value = getattr(client, name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


from moldau.compiled import choose
from moldau.version import VERSION

# Before anything else of the package is imported.
choose()

__version__ = VERSION

__all__ = [
    "Admin",
    "ApiError",
    "ConnectionFailed",
    "Consumer",
    "ConsumerRecord",
    "ErrorCode",
    "GroupConsumer",
    "Producer",
    "Security",
    "SecurityError",
    "TopicPartition",
    "__version__",
    "parse_security",
]
