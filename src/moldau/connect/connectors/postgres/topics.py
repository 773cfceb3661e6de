"""Names of topics, and so of schemas, as Debezium forms them (pure)."""

import re
from dataclasses import dataclass
from typing import Final

_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9._\-]")


@dataclass(frozen=True)
class Topics:
    """``prefix.schema.table``, with underscores where Kafka allows no such character."""

    prefix: str
    delimiter: str = "."
    heartbeat_prefix: str = "__debezium-heartbeat"

    def of_table(self, schema: str, table: str) -> str:
        return _ILLEGAL.sub("_", self.delimiter.join((self.prefix, schema, table)))

    @property
    def heartbeat(self) -> str:
        return _ILLEGAL.sub("_", self.delimiter.join((self.heartbeat_prefix, self.prefix)))

    @property
    def messages(self) -> str:
        """The topic of logical messages."""
        return _ILLEGAL.sub("_", self.delimiter.join((self.prefix, "message")))
