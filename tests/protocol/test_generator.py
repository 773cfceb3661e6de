"""The schema is parsed as documented, and the generated files are up to date."""

from importlib import resources

import pytest

from moldau.protocol.generator.__main__ import generate, stale
from moldau.protocol.generator.layout import scopes_of
from moldau.protocol.generator.module import module
from moldau.protocol.generator.schema import SchemaError, Versions, parse

EXAMPLE = """
api Example key=99 versions=1-4 flexible=3+ listeners=broker latest-unstable

# A comment.
request ExampleRequest
  name string?2+ 2-4 default=null
  items [Item] 1-3
    id int32 default=-1
    note string 2+ tag=0 ignorable

response ExampleResponse
  items [Item]?
"""


def test_the_checked_in_modules_are_what_the_schema_gives() -> None:
    assert stale(generate()) == [], "run: python -m moldau.protocol.generator"


def test_the_schema_is_packaged_with_the_code() -> None:
    folder = resources.files("moldau.protocol") / "schema"
    assert (folder / "produce.txt").read_text().startswith("api Produce key=0 versions=3-13")


def test_a_schema_is_read_as_documented() -> None:
    file = parse("example", EXAMPLE)
    assert file.api is not None
    assert (file.api.key, file.api.first_flexible, file.api.latest_unstable) == (99, 3, True)
    request, response = file.messages
    name, items = request.fields.fields
    assert name.versions == Versions(2, 4)
    assert name.nullable is not None
    assert name.nullable.lowest == 2
    assert name.default_is_null
    assert items.is_array
    assert not items.can_be_null
    assert items.struct is response.fields.fields[0].struct
    assert items.struct is not None
    ident, note = items.struct.fields
    assert (ident.default, note.tag, note.ignorable) == ("-1", 0, True)
    # Fields live no longer than what surrounds them.
    assert ident.versions == Versions(1, 3)


def test_an_array_of_fixed_size_may_be_packed() -> None:
    text = (
        "data Example versions=0 flexible=0+\n  items [Item]? packed\n    id int64\n    at int32\n"
    )
    (items,) = parse("example", text).messages[0].fields.fields
    assert items.is_packed
    assert items.struct is not None
    assert items.struct.fixed_size == 12


def test_an_array_is_bounded_by_the_smallest_element_of_its_versions() -> None:
    file = parse("example", EXAMPLE)
    scope = scopes_of(file.messages, file.structs)["ExampleRequest"]
    items = file.messages[0].fields.fields[1]
    assert scope.smallest_element(items, Versions(1, 2)) == 4
    assert scope.smallest_element(items, Versions(3, 3)) == 5


def test_generated_code_is_python() -> None:
    compile(module(parse("example", EXAMPLE)), "example.py", "exec")


@pytest.mark.parametrize(
    "line",
    ["  name [string 1+", "  name str!", "  name", "sometimes X versions=0 flexible=none"],
)
def test_a_line_that_is_no_schema_is_named(line: str) -> None:
    text = f"data X versions=0 flexible=none\n{line}\n"
    with pytest.raises(SchemaError, match=r"broken\.txt, line 2"):
        parse("broken", text)


def test_a_struct_without_fields_is_refused() -> None:
    with pytest.raises(SchemaError, match="struct Nothing has no fields"):
        parse("broken", "data X versions=0 flexible=none\n  field Nothing\n")
