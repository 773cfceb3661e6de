"""The view that is offered for JSON values."""

import json
from typing import Any

from moldau.sql.schema_offer import fields_of, offer


def fields(*values: Any) -> dict[str, str]:
    return {
        ".".join(path): kind
        for path, kind in fields_of([json.dumps(each).encode() for each in values]).items()
    }


def test_each_field_gets_the_type_of_its_samples() -> None:
    assert fields(
        {
            "a": 1,
            "b": 1.5,
            "c": "x",
            "d": True,
            "e": None,
            "f": [1, 2],
            "g": "2026-01-31T12:00:00Z",
            "h": "2026-01-31",
            "i": {"j": 1, "k": {"l": {"m": 1}}},
            "n": [],
            "o": 1 << 70,
        }
    ) == {
        "a": "bigint",
        "b": "double",
        "c": "string",
        "d": "boolean",
        "e": "string",
        "f": "array<bigint>",
        "g": "timestamp",
        "h": "date",
        "i.j": "bigint",
        "i.k.l": "variant",
        "n": "array<string>",
        "o": "decimal(38,0)",
    }


def test_samples_that_differ_get_a_type_that_has_room_for_both() -> None:
    assert fields({"a": 1}, {"a": 1.5}) == {"a": "double"}
    assert fields({"a": 1}, {"a": None}, {"b": 1}) == {"a": "bigint", "b": "bigint"}
    assert fields({"a": "2026-01-31"}, {"a": "soon"}) == {"a": "string"}
    assert fields({"a": 1}, {"a": "x"}) == {"a": "variant"}
    assert fields({"a": [1, "x"]}) == {"a": "variant"}


def test_the_offer_is_a_statement() -> None:
    sample = {"customer": "ann", "odd name": 1, "address": {"customer": "bob"}}
    assert offer("logs.app-1", [json.dumps(sample).encode(), b"no json", None]) == (
        "CREATE TEMPORARY VIEW `logs.app-1_view` AS SELECT\n"
        "  _key,\n"
        "  _timestamp,\n"
        "  value:customer::string AS customer,\n"
        "  variant_get(value, '$[\\'odd name\\']', 'bigint') AS `odd name`,\n"
        "  value:address.customer::string AS address_customer\n"
        "FROM `logs.app-1`"
    )


def test_without_objects_there_is_no_offer() -> None:
    assert offer("t", [b"[1]", b"text", None]) is None
