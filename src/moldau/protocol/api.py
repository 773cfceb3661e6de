"""The table of APIs by key: names, versions, and message classes.

Message modules are imported when they are first used, so that a broker does not load the
messages of APIs that no client calls.
"""

from importlib import import_module
from typing import Final, cast

from moldau.protocol.api_table import API_ROWS
from moldau.protocol.message import Message


class Api:
    """One row of the table."""

    __slots__ = (
        "_request_class",
        "_response_class",
        "first_flexible",
        "key",
        "latest_unstable",
        "listeners",
        "max_version",
        "min_version",
        "module",
        "name",
    )

    def __init__(
        self,
        key: int,
        name: str,
        min_version: int,
        max_version: int,
        first_flexible: int,
        latest_unstable: bool,
        listeners: tuple[str, ...],
        module: str,
    ) -> None:
        self.key = key
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.first_flexible = first_flexible
        # The newest version is not advertised to clients by default.
        self.latest_unstable = latest_unstable
        # "broker", "controller" or both.
        self.listeners = listeners
        self.module = module
        self._request_class: type[Message] | None = None
        self._response_class: type[Message] | None = None

    def is_flexible(self, version: int) -> bool:
        """Whether ``version`` has compact strings and tagged fields, headers included."""
        return 0 <= self.first_flexible <= version

    @property
    def newest_stable_version(self) -> int:
        """The newest version that is offered and used, as in Kafka."""
        return self.max_version - 1 if self.latest_unstable else self.max_version

    def request_class(self) -> type[Message]:
        if self._request_class is None:
            self._request_class = self._load("Request")
        return self._request_class

    def response_class(self) -> type[Message]:
        if self._response_class is None:
            self._response_class = self._load("Response")
        return self._response_class

    def _load(self, kind: str) -> type[Message]:
        module = import_module(f"moldau.protocol.messages.{self.module}")
        return cast(type[Message], getattr(module, self.name + kind))

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name}, {self.min_version}-{self.max_version})"


APIS: Final[dict[int, Api]] = {row[0]: Api(*row) for row in API_ROWS}
