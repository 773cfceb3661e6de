"""What a session of SQL needs to know: the cluster, the registry, and where the user is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from moldau.client.security import Security


class SqlSettings(NamedTuple):
    """The settings of one user's session; ``security`` has Kafka's names, as in a client file."""

    bootstrap: str
    security: Mapping[str, str] = {}
    registry: str | None = None
    # Relative paths of files are relative to it.
    directory: str = "."
    # The REST API of a Connect worker, for queries that live on there.
    worker: str = "http://localhost:8083"
    time_zone: str | None = None
    timeout_s: float = 30.0

    def parsed_security(self) -> "Security":
        """Raises ValueError if a setting is invalid; the message has no secret."""
        # Imported late: `moldau sql -e` only passes the settings on.
        from moldau.client.security import parse_security

        return parse_security(self.security)

    def source_options(self) -> dict[str, str]:
        """The options of ``format("moldau")`` that reach the cluster."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "kafka.request.timeout.ms": str(max(1, int(self.timeout_s * 1000))),
            **{f"kafka.{name}": value for name, value in self.security.items()},
        }

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "security": dict(self.security)}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "SqlSettings":
        return SqlSettings(**values)
