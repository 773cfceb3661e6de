"""Records and headers."""

import pickle

import pytest

from moldau.connect.data.headers import Header, last_with_name, without
from moldau.connect.data.inference import infer_schema
from moldau.connect.data.record import ConnectRecord, SinkRecord, SourceRecord
from moldau.connect.data.schema import INT32, STRING, array, map_of, struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8


def test_a_copy_has_other_attributes_and_leaves_the_record() -> None:
    record = SinkRecord("a", 3, STRING, "k", INT32, 5, 17, [Header("h", None, 1)], offset=9)
    copy = record.replace(topic="b", partition=None, value=6)
    assert (copy.topic, copy.partition, copy.value, copy.key) == ("b", None, 6, "k")
    assert (record.topic, record.partition, record.value) == ("a", 3, 5)
    assert type(copy) is SinkRecord
    assert copy.headers is record.headers


def test_where_a_record_was_read_outlives_transforms() -> None:
    copy = SinkRecord("a", 3, offset=9).replace(topic="b", partition=0)
    assert (copy.original_topic, copy.original_partition, copy.offset) == ("a", 3, 9)


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(AttributeError, match="a ConnectRecord has no attribute topics"):
        ConnectRecord("a").replace(topics="b")


def test_records_can_be_pickled() -> None:
    schema = struct("S", {"a": INT32})
    record = SourceRecord(
        "a",
        value_schema=schema,
        value=Struct(schema, {"a": 1}),
        source_partition={"file": "x"},
        source_offset={"position": 5},
    )
    assert pickle.loads(pickle.dumps(record)) == record


def test_the_last_header_of_a_name_counts() -> None:
    headers = [Header("a", None, 1), Header("b", None, 2), Header("a", None, 3)]
    assert last_with_name(headers, "a") == Header("a", None, 3)
    assert last_with_name(headers, "c") is None
    assert without(headers, ["a", "c"]) == [Header("b", None, 2)]


def test_schemas_are_inferred_from_classes() -> None:
    assert infer_schema([Int8(1), None]) == array(infer_schema(Int8(1)).optional())  # type: ignore
    assert infer_schema({"a": 1}) == map_of(STRING, infer_schema(1))  # type: ignore[arg-type]
    assert infer_schema([1, Float32(1)]) is None
    assert infer_schema([]) is None
    assert infer_schema(2**70) is None
    assert infer_schema(object()) is None
