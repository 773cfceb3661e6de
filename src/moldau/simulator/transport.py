"""One end of a simulated connection, as an asyncio transport, and the wire to the other end.

A wire carries what one end writes: chunks in order, each after its own delay. Between connections
nothing is in order. While the way is cut, chunks wait in front of the gap, as TCP sends them again
and again. The end of a stream (FIN) and a reset (RST) travel on the same wire.

The kernel of a machine and its process are told apart: what the kernel has accepted arrives even if
the process dies at once, and bytes for a process that hangs are received all the same.
"""

import asyncio
from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from moldau.simulator.loop import SimulatedLoop
    from moldau.simulator.network import SimulatedNetwork

# What the kernels of both ends store of one direction.
KERNEL_BYTES: Final = 256 * 1024
HIGH_WATER_BYTES: Final = 64 * 1024


class Mark(Enum):
    """What travels besides bytes."""

    FIN = "FIN"
    RST = "RST"


Chunk = bytes | Mark


class Wire:
    """One direction of one connection."""

    def __init__(self, network: "SimulatedNetwork", source: str, target: str, name: str) -> None:
        self.source = source
        self.target = target
        self.name = name
        self.receiver: SimulatedTransport | None = None
        # The other direction, if requests are sent in this one.
        self.answers: Wire | None = None
        self._network = network
        self._world = network.world
        self._under_way: deque[tuple[int, Chunk]] = deque()
        self._latest_us = 0

    def send(self, chunk: Chunk) -> None:
        size = len(chunk) if isinstance(chunk, bytes) else 0
        delay_us = self._network.delay_us(self.source, self.target, size)
        self._latest_us = max(self._latest_us, self._world.now_us + delay_us)
        self._under_way.append((self._latest_us, chunk))
        if len(self._under_way) == 1:
            self._world.at(self._latest_us, self._arrive)

    def go_on(self, delay_us: int) -> None:
        """The way is free again: what waited arrives after the delay."""
        self._latest_us = max(self._latest_us, self._world.now_us + delay_us)
        self._world.after(delay_us, self._arrive)

    def _arrive(self) -> None:
        if self._network.is_cut(self.source, self.target):
            self._network.wait_for(self)
            return
        chunk = self._under_way[0][1]
        if self._network.is_held(self, chunk):
            return
        self._under_way.popleft()
        if self._under_way:
            self._world.at(self._under_way[0][0], self._arrive)
        if self.receiver is not None:
            mark = chunk if isinstance(chunk, bytes) else chunk.value.encode()
            self._world.trace(self.name.encode() + b" " + mark)
            self.receiver.arrived(chunk)


