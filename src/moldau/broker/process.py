"""The process of a node: its event loop, signals, and exit code."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Callable, Sequence

from moldau.broker.node import ABANDON_GRACE_S, Node
from moldau.config.broker import BrokerConfig
from moldau.network.memory import keep_freed_memory

logger = logging.getLogger(__name__)

# SIGHUP is sent when a terminal is closed; as in Apache Kafka, it causes a clean shutdown.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(config: BrokerConfig, say: Callable[[str], None]) -> int:
    """Serve until a signal or a failure; returns the exit code of the process.

    ``say`` prints messages for the user who starts the broker.
    """
    try:
        import uvloop
    except ImportError:  # a platform without uvloop: slower, otherwise the same
        return asyncio.run(_serve(config, say))
    return uvloop.run(_serve(config, say))


async def _serve(config: BrokerConfig, say: Callable[[str], None]) -> int:
    # Cycles are rare here, so frequent collections cost more than they free. The middle generation
    # stays small: a large request creates a million objects, and inspecting more than 20,000 of
    # them at once would delay every other request by milliseconds.
    gc.set_threshold(5_000, 3, 16_000)
    # What was imported is permanent: looking through it once takes a tenth of the time of a start.
    # ``moldau start`` imports it with the collector turned off.
    gc.freeze()
    gc.enable()
    # How long a busy thread (such as the log cleaner's) may hold the GIL while the loop waits. The
    # default is ten times as long, which clients would notice.
    sys.setswitchinterval(0.0005)
    keep_freed_memory()
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in STOP_SIGNALS:
        # A broker started with nohup must outlive the terminal.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopping.set)
    node = Node(config)
    for warning in config.warnings:
        logger.warning("%s", warning)
    ends = [loop.create_task(event.wait()) for event in (stopping, node.failed)]
    try:
        if not await _start(node, ends):
            if node.failure is not None:
                say(f"Moldau stops: {node.failure}")
            return 0 if node.failure is None else 1
        # The same for what the start has created, except for what is garbage by now.
        gc.collect()
        gc.freeze()
        for listener in config.listeners:
            logger.info("%s listens on port %d", listener.name, node.ports[listener.name])
        say(f"Moldau is ready on {node.address} (Ctrl-C stops it)")
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
    if node.failure is not None:
        say(f"Moldau stops: {node.failure}")
        await node.abandon()
        return 1
    logger.info("stopping: finishing requests and flushing logs")
    await node.stop()
    with contextlib.suppress(ValueError):
        loop.remove_signal_handler(signal.SIGTERM)
    return 0


async def _start(node: Node, ends: Sequence["asyncio.Task[bool]"]) -> bool:
    """Start the node; False if a signal or a failure ended that while it waited for others."""
    starting = asyncio.get_running_loop().create_task(node.start())
    await asyncio.wait([starting, *ends], return_when=asyncio.FIRST_COMPLETED)
    if not starting.done() and (node.is_waiting or node.failure is not None):
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
        await node.server.stop(ABANDON_GRACE_S)
        return False
    await starting
    return True
