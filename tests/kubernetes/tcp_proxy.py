"""A TCP proxy on 127.0.0.1 that can misbehave: for tests of what a program makes of a bad network.

Bytes go through unchanged, so TLS does, too. With several targets every connection goes to the next of them, as behind
a Service. Everything happens on one thread of its own; the methods can be called from any other.
"""

import asyncio
import collections
import socket
import struct
import threading

CHUNK = 1 << 16
PATIENCE = 300  # seconds, for the thread of a proxy to do what it is told to
NO_LINGER = struct.pack("ii", 1, 0)  # closing sends RST


class _Connection:
    """The two ends of one connection through the proxy."""

    def __init__(self, *writers):
        self.writers = writers
        self.dead = False  # stays open, and nothing that comes in goes anywhere
        self.asked_at = 0  # when the client last sent something

    def close(self, reset):
        for writer in self.writers:
            if reset:
                connected = writer.get_extra_info("socket")
                if connected is not None and connected.fileno() >= 0:
                    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
                writer.transport.abort()
            else:
                writer.close()


class TcpProxy:
    """Listens from the start; `port` is where.

    skips: a target that does not take a connection is passed over for the next one. Otherwise the client has none, as
    behind a Service that leads to somebody who is gone.
    """

    def __init__(self, *target_ports, skips=True):
        self._targets = collections.deque(target_ports)
        self._skips = skips
        self._connections = set()
        self._delay = self._bytes_per_second = 0
        self._loop = asyncio.new_event_loop()
        self._flowing = None
        self.taken = self.missed = 0  # connections, since the start; to a target that did not take them
        self.slowed = self.held = 0  # pieces that went through later than they would have, since the start
        begun = threading.Event()
        threading.Thread(target=self._run, args=(begun,), daemon=True).start()
        if not begun.wait(PATIENCE):
            raise RuntimeError("a proxy does not begin to listen")

    def lead_to(self, *target_ports):
        """New connections go to these; those that there are stay where they are."""

        def change():
            if sorted(self._targets) != sorted(target_ports):  # the same ones keep their turn
                self._targets = collections.deque(target_ports)

        self._call(change)

    def cut(self, reset=True):
        """Ends all connections, with RST or FIN; returns how many. New ones are taken."""
        return self._call(self._cut, reset)

    def deaden(self, quiet=0):
        """Connections stay open, and nothing arrives any more on either side; new ones are well.

        Only those on which the client has sent nothing for this many seconds. Returns how many.
        """
        return self._call(self._deaden, quiet)

    def hold(self):
        """Nothing goes through, neither on these connections nor on new ones, until release(), and then all of it."""
        self._call(lambda: self._flowing.clear())

    def release(self):
        self._call(lambda: self._flowing.set())

    def slow_down(self, delay, bytes_per_second=0):
        """Every byte takes `delay` seconds in each direction; 0: no limit to how many there are in a second."""

        def change():
            self._delay, self._bytes_per_second = delay, bytes_per_second

        self._call(change)

    def _call(self, action, *arguments):
        done = threading.Event()
        outcome = []

        def run():
            try:
                outcome.append(action(*arguments))
            finally:
                done.set()  # also if it failed: somebody waits

        self._loop.call_soon_threadsafe(run)
        if not done.wait(PATIENCE) or not outcome:
            raise RuntimeError("a proxy did not do what it was told to")
        return outcome[0]

    def _run(self, begun):
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda *_: None)  # a peer that is gone is nothing to tell
        self._loop.run_until_complete(self._listen())
        begun.set()
        self._loop.run_forever()

    async def _listen(self):
        self._flowing = asyncio.Event()
        self._flowing.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=256)
        self.port = server.sockets[0].getsockname()[1]

    def _cut(self, reset):
        ended = list(self._connections)
        for connection in ended:
            connection.close(reset)
        return len(ended)

    def _deaden(self, quiet):
        until = self._loop.time() - quiet
        alive = [each for each in self._connections if not each.dead and each.asked_at <= until]
        for connection in alive:
            connection.dead = True
        return len(alive)

    async def _connect(self):
        self._targets.rotate(-1)
        for port in list(self._targets)[: None if self._skips else 1]:
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                self.missed += 1
        return None

    async def _serve(self, reader, writer):
        await self._flowing.wait()
        target = await self._connect()
        if target is None:
            writer.transport.abort()
            return
        self.taken += 1
        connection = _Connection(writer, target[1])
        self._connections.add(connection)
        try:
            await asyncio.gather(
                self._pump(connection, reader, target[1]), self._pump(connection, target[0], writer)
            )
        finally:
            self._connections.discard(connection)
            connection.close(reset=False)

    async def _pump(self, connection, reader, writer):
        """One direction, until either end is closed; what is under way is kept in order."""
        from_client = writer is not connection.writers[0]
        waiting = asyncio.Queue()
        sender = asyncio.ensure_future(self._send(connection, waiting, writer))
        try:
            while data := await reader.read(CHUNK):
                waiting.put_nowait((self._loop.time() + self._delay, data))
                if from_client:
                    connection.asked_at = self._loop.time()
        except OSError:
            pass
        waiting.put_nowait((0, b""))
        await sender

    async def _send(self, connection, waiting, writer):
        try:
            while True:
                due, data = await waiting.get()
                if not data:
                    break
                slow = due > self._loop.time()
                await asyncio.sleep(max(0, due - self._loop.time()))
                if self._bytes_per_second:
                    await asyncio.sleep(len(data) / self._bytes_per_second)
                self.slowed += slow or bool(self._bytes_per_second)
                self.held += not self._flowing.is_set()
                await self._flowing.wait()
                if connection.dead:
                    continue
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        # A half-closed connection is of no use to HTTP: both ends go.
        connection.close(reset=False)
