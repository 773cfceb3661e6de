"""Generates whole modules: classes, their functions, imports, and the table of APIs."""

import re
from collections.abc import Sequence

from moldau.protocol.generator.code import indent
from moldau.protocol.generator.decoder import read_function
from moldau.protocol.generator.encoder import write_function
from moldau.protocol.generator.layout import Scope, scopes_of
from moldau.protocol.generator.names import (
    annotation,
    default_value,
    function_name,
    is_optional,
    snake,
)
from moldau.protocol.generator.schema import Field, Message, SchemaFile

_IMPORTS = {
    "typing": r"ClassVar",
    "librt.strings": r"BytesWriter|(?:read|write)_[if]\d\d_be",
    "mypy_extensions": r"i64",
    "moldau.ids": r"NO_UUID",
    "moldau.protocol.file_region": r"Part",
    "moldau.protocol.giving_way": r"give_way",
    "moldau.protocol.message": r"NO_ITEMS|PackedRows|Struct|Message",
    "moldau.protocol.reading": (
        r"LONG_RUN|MalformedMessage|malformed|unknown_version|wrong_tag_size|skip_tags|"
        r"read_(?:u?varint|i8|u16|u32|uuid|tag|(?:compact_)?(?:nullable_)?"
        r"(?:string|bytes|records|count)|rows|(?:i8|i16|i32|i64|uuid|string|compact_string)_list)"
    ),
    "moldau.protocol.writing": (
        r"unsupported_version|unsupported_field|null_field|"
        r"write_(?:u?varint|bool|i8|u16|u32|uuid|tag|(?:compact_)?(?:nullable_)?"
        r"(?:string|bytes|records|rows)|(?:i8|i16|i32|i64|uuid|string|compact_string)_list)"
    ),
}
_SECTIONS = (("typing",), ("librt.strings", "mypy_extensions"))


def _import_line(module: str, names: Sequence[str]) -> str:
    text = f"from {module} import {', '.join(names)}"
    if len(text) <= 100:
        return text
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def _sort_key(name: str) -> tuple[int, list[tuple[int, str]]]:
    """Constants, classes, functions, and i8 before i32: the order that ruff sorts names in."""
    rank = 0 if name.isupper() else 1 if name[0].isupper() else 2
    words = [(int(word), "") if word.isdigit() else (0, word) for word in re.split(r"(\d+)", name)]
    return rank, words


def imports(text: str) -> str:
    """The import lines that ``text`` needs."""
    blocks: dict[int, list[str]] = {}
    for module, pattern in _IMPORTS.items():
        found = set(re.findall(rf"(?<![\w.\"])(?:{pattern})(?![\w\"])", text))
        if found:
            section = next((i for i, s in enumerate(_SECTIONS) if module in s), len(_SECTIONS))
            lines = blocks.setdefault(section, [])
            lines.append(_import_line(module, sorted(found, key=_sort_key)))
    return "\n\n".join("\n".join(blocks[section]) for section in sorted(blocks))


def _has_default_sentinel(field: Field) -> bool:
    """Whether None cannot mean "not given": a nullable struct whose default is not null."""
    return (
        field.struct is not None
        and not field.is_array
        and field.nullable is not None
        and not field.default_is_null
    )


def _sentinel(field: Field) -> str:
    assert field.struct is not None
    return f"_NO_{snake(field.struct.name).upper()}"


def _parameter(message: Message, field: Field) -> tuple[str, str]:
    """The constructor's parameter, and the assignment of the attribute."""
    name, kind = field.name, annotation(message, field)
    default = default_value(field)
    if default == "[]":
        held = f"_{name}: {kind}" if field.is_packed else name
        return f"{name}: {kind} = NO_ITEMS", f"self.{held} = [] if {name} is NO_ITEMS else {name}"
    if _has_default_sentinel(field):
        given = f"{default} if {name} is {_sentinel(field)} else {name}"
        return f"{name}: {kind} = {_sentinel(field)}", f"self.{name}: {kind} = {given}"
    if field.struct is not None and not field.default_is_null and not is_optional(field):
        given = f"{default} if {name} is None else {name}"
        return f"{name}: {kind} | None = None", f"self.{name} = {given}"
    return f"{name}: {kind} = {default}", f"self.{name} = {name}"


