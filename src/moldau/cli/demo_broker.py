"""A broker within this process, for the time of a demonstration.

It has its own thread and event loop, and a port that the operating system picks. The caller removes
its data directory. The broker ends with the process, however that ends.
"""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from moldau.broker.node import Node
from moldau.config.broker import BrokerConfig

_HOST: Final = "127.0.0.1"
_PATIENCE_S: Final = 60.0


class DemoBroker:
    """Use as a context manager; ``bootstrap`` is where clients connect."""

    def __init__(self, data_dir: Path) -> None:
        properties = {
            "log.dirs": str(data_dir),
            "listeners": f"PLAINTEXT://{_HOST}:0,CONTROLLER://{_HOST}:0",
            "advertised.listeners": f"PLAINTEXT://{_HOST}:0",
            # There are no other members that a group should wait for.
            "group.initial.rebalance.delay.ms": "0",
        }
        self._config = BrokerConfig.from_properties(properties)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="broker", daemon=True)
        self._node: Node

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self._node.ports['PLAINTEXT']}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._call(self._node.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_S)
        self._loop.close()

    async def _start(self) -> None:
        self._node = Node(self._config)
        await self._node.start()

    def _call(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_PATIENCE_S)
