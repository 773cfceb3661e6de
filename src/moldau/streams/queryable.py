"""Interactive queries on a table: the latest value of each key of a compacted topic.

The topic is the state. A plain consumer reads it, in any process, whether the app is running or
not: the whole topic the first time, and only new records from then on.

Rules this module keeps:

* A result includes everything that was committed to the topic before the call.
* A record without a value deletes its key.
* It keeps one value for each key in memory, as bytes.
"""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from moldau.client.consumer import Consumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.security import PLAINTEXT, Security
from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.streams.serdes import Serde
from moldau.streams.table import Table
from moldau.streams.topology import Node, Topology
from moldau.streams.windowed_keys import WindowedKey
from moldau.streams.windows import Windows

_POLL_S: Final = 0.5


class AppTable(Table):
    """A table of an app whose values can also be queried."""

    def __init__(
        self,
        topology: Topology,
        node: Node,
        windows: Windows | None = None,
        open_reader: "Callable[[], TableReader] | None" = None,
    ) -> None:
        super().__init__(topology, node, windows)
        # Tables computed from this one are in no topic, and have no reader.
        self._open_reader = open_reader
        self._reader: TableReader | None = None

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the latest value of ``key``; the key of a window is ``(key, start_ms)``.

        Raises:
            PipelineError: the table is not in a topic, or the topic cannot be read.
        """
        with pipeline_errors():
            return self._ask().get(key, default)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every key of the topic with its latest value.

        Raises:
            PipelineError: the table is not in a topic, or the topic cannot be read.
        """
        with pipeline_errors():
            return self._ask().items()

    def _ask(self) -> "TableReader":
        if self._open_reader is None:
            raise PipelineError(
                f"{self.node.name} is in no topic: write it with .to(topic), and ask "
                "app.table(topic)"
            )
        if self._reader is None:
            self._reader = self._open_reader()
        return self._reader


def written_serdes(sink: Node) -> tuple[Serde, Serde] | None:
    """The serdes of ``sink``; None if they depend on the types of its columns."""
    key, value = sink.key_serde, sink.value_serde
    if key is None or value is None or (isinstance(key, WindowedKey) and key.inner is None):
        return None
    return key, value


class TableReader:
    """Reads a topic incrementally, so reuse one for many lookups; thread-safe."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        key: Serde,
        value: Serde,
        *,
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        self.topic = topic
        self._bootstrap = bootstrap
        self._security = security
        self._key = key
        self._value = value
        self._timeout_s = timeout_s
        self._consumer: Consumer | None = None
        self._values: dict[bytes, bytes] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the latest value of ``key``; ``default`` if it has none.

        Raises:
            ApiError: the topic does not exist, or cannot be read.
            ConnectionFailed: no broker can be reached.
        """
        wanted = self._key.dumps(key)
        with self._lock:
            self._catch_up()
            value = self._values.get(wanted)
        return default if value is None else self._value.loads(value)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Every key with its current value."""
        with self._lock:
            self._catch_up()
            values = dict(self._values)
        return ((self._key.loads(key), self._value.loads(each)) for key, each in values.items())

    def close(self) -> None:
        with self._lock:
            self._forget()

    def _catch_up(self) -> None:
        """Read up to the current end of the topic."""
        if self._consumer is None:
            self._consumer = self._open()
        consumer = self._consumer
        ends = consumer.offsets_at(dict.fromkeys(consumer.positions, LATEST))
        if any(ends[each] < position for each, position in consumer.positions.items()):
            # The topic was deleted and created again: the values read so far are invalid.
            self._forget()
            self._catch_up()
            return
        deadline_s = time.monotonic() + self._timeout_s
        while any(position < ends[each] for each, position in consumer.positions.items()):
            for record in consumer.poll(_POLL_S):
                if record.key is None:
                    continue
                if record.value is None:
                    self._values.pop(record.key, None)
                else:
                    self._values[record.key] = record.value
            if time.monotonic() > deadline_s:
                message = f"topic {self.topic} was not read to its end in {self._timeout_s:g} s"
                raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message)

    def _open(self) -> Consumer:
        consumer = Consumer(
            self._bootstrap,
            client_id="moldau-table",
            read_committed=True,
            auto_offset_reset="earliest",
            timeout_s=self._timeout_s,
            security=self._security,
        )
        partitions = consumer.partitions_of(self.topic)
        consumer.assign(consumer.offsets_at(dict.fromkeys(partitions, EARLIEST)))
        return consumer

    def _forget(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = None
        self._values.clear()
