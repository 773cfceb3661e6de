"""One row of the tables of APIs: what a listener serves, and where its handler is found."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from moldau.broker.dispatch import Handle, Handler
from moldau.protocol.api import APIS

# The object that has the handlers of a listener as attributes.
Handlers = TypeVar("Handlers")


class ServedApi(NamedTuple, Generic[Handlers]):
    """An API with its versions. ``find`` picks its handler out of those of a node.

    If ``is_rare``, it does so at each request: the first one imports the handler and its messages,
    in about a millisecond, so that a node starts without them.
    """

    name: str
    key: int
    find: Callable[[Handlers], Callable[[Any, Any], Any]]
    is_advertised: bool = True
    is_forwarded: bool = False
    is_rare: bool = False

    @property
    def min_version(self) -> int:
        return APIS[self.key].min_version

    @property
    def max_version(self) -> int:
        return APIS[self.key].newest_stable_version

    def handler(self, handlers: Handlers) -> Handler:
        handle: Handle = self._found_late(handlers) if self.is_rare else self.find(handlers)
        return Handler(self.name, self.key, handle, self.is_advertised, self.is_forwarded)

    def _found_late(self, handlers: Handlers) -> Handle:
        return lambda request, context: self.find(handlers)(request, context)
