"""Cells of Arrow from bytes and numbers, without pandas.

The first time that PyArrow converts objects of Python (``pa.array``, ``pa.scalar``), it imports
pandas, to recognise its types. That takes 25 MB and 0.3 s of a core in each process, and a source
has a process of its own. Cells that are made of buffers need no conversion.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np
import pyarrow as pa

_BYTES: Final = frozenset({bytes, type(None)})


def cells(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    """Bytes, or texts in UTF-8, which are not checked."""
    if not _BYTES.issuperset(map(type, values)):
        # From a converter that returns something else that has bytes.
        return pa.array(values, kind)
    filled = [each or b"" for each in values]
    ends = array("i", accumulate(map(len, filled), initial=0))
    buffers = [_validity(values), pa.py_buffer(ends), pa.py_buffer(b"".join(filled))]
    return pa.Array.from_buffers(kind, len(filled), buffers)


def one_cell(value: bytes | memoryview, kind: pa.DataType) -> pa.Array:
    """An array of one value, which is not copied."""
    buffers = [None, pa.py_buffer(array("i", (0, len(value)))), pa.py_buffer(value)]
    return pa.Array.from_buffers(kind, 1, buffers)


def numbers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Whole numbers of 64 bits."""
    try:
        filled = array("q", (each or 0 for each in values))
    except TypeError:
        # From a connector that gives whole numbers as float.
        return pa.array(values, pa.int64()).cast(kind)
    return pa.Array.from_buffers(kind, len(filled), [_validity(values), pa.py_buffer(filled)])


def repeated(text: str, count: int) -> pa.Array:
    """The same text in each cell."""
    return pa.repeat(one_cell(text.encode(), pa.string())[0], count)


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Arrow's bitmap of which values are there; None if all are."""
    if None not in values:
        return None
    is_there = np.fromiter((each is not None for each in values), bool, len(values))
    return pa.py_buffer(np.packbits(is_there, bitorder="little").tobytes())
