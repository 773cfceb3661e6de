"""An error of Spark as one line: what is wrong, the place in the statement, and the remedy.

Spark's errors have a condition, such as ``UNRESOLVED_COLUMN.WITH_SUGGESTION``, and parameters. The
conditions that users of SQL meet are explained here, in words that fit topics; others keep Spark's
text, shortened to a line.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from moldau.spark.errors import one_line
from moldau.sql.errors import Span, SqlError, nearest
from moldau.sql.hints import COLUMNS, FUNCTIONS
from moldau.sql.keywords import KEYWORDS, TYPES
from moldau.sql.rewriting import Rewritten, from_java
from moldau.sql.statements import Kind, Token, parts_of, shown, words

Parameters = Mapping[str, str]
_WHERE: Final = re.compile(r"\(line (\d+), pos (\d+)\)")
# Behind the text of some errors: ``SQLSTATE: 42K0E; line 1 pos 27;``.
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+;.*$")
# This error of Spark has no condition of its own.
_UNSUPPORTED_STREAM: Final = "is not supported on streaming DataFrames"
_CAST: Final = "cast it, as in value:amount::double"


@dataclass(frozen=True)
class Context:
    """What is known about the statement that failed."""

    rewritten: Rewritten
    # The topics it reads whose value is VARIANT, and the others.
    variant_topics: tuple[str, ...] = ()
    text_topics: tuple[str, ...] = ()
    functions: Callable[[], list[str]] = field(default=list)
    # The fields of the JSON values of these topics.
    fields: Callable[[], list[str]] = field(default=list)

    @property
    def statement(self) -> str:
        return self.rewritten.original


def diagnose(error: BaseException, context: Context) -> SqlError:
    """The error to show for an exception of Spark; not raised here."""
    if isinstance(error, SqlError):
        return error
    condition = _call(error, "getCondition") or ""
    parameters: Parameters = _call(error, "getMessageParameters") or {}
    span = _span(error, context)
    for known, explain in _EXPLAINED.items():
        if condition == known or condition.startswith(f"{known}."):
            found = explain(parameters, span, context)
            if found is not None:
                return found
    if _UNSUPPORTED_STREAM in str(error):
        return _output_mode(parameters, span, context)
    return SqlError(_STATE.sub("", one_line(error)), "", _narrowed(span, context))


def _call(error: BaseException, name: str) -> Any:
    method = getattr(error, name, None)
    if method is None:
        return None
    # Some exceptions of PySpark have no Java counterpart to ask.
    try:
        return method()
    except Exception:
        return None


def _span(error: BaseException, context: Context) -> Span | None:
    """The place that Spark reports, in the statement as the user wrote it."""
    text = context.rewritten.text
    for each in _call(error, "getQueryContext") or ():
        start, stop = _call(each, "startIndex"), _call(each, "stopIndex")
        if start is not None and stop is not None and 0 <= start <= stop < len(text):
            return context.rewritten.back(from_java(text, start, stop))
    found = _WHERE.search(str(error))
    if found is None:
        return None
    lines = text.splitlines(keepends=True)
    start = sum(map(len, lines[: int(found[1]) - 1])) + int(found[2])
    token = next((each for each in words(text) if each.span.end > start), None)
    end = token.span.end if token is not None and token.start <= start else start + 1
    return context.rewritten.back(Span(start, end))


def _narrowed(span: Span | None, context: Context) -> Span | None:
    """No place at all is better than carets under the whole statement."""
    if span is None or span.end - span.start < len(context.statement.strip()):
        return span
    return None


def _find(name: str, span: Span | None, context: Context) -> Span | None:
    """The place of a word, within ``span`` if it is there."""
    name = name.strip("\"'`")
    found = [each for each in words(context.statement) if each.name.lower() == name.lower()]
    inside = [each for each in found if span and span.start <= each.start < span.end]
    chosen = inside or found
    return chosen[0].span if chosen else _narrowed(span, context)


def _column(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    parts = parts_of(given["objectName"])
    name = parts[-1]
    message = f"there is no column {'.'.join(map(shown, parts))}"
    if name.upper() in COLUMNS:
        remedy = f"{name.upper()} is ksqlDB's, write {COLUMNS[name.upper()]}"
        return SqlError(message, remedy, span)
    columns = [parts_of(each)[-1] for each in given.get("proposal", "").split(", ") if each]
    close = nearest(name, columns)
    if close is not None:
        return SqlError(message, f"did you mean {shown(close)}?", span)
    if context.variant_topics and name.isidentifier():
        known = nearest(name, context.fields())
        if known is not None:
            return SqlError(message, f"did you mean value:{known}?", span)
        return SqlError(message, f"a field of a JSON value is written value:{name}", span)
    if columns:
        return SqlError(message, f"there are {', '.join(map(shown, columns))}", span)
    return SqlError(message, "name a table that has it after FROM", span)


def _field(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    base = given["base"].strip('"')
    if "VARIANT" in given["other"]:
        said = context.statement[span.start : span.end] if span else ""
        name = said.rpartition(".")[2]
        remedy = f"write {base}:{name}" if name.isidentifier() else f"write {base}:field"
        return SqlError(f"{base} is JSON, whose fields are named with a colon", remedy, span)
    kind = given["other"].strip('"')
    remedy = f"if it has JSON, write parse_json({base}):field"
    return SqlError(f"{base} is {kind} and has no fields", remedy, span)


def _no_variant(_: Parameters, span: Span | None, context: Context) -> SqlError | None:
    found = words(context.statement)
    for before, colon in pairwise(found):
        if colon.text == ":" and before.kind in (Kind.WORD, Kind.QUOTED):
            span = before.span
            break
    said = context.statement[span.start : span.end] if span else "this column"
    which = f"the values of {context.text_topics[0]} are not JSON" if context.text_topics else ""
    remedy = f"{which}; " if which else ""
    return SqlError(
        f"{said} is not VARIANT, so it has no fields behind a colon",
        f"{remedy}DESCRIBE shows the columns, parse_json({said}) parses text",
        span,
    )


def _routine(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    name = parts_of(given["routineName"])[-1]
    span = Span(span.start, span.start + len(name)) if span else None
    message = f"there is no function {name}"
    if name.upper() in FUNCTIONS:
        return SqlError(message, f"it is ksqlDB's, write {FUNCTIONS[name.upper()]}", span)
    close = nearest(name, context.functions())
    remedy = f"did you mean {close}?" if close else "SHOW FUNCTIONS lists them"
    return SqlError(message, remedy, span)


def _syntax(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    near = given.get("error", "").strip("'")
    statement = context.statement
    found = words(statement)
    unclosed = next((each for each in found if each.is_open), None)
    if unclosed is not None:
        quote = unclosed.text.lstrip("rR")[0]
        return SqlError(f"the {quote} is not closed", f"close it with {quote}", unclosed.span)
    if near == "end of input":
        missing = given.get("hint", "").removeprefix(": ")
        span = Span(len(statement), len(statement) + 1)
        return SqlError("the statement ends too early", missing or "something is missing", span)
    dashed = _dashed_name(found, span)
    if dashed is not None:
        name = statement[dashed.start : dashed.end]
        return SqlError(
            f"{name} is not a name without backticks",
            f"a name with a dash or a dot is written `{name}`",
            dashed,
        )
    at = span.start if span else 0
    candidates = [each for each in found if each.kind is Kind.WORD and each.start <= at][-2:]
    # The word where the parser stopped may be right, and the one before it wrong.
    for each in candidates:
        close = nearest(each.text, KEYWORDS)
        if close is not None and each.upper not in KEYWORDS:
            return SqlError(f"{each.text} is not understood", f"did you mean {close}?", each.span)
    hint = given.get("hint", "").removeprefix(": ")
    return SqlError(f"{near} is not understood here", hint or _before(found, at), span)


def _before(found: list[Token], position: int) -> str:
    """A remedy that says where to look."""
    before = [each for each in found if each.start < position]
    if not before:
        return "a statement begins with a word such as SELECT, INSERT, SHOW or DESCRIBE"
    return f"look at what follows {before[-1].text}: a comma, a bracket or a quote may be missing"


def _dashed_name(found: list[Token], span: Span | None) -> Span | None:
    """A name such as ``logs.app-1`` without backticks, where the parser stopped."""
    if span is None:
        return None
    at = next((i for i, each in enumerate(found) if each.span.end > span.start), len(found))
    first = last = at
    if first >= len(found):
        first = last = len(found) - 1
    if found[first].text == "-":
        last = min(first + 1, len(found) - 1)
    while (
        first > 0 and found[first - 1].span.end == found[first].start and _of_name(found[first - 1])
    ):
        first -= 1
    while (
        last + 1 < len(found)
        and found[last].span.end == found[last + 1].start
        and _of_name(found[last + 1])
    ):
        last += 1
    texts = [each.text for each in found[first : last + 1]]
    if "-" not in texts or texts[0] == "-" or not found[first].text[0].isalpha():
        return None
    return Span(found[first].start, found[last].span.end)


def _of_name(token: Token) -> bool:
    return token.kind is Kind.WORD or token.text in (".", "-")


def _data_type(given: Parameters, span: Span | None, _: Context) -> SqlError | None:
    name = given["typeName"].strip('"')
    close = nearest(name, TYPES)
    remedy = f"did you mean {close}?" if close else f"there are {', '.join(TYPES[:8])} and others"
    return SqlError(f"there is no type {name.lower()}", remedy, span)


def _mismatch(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    said = context.statement[span.start : span.end] if span else given.get("sqlExpr", "")
    if "VARIANT" in "".join(given.values()):
        return SqlError(f"{said} does not work on VARIANT", _CAST, _narrowed(span, context))
    wanted, actual = given.get("requiredType"), given.get("inputType")
    if wanted and actual:
        message = f"{said} needs {_plain(wanted)}, and has {_plain(actual)}"
        return SqlError(message, "cast it, as in column::double", _narrowed(span, context))
    left, right = given.get("left"), given.get("right")
    if left and right:
        message = (
            f"{said} has {left.strip(chr(34))} on one side and {right.strip(chr(34))} on the other"
        )
        return SqlError(message, "cast one of them, as in column::string", _narrowed(span, context))
    return None


def _plain(kind: str) -> str:
    """Types without the quotes that Spark puts around them."""
    return kind.replace('"', "")


def _variant_set(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    name = given["colName"].strip("`")
    return SqlError(
        f"{name} is VARIANT, which DISTINCT and UNION cannot compare",
        f"write {name}::string, or a field as in {name}:field::string",
        _find(name, span, context),
    )


def _not_orderable(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    said = context.statement[span.start : span.end] if span else given["sqlExpr"].strip('"')
    if given["dataType"].strip('"') != "VARIANT":
        message = f"{said} is {_plain(given['dataType'])}, which GROUP BY cannot compare"
        return SqlError(message, f"write to_json({said}), or group by a field of it", span)
    message = f"{said} is VARIANT, which GROUP BY cannot compare"
    field = "" if ":" in said else f", or a field as in {said}:field::string"
    return SqlError(message, f"write {said}::string{field}", span)


def _group_by(_: Parameters, span: Span | None, context: Context) -> SqlError | None:
    return SqlError(
        "columns stand beside an aggregate such as count(*)",
        "add GROUP BY with these columns",
        _find("SELECT", None, context),
    )


def _aggregation(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    name = given["expression"].strip('"')
    return SqlError(
        f"{name} is neither grouped nor aggregated",
        f"add it to GROUP BY, or write any_value({name})",
        _find(name, span, context) or _find("GROUP", None, context),
    )


def _where(_: Parameters, span: Span | None, context: Context) -> SqlError | None:
    return SqlError(
        "WHERE cannot have an aggregate such as count(*)",
        "HAVING, after GROUP BY, can",
        _find("WHERE", None, context),
    )


def _nested(_: Parameters, span: Span | None, __: Context) -> SqlError | None:
    return SqlError(
        "an aggregate is inside another one", "compute the inner one in a subquery", span
    )


def _ambiguous(given: Parameters, span: Span | None, _: Context) -> SqlError | None:
    name = given["name"].strip("`")
    names = [
        ".".join(map(shown, parts_of(each)))
        for each in given["referenceNames"].strip("[]").split(", ")
    ]
    return SqlError(f"{name} is in several tables", f"write {' or '.join(names)}", span)


def _columns_differ(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    operator = given["operator"]
    return SqlError(
        f"{operator} needs the same number of columns on both sides, and there are "
        f"{given['firstNumColumns']} and {given['invalidNumColumns']}",
        "select the same columns on both sides",
        _find(operator, span, context),
    )


def _arguments(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    name = given["functionName"].strip("`")
    wanted = given["expectedNum"].strip("[]").replace(", ", " or ")
    return SqlError(
        f"{name} takes {wanted} arguments, not {given['actualNum']}",
        f"DESCRIBE FUNCTION {name} explains them",
        span,
    )


def _cast(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    value, kind = given["expression"], given["targetType"].strip('"')
    return SqlError(
        f"{value} is no {kind}", "try_cast gives NULL instead", _narrowed(span, context)
    )


def _variant_cast(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    value, kind = given.get("value", "a value"), given.get("dataType", "").strip('"')
    remedy = f"try_variant_get(value, '$.field', '{kind.lower()}') gives NULL instead"
    return SqlError(f"{value} in a JSON value is no {kind}", remedy, _find(kind, span, context))


def _zero(_: Parameters, span: Span | None, __: Context) -> SqlError | None:
    return SqlError("division by zero", "try_divide(a, b) gives NULL instead", span)


def _path(given: Parameters, _: Span | None, context: Context) -> SqlError | None:
    path = given["path"].removeprefix("file:")
    name = path.rpartition("/")[2]
    place = next(
        (each.span for each in words(context.statement) if name and name in each.text), None
    )
    return SqlError(f"there is no file {path}", "check the path", place)


def _output_mode(_: Parameters, __: Span | None, context: Context) -> SqlError:
    return SqlError(
        "a stream has no end, so it cannot be sorted or joined like this",
        "leave out STREAM to read what is there now",
        _find("STREAM", None, context),
    )


def _not_json(given: Parameters, span: Span | None, context: Context) -> SqlError | None:
    return SqlError(
        f"{given['badRecord']!r} is not JSON",
        "try_parse_json gives NULL instead",
        _find("parse_json", span, context),
    )


def _not_that_format(given: Parameters, _: Span | None, context: Context) -> SqlError | None:
    kind = given["dataSourceType"]
    found = words(context.statement)
    # parquet.`path`
    place = next(
        (
            path
            for (name, dot), path in zip(pairwise(found), found[2:], strict=False)
            if name.name.lower() == kind.lower() and dot.text == "."
        ),
        None,
    )
    said = "the file" if place is None else place.name
    remedy = f"write its format in front of the path, or check whether {said} is complete"
    return SqlError(f"{said} is no file of {kind}", remedy, place.span if place else None)


def _limit(given: Parameters, span: Span | None, _: Context) -> SqlError | None:
    said = given.get("expr", "").strip('"')
    return SqlError(f"{said} is no number of rows", "write one such as LIMIT 10", span)


def _star(_: Parameters, __: Span | None, context: Context) -> SqlError | None:
    return SqlError(
        "* cannot be grouped by the number of a column",
        "name the columns after SELECT, and those without an aggregate after GROUP BY",
        _find("GROUP", None, context),
    )


def _no_table(given: Parameters, span: Span | None, _: Context) -> SqlError | None:
    name = ".".join(map(shown, parts_of(given.get("relationName") or given["viewName"])))
    return SqlError(
        f"{name} is no table of Spark's, and this statement works on no other",
        "topics are read with SELECT, written with INSERT INTO, and changed with moldau topics "
        "and moldau configs",
        span,
    )


_EXPLAINED: Final[dict[str, Callable[[Parameters, Span | None, Context], SqlError | None]]] = {
    "UNRESOLVED_COLUMN": _column,
    "INVALID_EXTRACT_BASE_FIELD_TYPE": _field,
    "COLUMN_IS_NOT_VARIANT_TYPE": _no_variant,
    "UNRESOLVED_ROUTINE": _routine,
    "PARSE_SYNTAX_ERROR": _syntax,
    "UNSUPPORTED_DATATYPE": _data_type,
    "DATATYPE_MISMATCH": _mismatch,
    "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE": _variant_set,
    "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE": _not_orderable,
    "MISSING_GROUP_BY": _group_by,
    "MISSING_AGGREGATION": _aggregation,
    "INVALID_WHERE_CONDITION": _where,
    "NESTED_AGGREGATE_FUNCTION": _nested,
    "AMBIGUOUS_REFERENCE": _ambiguous,
    "NUM_COLUMNS_MISMATCH": _columns_differ,
    "WRONG_NUM_ARGS": _arguments,
    "CAST_INVALID_INPUT": _cast,
    "INVALID_VARIANT_CAST": _variant_cast,
    "DIVIDE_BY_ZERO": _zero,
    "PATH_NOT_FOUND": _path,
    "STREAMING_OUTPUT_MODE": _output_mode,
    "MALFORMED_RECORD_IN_PARSING": _not_json,
    "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY": _not_that_format,
    "INVALID_LIMIT_LIKE_EXPRESSION": _limit,
    "STAR_GROUP_BY_POS": _star,
    "TABLE_OR_VIEW_NOT_FOUND": _no_table,
    "EXPECT_TABLE_NOT_VIEW": _no_table,
}
