"""Finds the app in a Python file that ``moldau stream`` is given as ``app.py[:name]``."""

import importlib.util
import os
import sys
from collections.abc import MutableMapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from moldau.cli.errors import CommandError, UsageError
from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from moldau.streams.app import App

_REMEDY: Final = "pip install 'moldau[spark]'"
_PREFIX: Final = "moldau_app_"


def load_app(target: str, *, debug: bool = False) -> "App":
    """The app that ``target`` names: the only one in the file, or ``app``, or the one given.

    Raises:
        CommandError: the file fails to run, or defines no such app.
    """
    path, name = _split(target)
    module = _load_module(path, debug=debug)
    return _find_app(module, path, name)


def send_functions_by_value() -> None:
    """Send functions of the app's file to Spark's workers, which cannot import that file."""
    from pyspark import cloudpickle

    for name, module in list(sys.modules.items()):
        if name.startswith(_PREFIX):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _split(target: str) -> tuple[Path, str | None]:
    """Split ``app.py:name``; the path itself may contain colons."""
    whole = Path(target)
    if whole.is_file():
        return whole, None
    file, colon, name = target.rpartition(":")
    if colon and name.isidentifier() and Path(file).is_file():
        return Path(file), name
    if whole.is_dir():
        raise UsageError(f"{target} is a directory: name the file that defines the app")
    raise CommandError(f"{target}: no such file")


def _load_module(path: Path, *, debug: bool) -> ModuleType:
    """Import the file as a module; it can import the modules in its directory."""
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    _add_python_path(os.environ, folder)
    # With a prefix: a file with the name of a library must not replace it.
    name = f"{_PREFIX}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not isinstance(spec, ModuleSpec) or spec.loader is None:
        raise UsageError(f"{path} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        # Messages of PipelineError are complete.
        if debug or isinstance(error, PipelineError):
            raise
        raise CommandError(_explain(path, error)) from None
    return module


def _add_python_path(environment: MutableMapping[str, str], folder: str) -> None:
    """Let Spark's workers import the modules in the app's directory."""
    known = environment.get("PYTHONPATH", "")
    if folder not in known.split(os.pathsep):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, known]))


def _explain(path: Path, error: Exception) -> str:
    """The line of the file that failed, and why."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("pyspark", "pyarrow"):
        return f"{path}: {error.name} is not installed: {_REMEDY}"
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    where = f"{path}, line {line}" if line is not None else str(path)
    what = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{where}: {type(error).__name__}: {what} (--debug shows the traceback)"


def _find_app(module: ModuleType, path: Path, name: str | None) -> "App":
    from moldau.streams.app import App

    apps = {key: each for key, each in vars(module).items() if isinstance(each, App)}
    if name is not None:
        if name not in apps:
            raise CommandError(f"{path} defines no App called {name}; {_there_are(apps)}")
        return apps[name]
    if len({id(each) for each in apps.values()}) == 1:
        return next(iter(apps.values()))
    if "app" in apps:
        return apps["app"]
    if not apps:
        raise CommandError(f"{path} defines no App: add app = App('name') at the top level")
    raise CommandError(f"{path} defines several apps: select one, as in {path}:{next(iter(apps))}")


def _there_are(apps: "dict[str, App]") -> str:
    return f"it defines {', '.join(apps)}" if apps else "it defines none"
