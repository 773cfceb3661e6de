"""Does some of the later work of a session's start early, in parallel with Spark's start.

Spark starts a JVM, a context and a session one after the other, while a second core is idle. Two
expensive steps depend on none of these:

* Python modules. The first call with an argument from Python to Java imports pandas, through
  PySpark's converter for arrays, and the registration of the format imports Arrow. They are
  imported while this process waits for the JVM.
* Scala's reflection. MLlib's functions, which every session registers, inspect Scala types, and
  building the tables for that takes a second. It is done while Spark creates its context.

Rules this module keeps:

* A session never depends on it. If something fails here, the code that needs it tries again and
  reports the error.
* It does none of Spark's own steps, and initializes none of its classes: two threads that
  initialize classes which depend on each other deadlock. Reflection and Scala's library do not
  depend on Spark, nothing that Spark does before its session uses reflection, and ``universe`` is
  a lazy value, for which a second thread waits.
* It has ended when the session is ready: it does only work that the session itself needs.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from typing import Any, Final

# In the order in which a session needs them.
MODULES: Final = ("pyspark.testing", "moldau.spark.ledger_source")
_POLL_S: Final = 0.02
_PATIENCE_S: Final = 2.0


@contextmanager
def beside_start() -> Iterator[None]:
    """Warm up while the block starts Spark; does nothing if there is a JVM already."""
    if _gateway() is not None:
        yield
        return
    has_ended = Event()
    # PySpark forks while this thread runs. Before its exec the child takes no lock that an import
    # could hold.
    warming = Thread(target=_warm_up, args=(has_ended,), name="moldau-warm-up", daemon=True)
    warming.start()
    try:
        yield
        has_ended.set()
        warming.join(_PATIENCE_S)
    finally:
        # After a failed start: the thread stops waiting for a JVM, and is not joined.
        has_ended.set()


def _warm_up(has_ended: Event) -> None:
    for module in MODULES:
        with suppress(Exception):
            import_module(module)
    gateway = _gateway()
    while gateway is None and not has_ended.wait(_POLL_S):
        gateway = _gateway()
    if gateway is not None and not has_ended.is_set():
        build_reflection(gateway)


def build_reflection(gateway: Any) -> bool:
    """Make the JVM build Scala's tables for reflection; returns whether it succeeded."""
    # The JVM may have died, or may not have these classes.
    try:
        getattr(gateway.jvm.scala.reflect.runtime, "package").universe()  # noqa: B009
    except Exception:
        return False
    return True


def _gateway() -> Any:
    """PySpark's gateway to its JVM; None until there is one."""
    from pyspark import SparkContext

    return SparkContext._gateway
