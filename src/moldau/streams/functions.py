"""Functions of users: called with Spark's Columns, and returning Columns.

    orders.map_values(lambda value: value.amount * 2)
    orders.filter(lambda key, value: key.isNotNull() & (value.amount > 100))
    orders.map(lambda key, value, timestamp: (value.customer, {"amount": value.amount}))

Arguments named ``key``, ``value``, ``timestamp``, ``window`` or ``headers`` get those columns. With
other names, a single argument gets the value, and two get key and value. The result may be a
Column, a literal, or a dict, which becomes a struct. A field is an attribute, even if it has the
name of a method of Column (``value.name``, see ``fields``).

The function is called once, when the query is compiled, and Spark evaluates the returned expression
without Python. If rows must go through Python, Spark's own ``udf`` turns a function on plain values
into such a function:

    from pyspark.sql.functions import udf
    orders.map_values(udf(lambda value: parse(value), "amount double, customer string"))
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Function = Callable[..., Any]

_BY_NAME: Final = ("key", "value", "timestamp", "window", "headers")


def call(function: Function, rows: "DataFrame") -> Any:
    """Call ``function`` with the columns of ``rows`` and return its result.

    Raises:
        PipelineError: it has unknown arguments, or fails when called with Columns.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    from moldau.streams.fields import typed

    wanted = _columns(function)
    missing = [name for name in wanted if name not in rows.columns]
    if missing:
        raise PipelineError(
            f"{describe(function)} asks for {missing[0]}, which these rows do not have: they have "
            f"{', '.join(rows.columns)}"
        )
    types = rows.schema
    columns = [typed(F.col(name), types[name].dataType) for name in wanted]
    try:
        return function(*columns)
    except (PipelineError, PySparkException):
        raise
    except Exception as error:
        # Most likely it was written for plain values.
        raise PipelineError(
            f"{describe(function)} failed: {type(error).__name__}: {error}. It is called once, "
            "with Spark's Columns; pyspark.sql.functions.udf makes it one for plain values"
        ) from error


def _columns(function: Function) -> list[str]:
    """The columns for the arguments of ``function``, in order."""
    names = _parameters(function)
    by_place = [name for name in names if name not in _BY_NAME]
    free = [name for name in ("key", "value") if name not in names]
    if len(by_place) > len(free):
        raise PipelineError(
            f"{describe(function)} has the arguments {', '.join(names)}: there are key and value, "
            f"and by name {', '.join(_BY_NAME)}"
        )
    # Most functions are about the value, so it comes last.
    places = iter(free[len(free) - len(by_place) :])
    return [name if name in _BY_NAME else next(places) for name in names]


def condition(function: Function, rows: "DataFrame", *, may_be_constant: bool = False) -> "Column":
    """The condition that ``function`` returns for ``rows``: true, false or null for each row.

    With ``may_be_constant`` a function that uses no column may return True.

    Raises:
        PipelineError: as ``call``, or it returned a Python bool, the same for every record.
    """
    result = call(function, rows)
    if isinstance(result, bool) and not (may_be_constant and result and _is_constant(function)):
        raise PipelineError(
            f"{describe(function)} gave {result}, the same for every record: it compared something "
            "that is not a Column, such as a method of Column (a field is value['like'] as well), "
            "or used 'and', 'or', 'not', 'in' instead of &, |, ~, isin()"
        )
    return column(result)


def _is_constant(function: Function) -> bool:
    """Whether it accesses no names or attributes: ``lambda value: True``."""
    code = getattr(function, "__code__", None)
    return code is not None and not code.co_names


def column(result: Any) -> "Column":
    """The result of a user's function as a Column."""
    from pyspark.sql import Column
    from pyspark.sql import functions as F

    from moldau.streams.fields import plain

    if isinstance(result, Column):
        # Without our field access: from here on Spark's own methods are needed.
        return plain(result)
    if isinstance(result, Mapping):
        return F.struct(*(column(value).alias(name) for name, value in result.items()))
    return F.lit(result)


def pair(function: Function, result: Any) -> "tuple[Column, Column]":
    """The key and value that ``function`` returned.

    Raises:
        PipelineError: it returned something else.
    """
    if isinstance(result, Sequence) and not isinstance(result, str) and len(result) == 2:
        return column(result[0]), column(result[1])
    raise PipelineError(
        f"{describe(function)} gave {result!r} instead of two: (key, value); "
        "to change only the value there is map_values"
    )


def describe(function: Function) -> str:
    """``function`` in error messages: its name, or its line if it has none."""
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(function, "__code__", None)
    if name == "<lambda>" and code is not None:
        file = code.co_filename.rpartition("/")[2]
        return f"the function in {file} line {code.co_firstlineno}"
    return f"the function {name}"


def _parameters(function: Function) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ["value"]
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is inspect.Parameter.empty and parameter.kind not in variadic
    ]
