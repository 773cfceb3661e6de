"""The write side of a connection: a queue of bytes and file regions, sent in order.

The event loop's transport can write bytes, but cannot mix them with sendfile. So a plaintext
connection does all of its writes itself: ``send``/``sendmsg`` for bytes in memory, ``os.sendfile``
for regions of a log segment, and a writability watch when the peer's window is full. Nothing else
may write to the socket.

Rules this module keeps:

* Bytes are sent in the order of the ``write`` calls, and only by ``flush``: the replies to a burst
  of requests are all written, then flushed once.
* A region takes no memory: the kernel copies it from the file to the socket.
* One connection sends at most ``TURN_BYTES`` before others are served.
"""

import asyncio
import errno
import io
import os
import socket
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final

from moldau.protocol.primitives import FileRegion, Part

# Up to this size, joining replies into one buffer is cheaper than a sendmsg of many.
JOIN_BYTES: Final = 32768
# Linux accepts 1,024 buffers per call, but preparing that many is expensive.
BUFFERS_PER_CALL: Final = 512
TURN_BYTES: Final = 4 * 1024 * 1024
# The size of a queued region in ``unsent_bytes``. A region takes little memory but keeps a file
# open, so a peer that does not read may have only a few.
REGION_COST_BYTES: Final = 65536
# How much of a region is read at once where sendfile cannot be used.
READ_BYTES: Final = 262144

_MSG_MORE: Final[int] = getattr(socket, "MSG_MORE", 0)


class Writer:
    """The queue of parts to be sent to one peer."""

    def __init__(self) -> None:
        self.unsent_bytes = 0
        self._queue: deque[Part] = deque()
        self._regions = 0
        # How much of the region at the head of the queue has been sent.
        self._region_sent = 0

    def write(self, parts: list[Part]) -> None:
        """Queue one response: its size, then ``parts``. Nothing is sent yet."""
        if len(parts) == 1:
            only = parts[0]
            if isinstance(only, bytes) and len(only) <= JOIN_BYTES:
                self._queue.append(len(only).to_bytes(4, "big") + only)
                self.unsent_bytes += 4 + len(only)
                return
        size = 0
        cost = 4
        for part in parts:
            length = len(part)
            size += length
            if isinstance(part, FileRegion):
                self._regions += 1
                cost += REGION_COST_BYTES
            else:
                cost += length
        self._queue.append(size.to_bytes(4, "big"))
        self._queue.extend(parts)
        self.unsent_bytes += cost

    def flush(self, is_writable: bool = False) -> bool:
        """Send as much as the peer accepts; returns whether everything has been sent.

        ``is_writable`` means that the loop has just reported the socket as writable.

        Raises:
            OSError: the peer is gone, or a file ends before the end of its region.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Drop the queue and release all resources."""
        self._queue.clear()
        self._regions = 0
        self._region_sent = 0
        self.unsent_bytes = 0

    def _read_region(self, region: FileRegion) -> bytes:
        """The next piece of the region at the head of the queue."""
        position = region.position + self._region_sent
        data = region.file.pread(min(region.size - self._region_sent, READ_BYTES), position)
        if not data:
            raise _region_ended(region, self._region_sent)
        return data

    def _region_progress(self, region: FileRegion, sent: int) -> None:
        self._region_sent += sent
        if self._region_sent >= region.size:
            self._queue.popleft()
            self._region_sent = 0
            self._regions -= 1
            self.unsent_bytes -= REGION_COST_BYTES


