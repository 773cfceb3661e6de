"""The Python of Spark's workers: this one, with the installed PySpark.

Spark puts a zip of PySpark first on a worker's ``PYTHONPATH``. The zip has no bytecode, so each
process that Spark starts compiles all of PySpark again, which takes a second of a core; and Spark
starts one for each step of planning a query on a Python data source, one for each stream, and one
that the workers are forked from. The PySpark that pip installed has bytecode. So the workers are
started by a small wrapper script ``python``, which removes Spark's directory from the path and
calls the real one.

Only for workers on this machine, and a Spark that is part of this Python's PySpark: otherwise the
zip may be the only PySpark there is.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from moldau.spark.cache import command_folder, keep_command

_PREFIX: Final = "moldau-python-"


def spark_home(environment: Mapping[str, str]) -> Path | None:
    """The home of the installed PySpark; None if ``SPARK_HOME`` is another one."""
    package = find_spec("pyspark")
    if package is None or package.origin is None:
        return None
    home = Path(package.origin).parent
    given = environment.get("SPARK_HOME")
    if given and Path(given) != home:
        return None
    return home if (home / "jars").is_dir() else None


def worker_python(executable: str, home: Path, cache: Path) -> Path:
    """A command for ``PYSPARK_PYTHON``: ``executable`` without ``home`` on its path.

    Raises:
        OSError: it cannot be written to ``cache``.
    """
    text = _without_spark_home(executable, home)
    return keep_command(command_folder(cache, _PREFIX, text) / "python", text)


def _without_spark_home(executable: str, home: Path) -> str:
    return f"""#!/bin/sh
# Made by Moldau: PySpark as it is installed, not the zip of it, which has no bytecode.
set -f
IFS=:
kept=
for entry in $PYTHONPATH; do
    case $entry in
    "{home}"/*) ;;
    *) kept=$kept${{kept:+:}}$entry ;;
    esac
done
unset IFS
PYTHONPATH=$kept exec "{executable}" "$@"
"""
