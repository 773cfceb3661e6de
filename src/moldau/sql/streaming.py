"""``SELECT ... FROM STREAM t``: passes on rows as records come, until it is cancelled.

The query keeps no progress: its checkpoint is deleted when it ends. Rows of a stream without
aggregates are appended; of an aggregate, the groups that have changed are shown again (Spark's
output mode update), or all of them where only that is possible (complete).
"""

import shutil
import tempfile
import threading
from typing import TYPE_CHECKING, Any, Final

from moldau.sql.rendering import PIECE_ROWS, as_text, columns_of
from moldau.sql.results import Form, Sink

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_TRIGGER: Final = "200 milliseconds"
_POLL_S: Final = 0.05
_MODES: Final = ("append", "update", "complete")


class StreamRun:
    """One streaming query of a session."""

    def __init__(self, frame: "DataFrame", form: Form, sink: Sink, limit: int | None) -> None:
        self._frame = frame
        self._form = form
        self._sink = sink
        self._left = limit
        self._enough = threading.Event()
        self._has_columns = threading.Event()

    def run(self, cancelled: threading.Event) -> None:
        """Run until ``cancelled``, or until as many rows were passed on as the LIMIT allows.

        Raises:
            StreamingQueryException: of PySpark; the query failed.
            AnalysisException: of PySpark; it cannot run as a stream.
        """
        checkpoint = tempfile.mkdtemp(prefix="moldau-sql-")
        try:
            self._watch(self._start(checkpoint), cancelled)
        finally:
            shutil.rmtree(checkpoint, ignore_errors=True)

    def _watch(self, query: "StreamingQuery", cancelled: threading.Event) -> None:
        try:
            # Not before it has started: of a query that is refused only the error is shown.
            if self._form is not Form.JSON:
                self._sink.columns(columns_of(self._frame))
            self._has_columns.set()
            is_announced = False
            while not (cancelled.is_set() or self._enough.is_set()):
                if query.awaitTermination(_POLL_S):  # type: ignore[arg-type]  # or a fraction
                    return
                if self._enough.is_set():
                    return
                # The first progress has the offsets from which records are read.
                if not is_announced and query.lastProgress is not None:
                    is_announced = True
                    self._sink.note("waiting for records; Ctrl-C ends the query")
        finally:
            self._has_columns.set()
            query.stop()

    def _start(self, checkpoint: str) -> "StreamingQuery":
        from pyspark.errors import AnalysisException

        first: AnalysisException | None = None
        for mode in _MODES:
            writer: Any = self._frame.writeStream.foreachBatch(self._show)
            writer = writer.outputMode(mode).trigger(processingTime=_TRIGGER)
            try:
                query: StreamingQuery = writer.option("checkpointLocation", checkpoint).start()
            except AnalysisException as error:
                first = first or error
                if not _is_of_mode(error):
                    raise
            else:
                return query
        assert first is not None
        raise first

    def _show(self, batch: "DataFrame", _: int) -> None:
        rows = as_text(batch, self._form).collect()
        self._has_columns.wait()
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        for start in range(0, len(rows), PIECE_ROWS):
            piece = rows[start : start + PIECE_ROWS]
            if self._form is Form.JSON:
                self._sink.lines([row[0] for row in piece])
            else:
                self._sink.rows([tuple(row) for row in piece])
        if self._left == 0:
            self._enough.set()


def _is_of_mode(error: "AnalysisException") -> bool:
    """Whether another output mode may be possible. Some of these errors have no condition."""
    return "OUTPUT_MODE" in (error.getCondition() or "") or "output mode" in str(error)