def _body(message: Message, fields: Sequence[Field]) -> list[str]:
    """The common part of structs and messages."""
    names = ", ".join(f'"{field.name}"' for field in fields) + ("," if len(fields) == 1 else "")
    packed = [f"packed_{field.name}" for field in fields if field.is_packed]
    held = [f"_{field.name}" if field.is_packed else field.name for field in fields]
    slots = ", ".join(f'"{name}"' for name in (*held, *packed))
    slots += "," if len(fields) == 1 else ""
    lines = [f"__slots__ = ({slots})", f"FIELDS: ClassVar[tuple[str, ...]] = ({names})"]
    if fields:
        pairs = [_parameter(message, field) for field in fields]
        parameters = ", ".join(parameter for parameter, _ in pairs)
        lines += ["", f"def __init__(self, {parameters}) -> None:"]
        lines += indent([f"self.{name}: PackedRows | None = None" for name in packed])
        lines += indent([assignment for _, assignment in pairs])
    for field in fields:
        if field.is_packed:
            lines += ["", *_unpacking(message, field)]
    return lines


def _unpacking(message: Message, field: Field) -> list[str]:
    """An attribute of items that may be packed: they become objects when it is first read.

    There may be thousands in a message, and not all who decode it look at them.
    """
    assert field.struct is not None
    name, kind, item = field.name, annotation(message, field), field.struct.name
    places = ["at", *(f"at + {8 * nth}" for nth in range(1, len(field.struct.fields)))]
    numbers = [f"read_i64_be(data, {place})" for place in places]
    assert {each.type for each in field.struct.fields} == {"int64"}
    return [
        "@property",
        f"def {name}(self) -> {kind}:",
        f"    packed = self.packed_{name}",
        "    if packed is not None:",
        "        data = packed.data",
        f"        self._{name} = [",
        f"            {item}({', '.join(numbers)})",
        "            for at in range(packed.at, len(data), packed.row_bytes)",
        "        ]",
        f"        self.packed_{name} = None",
        f"    return self._{name}",
        "",
        f"@{name}.setter",
        f"def {name}(self, items: {kind}) -> None:",
        f"    self._{name} = items",
        f"    self.packed_{name} = None",
    ]


def _codec_methods(message: Message) -> list[str]:
    name, lowest, highest = message.name, message.versions.lowest, message.versions.highest
    check = f"if version < {lowest} or version > {highest}:"
    limits = f'("{name}", version, {lowest}, {highest})'
    read, write = function_name("read", name), function_name("write", name)
    refuse = [check, f"    raise unsupported_version{limits}"]
    lines = [
        "@classmethod",
        f"def decode(cls, data: bytes, position: int, version: int) -> tuple[{name}, int]:",
        f"    {check}",
        f"        raise unknown_version{limits}",
        "    try:",
        f"        message, end = {read}(data, position, version)",
        "    except (IndexError, ValueError) as error:",
        f'        raise malformed("{name}", version, error) from None',
        "    return message, end",
        "",
    ]
    if message.fields.has_records():
        encode = [f"{write}(writer, None, self, version)", "return writer.getvalue()"]
        parts = ["parts: list[Part] = []", f"{write}(writer, parts, self, version)"]
        parts += ["parts.append(writer.getvalue())", "return parts"]
    else:
        encode = [f"{write}(writer, self, version)", "return writer.getvalue()"]
        parts = [f"{write}(writer, self, version)", "return [writer.getvalue()]"]
    lines += ["def encode(self, version: int) -> bytes:"]
    lines += indent([*refuse, "writer = BytesWriter()", *encode])
    lines += ["", "def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:"]
    prefix = ["writer = BytesWriter()", "writer.write(writer_prefix)"]
    lines += indent([*refuse, *prefix, *parts])
    return lines


