"""http1.py - one HTTP/1.1 connection of the scripted server, down to the bytes.

Reads requests, writes replies in every framing that servers use, cuts writes as the case wants,
notices when the client goes away, and can end a connection politely or with a reset.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import zlib
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from replies import Op, Reply, Settings

EOLS = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
HEAD_MAX = 64 << 10


@dataclass
class Request:
    """A request as it came; header names are lower-case."""

    method: str
    path: str
    query: str
    version: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        try:
            return json.loads(self.raw) if self.raw else None
        except ValueError:
            return None


class BadRequest(Exception):
    """The client's bytes are no HTTP request; the text says why."""


class Connection:
    """One accepted socket."""

    def __init__(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer
        self.buffer = b""
        self.gone = asyncio.Event()
        sock = writer.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # ---- in -----------------------------------------------------------------------------------

    async def _more(self) -> bool:
        try:
            data = await self.reader.read(1 << 16)
        except OSError:
            data = b""
        if not data:
            self.gone.set()
        self.buffer += data
        return bool(data)

    async def watch(self) -> None:
        """Run beside a reply: notices the client's end and keeps what it sends early."""
        while await self._more():
            pass

    async def _until(self, mark: bytes) -> bytes | None:
        while mark not in self.buffer:
            if len(self.buffer) > HEAD_MAX:
                raise BadRequest("a line or head without an end")
            if not await self._more():
                return None
        head, _, self.buffer = self.buffer.partition(mark)
        return head

    async def _exactly(self, count: int) -> bytes | None:
        while len(self.buffer) < count:
            if not await self._more():
                return None
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    async def read_request(self) -> Request | None:
        """The next request; None when the client is done."""
        head = await self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *rest = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise BadRequest(f"bad request line: {first}")
        headers: dict[str, str] = {}
        for line in rest:
            name, colon, value = line.partition(":")
            if not colon or name != name.strip():
                raise BadRequest(f"bad header: {line}")
            headers[name.lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw = await self._body(headers)
        if raw is None:
            return None
        path, _, query = words[1].partition("?")
        return Request(words[0], path, query, words[2], headers, raw)

    async def _body(self, headers: dict[str, str]) -> bytes | None:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            length = headers.get("content-length", "0")
            if not length.isdigit():
                raise BadRequest(f"bad content-length: {length}")
            return await self._exactly(int(length))
        body = b""
        while True:
            line = await self._until(b"\r\n")
            if line is None:
                return None
            size = int(line.split(b";")[0], 16)
            chunk = await self._exactly(size + 2)
            if chunk is None:
                return None
            if size == 0:
                return body
            body += chunk[:size]

    # ---- out ----------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if data and not self.gone.is_set():
            self.writer.write(data)

    async def reply(self, reply: Reply, close: bool) -> None:
        """A whole answer with Content-Length."""
        head = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}"]
        head += [f"{name}: {value}" for name, value in reply.headers]
        head.append(f"Content-Length: {len(reply.body)}")
        if close:
            head.append("Connection: close")
        self.write(("\r\n".join(head) + "\r\n\r\n").encode() + reply.body)

    async def play(self, ops: list[Op]) -> None:
        """A script. Unless it says otherwise the connection is closed at its end."""
        drip: float | None = None
        clock = asyncio.get_running_loop().time
        due = clock()

        async def pause(seconds: float) -> None:
            """Late once is not late for ever: pauses keep to the clock, on average."""
            nonlocal due
            due += seconds
            await asyncio.sleep(max(0.0, due - clock()))

        for op in ops:
            if op.kind == "pause":
                await pause(op.seconds)
            elif op.kind == "drip":
                drip = op.seconds
            elif op.kind == "stall":
                await self.gone.wait()
            elif op.kind == "reset":
                self.reset()
                return
            elif op.kind == "shut":
                self.writer.write_eof()
            elif op.kind == "close":
                return
            elif drip is None:
                self.write(op.data)
            else:
                for position in range(len(op.data)):
                    self.write(op.data[position : position + 1])
                    await pause(drip)

    def reset(self) -> None:
        """End with RST, whatever is still unsent."""
        sock = self.writer.get_extra_info("socket")
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # closed already
        self.gone.set()
        self.writer.transport.abort()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


class EventStream:
    """A reply of server-sent events in the framing, coding and cut of the settings."""

    def __init__(self, connection: Connection, settings: Settings, seed: int) -> None:
        self.connection = connection
        self.settings = settings
        self.eol = EOLS[settings.eol]
        self.rng = random.Random(seed)
        self.held: list[bytes] = []  # glued events, or the whole body when its length is needed
        self.gzip = zlib.compressobj(wbits=31) if settings.encoding == "gzip" else None
        self.ornate = settings.framing == "ornate"
        self.chunked = settings.framing in ("chunked", "ornate")
        self.keep = settings.reuse and (self.chunked or settings.framing == "length")

    async def begin(self) -> None:
        if self.settings.framing != "length":
            self.connection.write(self._head(None))

    def _head(self, length: int | None) -> bytes:
        framing = self.settings.framing
        head = ["HTTP/1.0 200 OK" if framing == "http10" else "HTTP/1.1 200 OK"]
        head += [f"Content-Type: {self.settings.type}", "Cache-Control: no-cache"]
        if self.chunked:
            head.append("Transfer-Encoding: chunked")
        if length is not None:
            head.append(f"Content-Length: {length}")
        if self.settings.encoding == "gzip":
            head.append("Content-Encoding: gzip")
        if framing == "close" or self.settings.keepalive == "off":
            head.append("Connection: close")
        if self.ornate:
            pairs = [line.partition(":") for line in head[1:]]
            lower = [f"{name.lower()}:{value}" for name, _, value in pairs]
            early = ["HTTP/1.1 103 Early Hints", "link: </style.css>; rel=preload", "", ""]
            head = early + [head[0]] + lower + ["trailer: x-checksum"]
        return ("\r\n".join(head) + "\r\n\r\n").encode()

    async def event(self, data: str, kind: str = "") -> None:
        prefix = f"event: {kind}{self.eol}" if kind else ""
        await self.text(f"{prefix}data: {data}{self.eol}{self.eol}")

    async def comment(self, words: str) -> None:
        await self.text(f": {words}{self.eol}{self.eol}")

    async def text(self, text: str) -> None:
        """One event's text, or any other."""
        data = text.encode()
        if self.gzip:
            data = self.gzip.compress(data) + self.gzip.flush(zlib.Z_SYNC_FLUSH)
        await self._body(data)

    async def _body(self, data: bytes) -> None:
        if self.settings.framing == "length":
            self.held.append(data)
            return
        if self.chunked:
            extension = b';note="a;b"' if self.ornate else b""
            data = b"%x%s\r\n%s\r\n" % (len(data), extension, data)
        style = self.settings.write
        if style.kind == "glue":
            self.held.append(data)
            if len(self.held) >= style.count:
                self._flush()
        elif style.kind == "whole":
            self.connection.write(data)
        else:
            await self._in_pieces(data)

    async def _in_pieces(self, data: bytes) -> None:
        style = self.settings.write
        cuts = list(range(1, len(data)))
        if style.kind == "split":
            cuts = sorted(self.rng.sample(cuts, min(style.count - 1, len(cuts))))
        start = 0
        for cut in cuts + [len(data)]:
            self.connection.write(data[start:cut])
            start = cut
            # Lets the client read between the pieces.
            await asyncio.sleep(0.001 if style.kind == "split" else 0)

    def _flush(self) -> None:
        self.connection.write(b"".join(self.held))
        self.held = []

    async def end(self) -> None:
        """The regular end of the body."""
        if self.gzip:
            await self._body(self.gzip.flush())
        if self.settings.framing == "length":
            body = b"".join(self.held)
            self.held = [self._head(len(body)), body]
        self._flush()
        if self.chunked:
            trailers = b"x-checksum: 0a1b\r\n" if self.ornate else b""
            self.connection.write(b"0\r\n" + trailers + b"\r\n")

    async def cut(self) -> None:
        """Half an event and no end of the body."""
        self._flush()
        half = b'data: {"choices":[{"index":0,"delta":{"cont'
        if self.chunked:
            half = b"ff\r\n" + half
        self.connection.write(half)
        self.keep = False
