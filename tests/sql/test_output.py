"""Tables, CSV and JSON."""

import io

from moldau.sql.output import Printer
from moldau.sql.results import Column, Form

COLUMNS = [Column("name"), Column("n", is_number=True)]


def printed(form: Form, *pieces: list[tuple[str | None, str | None]]) -> str:
    out = io.StringIO()
    printer = Printer(form, out, io.StringIO())
    printer.begin()
    printer.columns(COLUMNS)
    for piece in pieces:
        printer.rows(piece)
    printer.end()
    return out.getvalue()


def test_a_table_is_as_wide_as_its_first_piece() -> None:
    assert printed(Form.TABLE, [("ann", "1"), (None, "10")], [("bartholomew", "2")]) == (
        "name   n\nann    1\nNULL  10\nbartholomew   2\n"
    )


def test_a_table_without_rows_has_its_titles() -> None:
    assert printed(Form.TABLE) == "name  n\n"


def test_line_breaks_and_wide_characters_do_not_break_a_table() -> None:
    assert printed(Form.TABLE, [("a\nb", "1"), ("東京", "2")]) == "name  n\na\\nb  1\n東京  2\n"


def test_a_terminal_obeys_no_record() -> None:
    red = "\x1b[31mred\x07\x9b"
    assert "\\x1b[31mred\\x07\\x9b" in printed(Form.TABLE, [(red, "1")])
    out = io.StringIO()
    printer = Printer(Form.TABLE, out, io.StringIO())
    printer.columns([Column("plan")])
    printer.rows([(f"a\n{red}\r\tb",)])
    assert out.getvalue() == "a\n\\x1b[31mred\\x07\\x9b\\x0d\tb\n"


def test_csv_has_a_header_and_quotes_what_needs_it() -> None:
    assert printed(Form.CSV, [('a,"b"', "1"), (None, "2")]) == 'name,n\n"a,""b""",1\n,2\n'


def test_json_has_an_object_per_line_with_numbers_as_numbers() -> None:
    assert printed(Form.JSON, [("é", "1"), (None, None)]) == (
        '{"name":"é","n":1}\n{"name":null,"n":null}\n'
    )


def test_text_of_several_lines_is_printed_as_it_is() -> None:
    out = io.StringIO()
    printer = Printer(Form.TABLE, out, io.StringIO())
    printer.columns([Column("plan")])
    printer.rows([("a\n  b\n",)])
    assert out.getvalue() == "a\n  b\n"


def test_notes_are_no_data() -> None:
    out, errors = io.StringIO(), io.StringIO()
    Printer(Form.CSV, out, errors).note("3 records written")
    assert (out.getvalue(), errors.getvalue()) == ("", "3 records written\n")