def _title(message: Message) -> str:
    versions = f"version {message.versions}"
    if message.versions.lowest != message.versions.highest:
        versions = f"versions {message.versions.lowest} to {message.versions.highest}"
    kind = {
        "request": f"API key {message.key}",
        "response": f"API key {message.key}",
        "record": f"record type {message.key}",
        "key": f"key of record type {message.key}",
        "value": f"value of record type {message.key}",
        "data": "",
    }[message.kind]
    return ", ".join(part for part in (kind, versions) if part)


def _message_class(message: Message) -> list[str]:
    title = _title(message)
    lines = [f'"""{title[0].upper()}{title[1:]}."""', ""]
    lines += _body(message, message.fields.fields)[:2]
    if message.kind in ("request", "response"):
        lines.append(f"API_KEY: ClassVar[int] = {message.key}")
    elif message.kind != "data":
        lines.append(f"RECORD_KEY: ClassVar[int] = {message.key}")
    lines.append(f"MIN_VERSION: ClassVar[int] = {message.versions.lowest}")
    lines.append(f"MAX_VERSION: ClassVar[int] = {message.versions.highest}")
    lines.append(f"FIRST_FLEXIBLE: ClassVar[int] = {message.first_flexible}")
    lines += [*_body(message, message.fields.fields)[2:], "", *_codec_methods(message)]
    return [f"class {message.name}(Message):", *indent(lines)]


def _struct_class(scope: Scope) -> list[str]:
    name = scope.struct.name
    body = _body(scope.message, scope.struct.fields)
    return [f"class {name}(Struct):", *indent(body)]


def module(file: SchemaFile) -> str:
    """The text of the module for one schema file."""
    scopes = scopes_of(file.messages, file.structs)
    blocks: list[list[str]] = []
    for struct in file.structs:
        scope = scopes[struct.name]
        blocks += [_struct_class(scope), read_function(scope), write_function(scope)]
    for message in file.messages:
        for field in message.fields.fields:
            if _has_default_sentinel(field):
                blocks.append([f"{_sentinel(field)} = {default_value(field)}"])
        scope = scopes[message.name]
        blocks += [_message_class(message), read_function(scope), write_function(scope)]
    text = "\n\n\n".join("\n".join(text.rstrip() for text in block) for block in blocks)
    if file.api is not None:
        title = f"{file.api.name} (API key {file.api.key})"
    else:
        title = f"The {file.name.replace('_', ' ')}"
    header = f'"""{title}. Generated from schema/{file.name}.txt: do not edit."""\n'
    future = "from __future__ import annotations\n"
    return f"{header}\n# fmt: off\n{future}\n{imports(text)}\n\n\n{text}\n"


def api_table(files: Sequence[SchemaFile]) -> str:
    """The text of the table of APIs."""
    lines = [
        '"""The table of APIs. Generated from schema/*.txt: do not edit."""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "# Key, name, versions, first flexible version (-1: none), whether the latest version is",
        "# unstable, listeners, module.",
        "API_ROWS: tuple[tuple[int, str, int, int, int, bool, tuple[str, ...], str], ...] = (",
    ]
    for file in files:
        api = file.api
        if api is not None:
            listeners = ", ".join(f'"{name}"' for name in api.listeners)
            comma = "," if len(api.listeners) == 1 else ""
            lines.append(
                f'    ({api.key}, "{api.name}", {api.versions.lowest}, {api.versions.highest}, '
                f"{api.first_flexible}, {api.latest_unstable}, ({listeners}{comma}), "
                f'"{file.name}"),'
            )
    lines.append(")")
    return "\n".join(lines) + "\n"
