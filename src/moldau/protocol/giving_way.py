"""Where a long loop of compiled code lets other threads run.

A large message is decoded and encoded by a thread, while the event loop goes on. Interpreted
code hands the GIL over whenever another thread has waited for it long enough; compiled code
never does, until it calls a function that is interpreted. So this module is not compiled, and
the loops over the elements of arrays call it every so often (``LONG_RUN``).
"""


def give_way() -> None:
    """Let another thread run if one is waiting; the interpreter does it on entering here."""
