"""What a session needs late in its start is begun early, beside what Spark does meanwhile.

Spark starts one step after another: a JVM, a context, a session. Each waits for the one before it,
and a second core has nothing to do. Two costly things depend on none of these steps:

* Python modules. The first call with an argument from Python to Java imports pandas, through
  PySpark's converter for arrays, and the registration of the format imports Arrow. They are
  imported while the JVM comes up and this process would only wait for it.
* Scala's reflection. MLlib's functions, which every session registers, look at Scala types, and the
  tables for that take a second to build. They are built while Spark makes its context.

Rules this module keeps:

* A session never depends on it. What fails here is tried again, and told, by who needs it.
* No step of Spark's is done here, nor any of its classes initialised: two threads that initialise
  classes which need each other wait for ever. Reflection and Scala's library know nothing of
  Spark, nothing that Spark does before its session uses reflection, and ``universe`` is a lazy
  value, for which a second thread waits.
* When the session is there it has ended: it has no more to do than the session itself waited for.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import Event, Thread
from typing import Any, Final

# In this order: the first is what a session asks for first.
MODULES: Final = ("pyspark.testing", "moldau.spark.source")
_POLL_S: Final = 0.02
_PATIENCE_S: Final = 2.0


@contextmanager
def beside_start() -> Iterator[None]:
    """Warm up while the block starts Spark; nothing to do where there is a JVM already."""
    if _gateway() is not None:
        yield
        return
    has_ended = Event()
    # PySpark forks while it runs. What the child does before it becomes a shell takes no lock that
    # an import could hold.
    warming = Thread(target=_warm_up, args=(has_ended,), name="moldau-warm-up", daemon=True)
    warming.start()
    try:
        yield
        has_ended.set()
        warming.join(_PATIENCE_S)
    finally:
        # Of a start that failed: it stops waiting for a JVM, and nobody waits for it.
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
    """Have the JVM build Scala's tables for reflection; whether that was possible."""
    # The JVM may have died, or be one without these classes.
    try:
        getattr(gateway.jvm.scala.reflect.runtime, "package").universe()  # noqa: B009
    except Exception:
        return False
    return True


def _gateway() -> Any:
    """PySpark's way to its JVM; None until there is one."""
    from pyspark import SparkContext

    return SparkContext._gateway
