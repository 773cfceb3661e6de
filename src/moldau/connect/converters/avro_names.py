"""The names that Confluent's converter gives to what Avro has no place for.

Records that Apache's worker wrote with that converter are read here, and the reverse, so the names
are the same.
"""

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = "ConnectDefault"
MAP_ENTRY = "MapEntry"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
ANYTHING = f"{NAMESPACE}.Anything"
RECORD_DOC = f"{NAMESPACE}.record.doc"
FIELD_DOC = f"{NAMESPACE}.field.doc."
ENUM_DOC = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
# Says that a default came from the field of an Avro record and not from ``connect.default``.
FIELD_DEFAULT = f"{NAMESPACE}.field.default"

CONNECT_NAME = "connect.name"
CONNECT_DOC = "connect.doc"
CONNECT_VERSION = "connect.version"
CONNECT_DEFAULT = "connect.default"
CONNECT_PARAMETERS = "connect.parameters"
CONNECT_TYPE = "connect.type"
INTERNAL_TYPE = "connect.internal.type"
PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64


def split_name(full_name: str) -> tuple[str | None, str]:
    """The namespace, or None without one, and the last part of a name."""
    namespace, dot, name = full_name.rpartition(".")
    return (namespace if dot else None), name


def _optional(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": ["null", kind], "default": None}


# Any value without a schema: a record of which at most one field is set.
ANYTHING_SCHEMA: dict[str, object] = {
    "type": "record",
    "name": "Anything",
    "namespace": NAMESPACE,
    "fields": [
        *(_optional(kind, kind) for kind in ("boolean", "bytes", "double", "float")),
        *(_optional(kind, kind) for kind in ("int", "long", "string")),
        _optional("array", {"type": "array", "items": "Anything"}),
        _optional(
            "map",
            {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": MAP_ENTRY,
                    "fields": [
                        {"name": "key", "type": "Anything"},
                        {"name": "value", "type": "Anything"},
                    ],
                },
            },
        ),
    ],
}
