"""Apache Avro reads the schemas and the values that our Avro converter writes.

Random structs are written with a registry in this process. Apache Avro (of PySpark's jars) must
take each schema, defaults included, print it as we registered it, read each value, and write the
same bytes again.
"""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.converters.avro import AvroConverter
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct
from tests.compat.clients.programs import UnavailableError, compile_java, require
from tests.compat.connect_java import plain_value
from tests.compat.connect_random import Random
from tests.schema_registry import FakeRegistry

RECORDS = 1500
LIMIT_S = 200
# Some of what is drawn has no place in an Avro schema.
EXPECTED = ("no name in Avro", "have the name", "a default value of")


@pytest.fixture(scope="module")
def command(program_dir: Path) -> list[str]:
    pyspark = pytest.importorskip("pyspark")
    jars = Path(pyspark.__file__).parent / "jars"
    if not list(jars.glob("avro-1.*.jar")):
        pytest.skip(f"no jar of Apache Avro in {jars}")
    try:
        require("java")
        classes = compile_java(program_dir, "AvroCheck", str(jars / "*"))
    except UnavailableError as error:
        pytest.skip(str(error))
    return ["java", "-Xmx256M", "-cp", f"{classes}{os.pathsep}{jars / '*'}", "AvroCheck"]


def without_schemas(schema: Schema | None, value: Any) -> Any:
    """The values inside a struct, with defaults, which Avro writes out."""
    if isinstance(value, Struct):
        fields = value.schema.struct_fields
        return [without_schemas(field.schema, value.get(field)) for field in fields]
    inner = None if schema is None else schema.value_schema
    if isinstance(value, list):
        return [without_schemas(inner, each) for each in value]
    if isinstance(value, dict):
        return {repr(key): without_schemas(inner, each) for key, each in value.items()}
    return plain_value(schema, value)


def test_avro_reads_what_we_write(command: list[str]) -> None:
    draw = Random(51)
    calls, starts = [], []
    with FakeRegistry() as registry:
        converter = AvroConverter()
        converter.configure({"schema.registry.url": registry.url})
        for number in range(RECORDS):
            schema = struct(
                f"n.R{number}", {f"f{at}": draw.schema(2) for at in range(3)}, version=1
            )
            value = Struct.of(schema, [draw.value(field.schema) for field in schema.struct_fields])
            try:
                data = converter.from_connect("topic", (), schema, value)
            except DataError as error:
                if not any(each in str(error) for each in EXPECTED):
                    raise
                continue
            assert data is not None
            text = registry.schemas[int.from_bytes(data[1:5], "big") - 1]["schema"]
            calls.append({"schema": text, "data": base64.b64encode(data[5:]).decode()})
            read_schema, read = converter.to_connect("topic", (), data)
            assert without_schemas(schema, value) == without_schemas(read_schema, read)
            starts.append(data[:5])
    assert len(calls) > RECORDS // 4
    lines = "".join(json.dumps(call) + "\n" for call in calls)
    done = subprocess.run(
        command, input=lines.encode(), capture_output=True, timeout=LIMIT_S, check=True
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(calls)
    for call, start, answer in zip(calls, starts, answers, strict=True):
        assert "error" not in answer, (call, answer)
        # In the same order; JDKs before 19 print floats with more digits.
        ours, avros = (
            json.loads(each["schema"], object_pairs_hook=list) for each in (call, answer)
        )
        assert ours == avros
        # The entries of a map have another order in Java.
        ours, avros = (start + base64.b64decode(each["data"]) for each in (call, answer))
        assert len(ours) == len(avros)
        pairs = (converter.to_connect("topic", (), data) for data in (ours, avros))
        first, second = (without_schemas(*pair) for pair in pairs)
        assert first == second
