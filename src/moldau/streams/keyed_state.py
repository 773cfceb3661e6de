"""State for each key in Python, on Spark's transformWithState.

Spark keeps state in typed columns, and its conversions are not symmetric: a timestamp is stored as
a datetime and read as a number. So the state here is a single binary column with a pickled Python
value of any type; only the output needs a type.
"""

import pickle
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from moldau.spark.errors import PipelineError
from moldau.streams.durations import Duration, duration, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
    from pyspark.sql.types import DataType, StructType


class ValueState:
    """One value for each key."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, default: Any = None) -> Any:
        kept = self._state.get()
        return default if kept is None else pickle.loads(kept[0])

    def set(self, value: Any) -> None:
        self._state.update((pickle.dumps(value),))

    def clear(self) -> None:
        self._state.clear()


class ListState:
    """A list of values for each key."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def __iter__(self) -> Iterator[Any]:
        for kept in self._state.get():
            yield pickle.loads(kept[0])

    def append(self, value: Any) -> None:
        self._state.appendValue((pickle.dumps(value),))

    def clear(self) -> None:
        self._state.clear()


class MapState:
    """Values by name for each key, which are read and written individually."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, name: str, default: Any = None) -> Any:
        kept = self._state.getValue((name,))
        return default if kept is None else pickle.loads(kept[0])

    def set(self, name: str, value: Any) -> None:
        self._state.updateValue((name,), (pickle.dumps(value),))

    def delete(self, name: str) -> None:
        self._state.removeKey((name,))

    def items(self) -> Iterator[tuple[str, Any]]:
        # All at once: changes during Spark's iteration would mix up its responses.
        kept = [(name[0], pickle.loads(value[0])) for name, value in self._state.iterator()]
        return iter(kept)


class States:
    """Creates the state of a processor, once, in ``init``.

    State that has not been written for ``ttl``, in processing time, is deleted.
    """

    def __init__(self, handle: "StatefulProcessorHandle") -> None:
        from pyspark.sql.types import BinaryType, StringType, StructField, StructType

        self._handle = handle
        self._name = StructType([StructField("name", StringType())])
        self._pickled = StructType([StructField("pickled", BinaryType())])

    def value(self, name: str, *, ttl: Duration | None = None) -> ValueState:
        return ValueState(self._handle.getValueState(name, self._pickled, _ttl_ms(ttl)))

    def list(self, name: str, *, ttl: Duration | None = None) -> ListState:
        return ListState(self._handle.getListState(name, self._pickled, _ttl_ms(ttl)))

    def map(self, name: str, *, ttl: Duration | None = None) -> MapState:
        state = self._handle.getMapState(name, self._name, self._pickled, _ttl_ms(ttl))
        return MapState(state)


def transform(
    rows: "DataFrame",
    keys: list[str],
    processor: "StatefulProcessor",
    returns: "StructType",
    *,
    output_mode: str,
    time_mode: str = "None",
) -> "DataFrame":
    """Run ``processor`` on ``rows`` grouped by ``keys``; it gets timestamps as microseconds.

    Raises:
        PipelineError: a package that Spark needs for it is missing.
    """
    from pyspark.sql import functions as F

    for package in ("pandas", "google.protobuf"):
        if not _is_there(package):
            raise PipelineError(
                f"state in Python needs {package.removeprefix('google.')}: "
                "pip install 'moldau[spark]'"
            )
    if rows.schema["timestamp"].dataType.typeName() == "timestamp":
        rows = rows.withColumn("timestamp", F.unix_micros("timestamp"))
    return rows.groupBy(*keys).transformWithState(processor, returns, output_mode, time_mode)


def struct_type(**types: "DataType | str") -> "StructType":
    """A struct of these fields, with each type as a DataType or as Spark's DDL."""
    from pyspark.sql.types import DataType, StructField, StructType

    return StructType(
        [
            StructField(name, each if isinstance(each, DataType) else DataType.fromDDL(each))
            for name, each in types.items()
        ]
    )


def with_offset(rows: "DataFrame") -> "DataFrame":
    """``rows`` with a column ``offset`` for ordering, which is 0 if there is none."""
    from pyspark.sql import functions as F

    return rows if "offset" in rows.columns else rows.withColumn("offset", F.lit(0).cast("long"))


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _ttl_ms(ttl: Duration | None) -> int | None:
    return None if ttl is None else milliseconds(duration(ttl))
