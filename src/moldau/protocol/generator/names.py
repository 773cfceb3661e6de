"""Names and types in generated code."""

import re

from moldau.protocol.generator.schema import Field, Message

_SCALARS = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "uuid": "bytes",
}


def snake(name: str) -> str:
    """``ConsumerGroupHeartbeat`` to ``consumer_group_heartbeat``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return spaced.replace("K_Raft", "Kraft").lower()


def function_name(verb: str, struct: str) -> str:
    return f"_{verb}_{snake(struct)}"


def annotation(message: Message, field: Field) -> str:
    """The Python type of the attribute."""
    if field.type == "records":
        # Only responses are sent from files.
        element = "bytes | memoryview" if message.kind == "request" else "Part"
    elif field.struct is not None:
        element = field.struct.name
    else:
        element = _SCALARS.get(field.type, "int")
    kind = f"list[{element}]" if field.is_array else element
    return f"{kind} | None" if field.can_be_null or is_optional(field) else kind


def is_optional(field: Field) -> bool:
    """Whether the default is None: a tagged struct that is not sent is not created.

    A Fetch response has three of them per partition, and almost none is ever sent.
    """
    return (
        field.struct is not None
        and not field.is_array
        and field.tag is not None
        and field.nullable is None
    )


def default_value(field: Field) -> str:
    """An expression that creates the default value."""
    if field.default_is_null or is_optional(field):
        return "None"
    if field.is_array:
        return "[]"
    if field.struct is not None:
        return f"{field.struct.name}()"
    return scalar_default(field)


def scalar_default(field: Field) -> str:
    default = field.default
    match field.type:
        case "bool":
            return "True" if default == "true" else "False"
        case "string":
            return '"' + (default or "") + '"'
        case "bytes" | "records":
            return 'b""'
        case "uuid":
            return "NO_UUID"
        case "float64":
            return default or "0.0"
        case _:
            return default or "0"
