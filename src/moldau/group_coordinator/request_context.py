"""What the group coordinator must know about a request besides its body."""

from typing import NamedTuple


class GroupRequestContext(NamedTuple):
    """As in Kafka, hosts begin with a slash."""

    api_version: int
    client_id: str
    client_host: str
