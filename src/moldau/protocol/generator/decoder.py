"""Generates ``_read_x``, which reads a struct from bytes."""

from moldau.protocol.generator.code import GIVE_WAY, Branches, Op, indent, line, render_all
from moldau.protocol.generator.layout import Layout, Scope
from moldau.protocol.generator.names import annotation, default_value, function_name
from moldau.protocol.generator.schema import FIXED_SIZES, Field, Versions

_READERS = {
    "bool": "data[{at}] != 0",
    "int8": "read_i8(data, {at})",
    "int16": "read_i16_be(data, {at})",
    "uint16": "read_u16(data, {at})",
    "int32": "read_i32_be(data, {at})",
    "uint32": "read_u32(data, {at})",
    "int64": "read_i64_be(data, {at})",
    "float64": "read_f64_be(data, {at})",
    "uuid": "read_uuid(data, {at})",
}
LIST_NAMES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uuid": "uuid"}
_PARAMETERS = {"data", "position", "version", "count", "tag", "tags", "end", "nth"}


def _local(field: Field) -> str:
    return field.name + "_" if field.name in _PARAMETERS else field.name


def _prefix(layout: Layout) -> str:
    return ("compact_" if layout.compact else "") + ("nullable_" if layout.nullable else "")


def _elements(field: Field, target: str, compact: bool) -> list[str]:
    """Fill ``target`` with ``count`` elements."""
    if field.struct is not None:
        item = f"{field.name}_item"
        return [
            f"{target} = []",
            "for nth in range(count):",
            f"    {item}, position = {function_name('read', field.struct.name)}"
            "(data, position, version)",
            f"    {target}.append({item})",
            *indent(GIVE_WAY),
        ]
    if field.type == "string":
        reader = "read_compact_string_list" if compact else "read_string_list"
        return [f"{target}, position = {reader}(data, position, count)"]
    size = FIXED_SIZES[field.type]
    return [
        f"{target} = read_{LIST_NAMES[field.type]}_list(data, position, count)",
        "position += count" if size == 1 else f"position += {size} * count",
    ]


def _read(scope: Scope, field: Field, layout: Layout, versions: Versions) -> Op:
    target = _local(field)
    if field.is_array:
        smallest = scope.smallest_element(field, versions)
        counter = f"read_{_prefix(layout)}count"
        lines = [f"count, position = {counter}(data, position, {smallest})"]
        elements = _elements(field, target, layout.compact)
        if field.is_packed:
            assert field.struct is not None
            size = field.struct.fixed_size
            packed = f"packed_{field.name}"
            has_tags = layout.compact
            elements = [
                f"{packed} = read_rows(data, position, count, {size}, {has_tags})",
                f"if {packed} is not None:",
                f"    {target} = []",
                f"    position += {size + has_tags} * count",
                "else:",
                *indent(elements),
            ]
        if layout.nullable:
            lines += ["if count < 0:", f"    {target} = None", "else:", *indent(elements)]
        else:
            lines += elements
        return Op(tuple(lines))
    if field.struct is not None:
        read = f"{target}, position = {function_name('read', field.struct.name)}"
        read += "(data, position, version)"
        if not layout.nullable:
            return line(read)
        step = "position += 1"
        return line(
            "if read_i8(data, position) < 0:", f"    {target} = None", f"    {step}", "else:",
            f"    {step}", f"    {read}",
        )  # fmt: skip
    if field.type in FIXED_SIZES:
        return Op((f"{target} = {_READERS[field.type]}",), FIXED_SIZES[field.type])
    return line(f"{target}, position = read_{_prefix(layout)}{field.type}(data, position)")


def _read_tagged(scope: Scope, field: Field) -> list[str]:
    """Read the value of a tagged field, which always has the compact layout."""
    target = _local(field)
    nullable = field.nullable is not None
    if field.struct is not None and not field.is_array and nullable:
        # Kafka marks a null struct with a varint here, and with a signed byte in the body.
        return [
            "if data[position] == 0:", f"    {target} = None", "    position += 1", "else:",
            f"    {target}, position = {function_name('read', field.struct.name)}"
            "(data, position + 1, version)",
        ]  # fmt: skip
    op = _read(scope, field, Layout(True, nullable), field.versions)
    if op.fixed_size:
        return [op.lines[0].replace("{at}", "position"), f"position += {op.fixed_size}"]
    return list(op.lines)


def _tag_section(scope: Scope) -> list[str]:
    start = scope.tag_section_start()
    if start is None:
        return []
    tagged = sorted((f for f in scope.struct.fields if f.tag is not None), key=lambda f: f.tag or 0)
    if not tagged:
        body = ["position = skip_tags(data, position) if data[position] else position + 1"]
    else:
        loop = ["tag, position, end = read_tag(data, position)"]
        for index, field in enumerate(tagged):
            condition = f"tag == {field.tag}"
            if field.versions.lowest > start:
                condition += f" and version >= {field.versions.lowest}"
            loop.append(f"{'elif' if index else 'if'} {condition}:")
            loop.extend(indent(_read_tagged(scope, field)))
        loop += ["else:", "    position = end"]
        loop += ["if position != end:", "    raise wrong_tag_size(tag)"]
        # Usually no tag is sent, and the section is a single zero. ``tags`` must not change in
        # the loop: compiled code would use the new value as the loop's end.
        known = ["tags, position = read_uvarint(data, position)", "for _ in range(tags):"]
        known += indent(loop)
        body = ["if data[position]:", *indent(known), "else:", "    position += 1"]
    if start > scope.versions.lowest:
        return [f"if version >= {start}:", *indent(body)]
    return body


def read_function(scope: Scope) -> list[str]:
    """The lines of the function that reads the struct of ``scope``."""
    name = scope.struct.name
    steps: list[Branches] = []
    declarations: list[str] = []
    for field in scope.struct.fields:
        cuts = scope.cuts(field)
        target = _local(field)
        if field.tag is not None:
            kind = annotation(scope.message, field)
            declarations.append(f"{target}: {kind} = {default_value(field)}")
            continue
        ops: list[list[Op]] = []
        for index in range(len(cuts)):
            layout = scope.layout(field, cuts[index])
            if layout is None:
                ops.append([line(f"{target} = {default_value(field)}")])
            else:
                ops.append([_read(scope, field, layout, scope.piece(cuts, index))])
        needs_type = len(cuts) > 1 or field.is_array or field.can_be_null
        if needs_type and field.type != "records":
            declarations.append(f"{target}: {annotation(scope.message, field)}")
        steps.append(Branches(cuts, ops))
    body = [*declarations, *render_all(steps), *_tag_section(scope)]
    arguments = ", ".join(_local(field) for field in scope.struct.fields)
    packed = [f"packed_{field.name}" for field in scope.struct.fields if field.is_packed]
    if packed:
        body = [*(f"{each}: PackedRows | None = None" for each in packed), *body]
        body.append(f"message = {name}({arguments})")
        body += [f"message.{each} = {each}" for each in packed]
        body.append("return message, position")
    else:
        body.append(f"return {name}({arguments}), position")
    signature = f"(data: bytes, position: i64, version: i64) -> tuple[{name}, i64]:"
    return [f"def {function_name('read', name)}{signature}", *indent(body)]
