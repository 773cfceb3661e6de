"""Generates ``_write_x``, which writes a struct to a ``BytesWriter``."""

from moldau.protocol.generator.code import GIVE_WAY, Branches, Op, indent, line, render_all
from moldau.protocol.generator.decoder import LIST_NAMES
from moldau.protocol.generator.layout import Layout, Scope
from moldau.protocol.generator.names import function_name, is_optional, scalar_default
from moldau.protocol.generator.schema import FIXED_SIZES, Field

_WRITERS = {
    "bool": "write_bool",
    "int8": "write_i8",
    "int16": "write_i16_be",
    "uint16": "write_u16",
    "int32": "write_i32_be",
    "uint32": "write_u32",
    "int64": "write_i64_be",
    "float64": "write_f64_be",
    "uuid": "write_uuid",
}
_PARAMETERS = {"writer", "parts", "message", "version", "count", "body", "packed"}


def _local(field: Field) -> str:
    return field.name + "_" if field.name in _PARAMETERS else field.name


def is_set(field: Field, value: str) -> str:
    """The condition that ``value`` is not the field's default."""
    if field.default_is_null:
        return f"{value} is not None"
    if field.struct is not None and not field.is_array:
        inner = " or ".join(is_set(f, f"{value}.{f.name}") for f in field.struct.fields)
        if is_optional(field):
            return f"{value} is not None and ({inner})"
        return f"{value} is None or {inner}" if field.nullable is not None else inner
    if field.is_array or field.type == "bytes":
        return f"{value} is None or {value}" if field.nullable is not None else value
    if field.type == "bool":
        return f"not {value}" if field.default == "true" else value
    return f"{value} != {scalar_default(field)}"