class SocketWriter(Writer):
    """Writes to a plaintext socket, bypassing the transport that reads from it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        on_writable: Callable[[], None],
    ) -> None:
        super().__init__()
        self._loop = loop
        self._socket = sock
        self._send = sock.send
        self._on_writable = on_writable
        # uvloop does not allow a watch on the descriptor of a transport, so the watch uses a
        # duplicate; most connections never need one.
        self._watch_fd = -1
        self._is_watching = False

    def flush(self, is_writable: bool = False) -> bool:
        queue = self._queue
        if not queue:
            return True
        if self._is_watching and not is_writable:
            return False
        budget = TURN_BYTES
        try:
            while queue and budget > 0:
                if self._regions == 0 and self.unsent_bytes <= JOIN_BYTES:
                    budget -= self._send_joined()
                else:
                    head = queue[0]
                    if isinstance(head, FileRegion):
                        budget -= self._send_region(head, min(budget, TURN_BYTES))
                    else:
                        budget -= self._send_many()
        except (BlockingIOError, InterruptedError):
            pass
        self._watch(bool(queue))
        return not queue

    def close(self) -> None:
        super().close()
        self._watch(False)
        if self._watch_fd >= 0:
            os.close(self._watch_fd)
            self._watch_fd = -1

    def _send_joined(self) -> int:
        """Send the whole queue in one ``send``: the common and fast case."""
        queue = self._queue
        head = queue[0]
        if len(queue) == 1 and isinstance(head, bytes):
            data = head
        else:
            data = b"".join(queue)  # type: ignore[arg-type]  # there are no regions
        sent = self._send(data)
        queue.clear()
        self.unsent_bytes -= sent
        if sent < len(data):
            queue.append(memoryview(data)[sent:])
        return sent

    def _send_many(self) -> int:
        """Send the bytes at the head of the queue, up to the next region, without a copy."""
        queue = self._queue
        buffers: list[bytes | memoryview] = []
        flags = 0
        for part in islice(queue, BUFFERS_PER_CALL):
            if isinstance(part, FileRegion):
                # The region follows immediately: avoid a packet with only the header.
                flags = _MSG_MORE
                break
            buffers.append(part)
        sent = self._socket.sendmsg(buffers, (), flags)
        self.unsent_bytes -= sent
        rest = sent
        for buffer in buffers:
            length = len(buffer)
            if rest < length:
                queue[0] = memoryview(buffer)[rest:]
                break
            queue.popleft()
            rest -= length
        return sent

    def _send_region(self, region: FileRegion, budget: int) -> int:
        if region.size == 0:
            self._region_progress(region, 0)
            return 0
        try:
            fd = region.file.fileno()
        except io.UnsupportedOperation:
            # A file of the simulated disk.
            data = self._read_region(region)
            sent = self._send(data)
        else:
            position = region.position + self._region_sent
            count = min(region.size - self._region_sent, budget)
            sent = os.sendfile(self._socket.fileno(), fd, position, count)
            if sent == 0:
                raise _region_ended(region, self._region_sent)
        self._region_progress(region, sent)
        return sent

    def _watch(self, wanted: bool) -> None:
        if wanted == self._is_watching:
            return
        if wanted:
            if self._watch_fd < 0:
                self._watch_fd = os.dup(self._socket.fileno())
            self._loop.add_writer(self._watch_fd, self._on_writable)
        else:
            self._loop.remove_writer(self._watch_fd)
        self._is_watching = wanted


class TransportWriter(Writer):
    """Writes through a transport: for TLS, and for simulated networks.

    The transport has its own buffer. Nothing is written to it while it holds anything
    (``pause_writing`` and ``resume_writing`` call ``set_paused``), and what it holds is unsent:
    a connection that is closed as soon as its replies are sent would lose it otherwise.
    """

    def __init__(self, transport: asyncio.WriteTransport) -> None:
        super().__init__()
        self._transport = transport
        self._is_paused = False
        self._buffered_bytes = 0
        # The transport reports an empty buffer only if it has reported a full one before.
        transport.set_write_buffer_limits(0)

    def set_paused(self, is_paused: bool) -> None:
        self._is_paused = is_paused

    def flush(self, is_writable: bool = False) -> bool:
        queue = self._queue
        while queue and not self._is_paused:
            head = queue[0]
            if isinstance(head, FileRegion):
                if head.size == 0:
                    self._region_progress(head, 0)
                    continue
                data = self._read_region(head)
                self._transport.write(data)
                self._region_progress(head, len(data))
            else:
                queue.popleft()
                self.unsent_bytes -= len(head)
                self._transport.write(head)
        buffered_bytes = self._transport.get_write_buffer_size()
        self.unsent_bytes += buffered_bytes - self._buffered_bytes
        self._buffered_bytes = buffered_bytes
        return not queue and buffered_bytes == 0

    def close(self) -> None:
        super().close()
        self._buffered_bytes = 0


def _region_ended(region: FileRegion, sent: int) -> OSError:
    path = getattr(region.file, "path", region.file)
    return OSError(
        errno.EIO,
        f"{path} ends at {region.position + sent}, before the region of {region.size} bytes "
        f"at {region.position} that was being sent",
    )