class SimulatedTransport(asyncio.Transport):
    """The end of a connection on one machine."""

    def __init__(
        self,
        network: "SimulatedNetwork",
        loop: "SimulatedLoop",
        outgoing: Wire,
        incoming: Wire,
        addresses: tuple[tuple[str, int], tuple[str, int]],
    ) -> None:
        """``addresses`` are our own and the peer's."""
        super().__init__({"sockname": addresses[0], "peername": addresses[1]})
        self.peer: SimulatedTransport | None = None
        self._network = network
        self._loop = loop
        self._outgoing = outgoing
        incoming.receiver = self
        self._protocol: asyncio.BaseProtocol | None = None
        self._received: deque[Chunk] = deque()
        self._is_reading = True
        self._is_read_planned = False
        # Not accepted by the kernel yet.
        self._unsent: deque[Chunk] = deque()
        self._unsent_bytes = 0
        self._in_kernels = 0
        self._is_writing_paused = False
        self._has_written_eof = False
        self._is_closing = False
        # The kernel knows nothing of this connection any more.
        self._is_gone = False

    @property
    def host(self) -> str:
        return self._outgoing.source

    # --- the kernel's side ---

    def arrived(self, chunk: Chunk) -> None:
        if chunk is Mark.RST:
            self._lose(ConnectionResetError("Connection reset by peer"))
        elif self._is_gone:
            # A machine that is off answers nothing.
            if isinstance(chunk, bytes) and self._network.is_up(self.host):
                self._outgoing.send(Mark.RST)
        else:
            self._received.append(chunk)
            self._plan_read()

    def consumed(self, size_bytes: int) -> None:
        """The process at the other end has read so many bytes."""
        self._in_kernels -= size_bytes
        if self._unsent:
            self._push()
        if self._is_writing_paused and self._unsent_bytes <= HIGH_WATER_BYTES // 4:
            self._is_writing_paused = False
            self._loop.call_soon(self._resume_writing)

    def process_died(self) -> None:
        """The kernel closes the connection of a process that is no more."""
        if not self._is_gone:
            self._outgoing.send(Mark.RST if self._received else Mark.FIN)
            self.vanish()

    def vanish(self) -> None:
        """The machine lost its power: nobody is told."""
        self._is_gone = True
        self._received.clear()
        self._unsent.clear()
        self._network.forget(self)

    def reset(self) -> None:
        """Something between the two ends breaks the connection."""
        if not self._is_gone:
            self._outgoing.send(Mark.RST)
            self._lose(ConnectionResetError("Connection reset by peer"))

    def _push(self) -> None:
        """Move what was written into the kernel, as far as it has room."""
        while self._unsent and self._in_kernels < KERNEL_BYTES:
            chunk = self._unsent.popleft()
            if isinstance(chunk, bytes):
                room = KERNEL_BYTES - self._in_kernels
                if len(chunk) > room:
                    self._unsent.appendleft(chunk[room:])
                    chunk = chunk[:room]
                self._unsent_bytes -= len(chunk)
                self._in_kernels += len(chunk)
            for piece in self._network.pieces(chunk):
                self._outgoing.send(piece)
        if self._is_closing and not self._unsent:
            self._lose(None)

    def _lose(self, error: Exception | None) -> None:
        if not self._is_gone:
            self.vanish()
            self._is_closing = True
            self._loop.call_soon(self._tell_lost, error)

    # --- reading ---

    def attach(self, protocol: asyncio.BaseProtocol) -> None:
        """Begin, with ``protocol``; called on the loop."""
        self._protocol = protocol
        protocol.connection_made(self)
        if self._is_gone:
            self._loop.call_soon(self._tell_lost, ConnectionResetError("Connection reset by peer"))
        self._plan_read()

    def _plan_read(self) -> None:
        can_read = self._is_reading and self._protocol is not None and not self._is_gone
        if self._received and can_read and not self._is_read_planned:
            self._is_read_planned = True
            self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._is_read_planned = False
        if not self._received or not self._is_reading or self._is_gone:
            return
        chunk = self._received.popleft()
        if isinstance(chunk, bytes):
            taken = self._give(chunk)
            if taken < len(chunk):
                self._received.appendleft(chunk[taken:])
            if self.peer is not None:
                self.peer.consumed(taken)
        elif not self._stream.eof_received():
            self.close()
        self._plan_read()

    def _give(self, chunk: bytes) -> int:
        protocol = self._protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            self._stream.data_received(chunk)
            return len(chunk)
        buffer = memoryview(protocol.get_buffer(-1)).cast("B")
        taken = min(len(buffer), len(chunk))
        assert taken > 0, "a protocol has room for what it reads"
        buffer[:taken] = chunk[:taken]
        del buffer
        protocol.buffer_updated(taken)
        return taken

    @property
    def _stream(self) -> asyncio.Protocol:
        # Both kinds of protocols have eof_received.
        return cast(asyncio.Protocol, self._protocol)

    def _tell_lost(self, error: Exception | None) -> None:
        if self._protocol is not None:
            self._protocol.connection_lost(error)

    def _resume_writing(self) -> None:
        if self._protocol is not None and not self._is_closing:
            self._protocol.resume_writing()

    # --- what a protocol calls ---

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        assert not self._has_written_eof, "write after write_eof"
        if self._is_gone or self._is_closing or self._loop.is_dead or not data:
            return
        self._unsent.append(bytes(data))
        self._unsent_bytes += len(data)
        self._push()
        if self._unsent_bytes > HIGH_WATER_BYTES and not self._is_writing_paused:
            self._is_writing_paused = True
            if self._protocol is not None:
                self._protocol.pause_writing()

    def write_eof(self) -> None:
        if not self._has_written_eof and not self._is_gone and not self._loop.is_dead:
            self._has_written_eof = True
            self._unsent.append(Mark.FIN)
            self._push()

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if self._is_closing or self._loop.is_dead:
            return
        if any(isinstance(chunk, bytes) for chunk in self._received):
            # As in TCP: bytes that nobody has read turn a close into a reset.
            self.abort()
            return
        self._is_closing = True
        self._is_reading = False
        if not self._has_written_eof:
            self._has_written_eof = True
            self._unsent.append(Mark.FIN)
        self._push()

    def abort(self) -> None:
        if not self._is_gone and not self._loop.is_dead:
            self._outgoing.send(Mark.RST)
            self._lose(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return HIGH_WATER_BYTES // 4, HIGH_WATER_BYTES

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limits are the same for all."""

    def is_reading(self) -> bool:
        return self._is_reading

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._plan_read()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None, "a transport without a protocol"
        return self._protocol