class _Writer:
    """Writes the fields of one scope to the variable ``writer``."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.name = scope.struct.name

    def call(self, field: Field, value: str, writer: str) -> str:
        assert field.struct is not None
        parts = "parts, " if field.struct.has_records() else ""
        return f"{function_name('write', field.struct.name)}({writer}, {parts}{value}, version)"

    def _missing(self, field: Field) -> str:
        return f'raise null_field("{self.name}", "{field.name}", version)'

    def absent(self, field: Field) -> list[Op]:
        """In a version without the field, refuse a value that would be lost."""
        if field.ignorable:
            return []
        condition = is_set(field, f"message.{field.name}")
        error = f'unsupported_field("{self.name}", "{field.name}", version)'
        return [line(f"if {condition}:", f"    raise {error}")]

    def write(self, field: Field, layout: Layout, writer: str = "writer") -> Op:
        value = f"message.{field.name}"
        if field.is_array:
            return self._write_array(field, layout, writer)
        if field.struct is not None:
            if not layout.nullable:
                return line(self.call(field, value, writer))
            local = _local(field)
            return line(
                f"{local} = {value}", f"if {local} is None:", f"    write_i8({writer}, -1)",
                "else:", f"    {writer}.append(1)", f"    {self.call(field, local, writer)}",
            )  # fmt: skip
        if field.type in FIXED_SIZES:
            return line(f"{_WRITERS[field.type]}({writer}, {value})")
        prefix = "compact_" if layout.compact else ""
        parts = "parts, " if field.type == "records" else ""
        if layout.nullable or not field.can_be_null:
            prefix += "nullable_" if layout.nullable else ""
            return line(f"write_{prefix}{field.type}({writer}, {parts}{value})")
        local = _local(field)
        return line(
            f"{local} = {value}", f"if {local} is None:", f"    {self._missing(field)}",
            f"write_{prefix}{field.type}({writer}, {parts}{local})",
        )  # fmt: skip

    def _write_array(self, field: Field, layout: Layout, writer: str) -> Op:
        local = _local(field)
        if layout.compact:
            null, count = f"{writer}.append(0)", f"write_uvarint({writer}, len({local}) + 1)"
        else:
            null, count = f"write_i32_be({writer}, -1)", f"write_i32_be({writer}, len({local}))"
        body = [count]
        if field.struct is not None:
            item = f"{field.name}_item"
            body += [
                f"for nth, {item} in enumerate({local}):",
                f"    {self.call(field, item, writer)}",
                *indent(GIVE_WAY),
            ]
        else:
            prefix = "compact_" if layout.compact and field.type == "string" else ""
            kind = LIST_NAMES.get(field.type, field.type)
            body.append(f"write_{prefix}{kind}_list({writer}, {local})")
        lines = [f"{local} = message.{field.name}"]
        if field.is_packed:
            assert field.struct is not None
            prefix = "compact_" if layout.compact else ""
            write = f"write_{prefix}rows({writer}, packed, {field.struct.fixed_size})"
            lines = [f"packed = message.packed_{field.name}"]
            lines += ["if packed is not None:", f"    {write}"]
            assert layout.nullable
            # The attribute would unpack the items.
            null_case = f"elif ({local} := message.{field.name}) is None:"
            lines += [null_case, f"    {null}", "else:", *indent(body)]
        elif layout.nullable:
            lines += [f"if {local} is None:", f"    {null}", "else:", *indent(body)]
        elif field.can_be_null:
            lines += [f"if {local} is None:", f"    {self._missing(field)}", *body]
        else:
            lines += body
        return Op(tuple(lines))

    def tagged(self, field: Field) -> list[str]:
        """Write one tagged field: tag, size, and the value in the compact layout."""
        if not field.is_array and field.type in FIXED_SIZES:
            size = FIXED_SIZES[field.type]
            value = self.write(field, Layout(False, False)).lines
            return [f"writer.append({field.tag})", f"writer.append({size})", *value]
        nullable = field.nullable is not None
        if field.struct is None or field.is_array:
            value = self.write(field, Layout(True, nullable), "body").lines
        elif not nullable:
            value = (self.call(field, f"message.{field.name}", "body"),)
        else:
            # Kafka marks a null struct with a varint here, and with a signed byte in the body.
            local = _local(field)
            value = (
                f"{local} = message.{field.name}", f"if {local} is None:", "    body.append(0)",
                "else:", "    body.append(1)", f"    {self.call(field, local, 'body')}",
            )  # fmt: skip
        return ["body = BytesWriter()", *value, f"write_tag(writer, {field.tag}, body)"]

    def _condition(self, field: Field, start: int) -> str:
        condition = is_set(field, f"message.{field.name}")
        if field.versions.lowest <= start:
            return condition
        if " or " in condition:
            condition = f"({condition})"
        return f"version >= {field.versions.lowest} and {condition}"

    def tag_section(self) -> list[str]:
        start = self.scope.tag_section_start()
        if start is None:
            return []
        fields = [f for f in self.scope.struct.fields if f.tag is not None]
        fields.sort(key=lambda f: f.tag or 0)
        if not fields:
            body = ["writer.append(0)"]
        elif len(fields) == 1:
            body = [f"if {self._condition(fields[0], start)}:", "    writer.append(1)"]
            body += [*indent(self.tagged(fields[0])), "else:", "    writer.append(0)"]
        else:
            body = ["count = 0"]
            values = []
            for field in fields:
                head = f"if {self._condition(field, start)}:"
                body += [head, "    count += 1"]
                values += [head, *indent(self.tagged(field))]
            body += ["writer.append(count)", "if count:", *indent(values)]
        if start > self.scope.versions.lowest:
            return [f"if version >= {start}:", *indent(body)]
        return body


def write_function(scope: Scope) -> list[str]:
    """The lines of the function that writes the struct of ``scope``."""
    writer = _Writer(scope)
    steps: list[Branches] = []
    for field in scope.struct.fields:
        if field.tag is not None:
            if field.versions.lowest > scope.versions.lowest:
                cuts: tuple[int, ...] = (field.versions.lowest, scope.versions.lowest)
                steps.append(Branches(cuts, [[], writer.absent(field)]))
            continue
        cuts = scope.cuts(field)
        ops = []
        for cut in cuts:
            layout = scope.layout(field, cut)
            if layout is None:
                ops.append(writer.absent(field))
            else:
                ops.append([writer.write(field, layout)])
        steps.append(Branches(cuts, ops))
    body = [*render_all(steps), *writer.tag_section()] or ["pass"]
    name = scope.struct.name
    parts = "parts: list[Part] | None, " if scope.struct.has_records() else ""
    signature = f"(writer: BytesWriter, {parts}message: {name}, version: i64) -> None:"
    return [f"def {function_name('write', name)}{signature}", *indent(body)]
