"""An engine whose code is loaded in the background, so that the REST API answers before it.

PySpark and PyArrow take longer to import than all the rest of a worker together.
"""

import logging
import threading
from collections.abc import Callable, Iterable

from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import ConnectorSpec, Engine

log = logging.getLogger(__name__)


class LateEngine:
    """Stands for the engine that ``make`` returns, which is called after ``start``."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._engine: Engine | None = None
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._begin, name="connect-engine", daemon=True)

    @property
    def is_ready(self) -> bool:
        return self._engine is not None and self._engine.is_ready

    def start(self) -> None:
        self._thread.start()

    def _begin(self) -> None:
        try:
            engine = self._make()
            engine.start()
            self._engine = engine
        except Exception as error:
            log.exception("The engine cannot start")
            self._problem = error

    def run(self, spec: ConnectorSpec) -> None:
        self._made().run(spec)

    def pause(self, name: str, timeout_s: float = 5.0) -> None:
        self._made().pause(name, timeout_s)

    def stop(self, name: str, timeout_s: float = 5.0) -> None:
        # Before the engine is there, nothing runs in it.
        if self._engine is not None:
            self._engine.stop(name, timeout_s)

    def restart(self, name: str) -> None:
        self._made().restart(name)

    def running(self) -> Iterable[str]:
        return () if self._engine is None else self._engine.running()

    def close(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
        if self._engine is not None:
            self._engine.close()

    def _made(self) -> Engine:
        self._thread.join()
        if self._engine is None:
            raise ConnectError(f"the engine could not start: {self._problem}") from self._problem
        return self._engine
