"""emulator.py - the emulated engine as a child process, and small clients for what it sends."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

import invariants
from program import Finished, Program

LISTENING = re.compile(r"listening on http://127\.0\.0\.1:([0-9]+)\n")
START_S = 20.0
RUN_LIMIT_S = 120.0


class Failed(Exception):
    """A test's claim does not hold."""


def expect(holds: bool, words: str) -> None:
    if not holds:
        raise Failed(words)


@dataclass(frozen=True)
class Answer:
    """A whole response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise Failed(f"HTTP {self.status} with no JSON: {self.body[:200]!r}") from None


@dataclass(frozen=True)
class Stream:
    """An event stream, chunk by chunk as the server wrote it."""

    status: int
    headers: dict[str, str]
    chunks: list[bytes]
    times: list[float]  # of each chunk, seconds since the request was sent
    head_at: float
    ended: bool  # by the last chunk; else the connection broke off
    reset: bool

    @property
    def events(self) -> list[Any]:
        """The JSON events; [DONE] is the string."""
        found: list[Any] = []
        for block in b"".join(self.chunks).split(b"\n\n")[:-1]:
            expect(block.startswith(b"data: "), f"no event: {block[:80]!r}")
            payload = block[6:]
            found.append("[DONE]" if payload == b"[DONE]" else json.loads(payload))
        return found

    @property
    def text(self) -> str:
        return "".join(text_of(event) for event in self.events)

    @property
    def finish(self) -> str | None:
        found = None
        for event in self.events:
            if event != "[DONE]" and event.get("choices"):
                found = event["choices"][0].get("finish_reason") or found
        return found

    @property
    def usage(self) -> dict[str, Any]:
        for event in reversed(self.events):
            if event != "[DONE]" and event.get("usage"):
                usage = event["usage"]
                assert isinstance(usage, dict)
                return usage
        raise Failed("no usage")


def text_of(event: Any) -> str:
    if event == "[DONE]" or not event.get("choices"):
        return ""
    choice = event["choices"][0]
    text = choice["text"] if "text" in choice else choice["delta"].get("content")
    return text or ""


class Emulator:
    """One `tokgrid engine`, from start to stop."""

    def __init__(self, tokgrid: str, folder: Path, arguments: str) -> None:
        command = [tokgrid, "engine", "--port", "0", *arguments.split()]
        self.program = Program(command, folder)
        self.program.wait_line("listening on ", START_S)
        match = LISTENING.fullmatch(self.program.stdout.read_text())
        expect(match is not None, f"it says: {self.program.stdout.read_text()!r}")
        assert match
        self.port = int(match[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> tuple[int, str]:
        """Its exit code, and what it wrote to standard error."""
        if self.program.process.poll() is None:
            self.program.signal(signal.SIGTERM)
            try:
                self.program.process.wait(10)
            except subprocess.TimeoutExpired:
                self.program.end()
        return self.program.process.returncode, self.program.stderr.read_text()

    def rss_mb(self) -> float:
        status = Path(f"/proc/{self.program.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+([0-9]+) kB", status)
        assert match
        return int(match[1]) / 1024

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | list[Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, data, headers or {})
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, names, reply.read())
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def post(self, path: str, body: bytes | dict[str, Any] | list[Any]) -> Answer:
        return self.ask("POST", path, body)

    def connect(self, path: str, body: dict[str, Any]) -> socket.socket:
        """Send a request; what comes is read from the socket."""
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        peer.sendall(head.encode() + data)
        return peer

    def stream(self, path: str = "/v1/chat/completions", **fields: Any) -> Stream:
        body: dict[str, Any] = {"max_tokens": 32, "ignore_eos": True, "stream": True}
        if path.endswith("chat/completions"):
            body["messages"] = [{"role": "user", "content": "Tell me something."}]
        else:
            body["prompt"] = "Tell me something."
        body["stream_options"] = {"include_usage": True}
        body |= fields
        with self.connect(path, body) as peer:
            return read_stream(peer)

    def metrics(self) -> dict[str, float]:
        """Samples without a label of their own, by name without the engine's prefix."""
        found: dict[str, float] = {}
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith("#"):
                continue
            name, value = line.rsplit(" ", 1)
            base = name.split("{")[0].split(":")[1]
            found.setdefault(base, float(value))
        return found

    def wait_metric(self, name: str, value: float, limit_s: float = 10) -> None:
        give_up_at = time.monotonic() + limit_s
        while (now := self.metrics()[name]) != value:
            expect(time.monotonic() < give_up_at, f"{name} is {now}, not {value}")
            time.sleep(0.02)


def _head(peer: socket.socket) -> tuple[int, dict[str, str], bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more:
            raise Failed(f"the connection ended in the head: {data!r}")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), {name.lower(): v for name, v in headers.items()}, rest


def read_stream(peer: socket.socket) -> Stream:
    """Everything until the end, in the chunks of the chunked coding."""
    began = time.monotonic()
    status, headers, data = _head(peer)
    head_at = time.monotonic() - began
    chunks: list[bytes] = []
    times: list[float] = []
    reset = False
    while True:
        while (line := data.find(b"\r\n")) >= 0:
            size = int(data[:line], 16)
            if len(data) < line + 2 + size + 2:
                break
            if size == 0:
                return Stream(status, headers, chunks, times, head_at, True, False)
            chunks.append(data[line + 2 : line + 2 + size])
            times.append(time.monotonic() - began)
            data = data[line + 2 + size + 2 :]
        try:
            more = peer.recv(65536)
        except ConnectionResetError:
            reset = True
            more = b""
        if not more:
            return Stream(status, headers, chunks, times, head_at, False, reset)
        data += more


@dataclass
class Bench:
    """One test's surroundings. Everything started here is ended by `stop_all`."""

    tokgrid: str
    root: Path
    slow: float
    validate: Callable[[Any], Iterator[str]] | None
    _folders: int = 0
    _running: list[Program] = field(default_factory=list)

    def folder(self) -> Path:
        self._folders += 1
        path = self.root / str(self._folders)
        path.mkdir(parents=True)
        return path

    def emulator(self, arguments: str) -> Emulator:
        started = Emulator(self.tokgrid, self.folder(), arguments)
        self._running.append(started.program)
        return started

    def start(self, arguments: str) -> Program:
        """Any command of the program."""
        program = Program([self.tokgrid, *arguments.split()], self.folder())
        self._running.append(program)
        return program

    def command(self, arguments: str) -> Finished:
        return self.start(arguments).finish(RUN_LIMIT_S * self.slow)

    def measure(self, emulator: Emulator, options: str) -> Finished:
        """A run that writes a result which keeps every rule; its exit code is the caller's."""
        finished = self.command(f"run {emulator.url} --plain --out r.json {options}")
        problems = list(invariants.violations(finished.result))
        if self.validate:
            problems += self.validate(finished.result)
        expect(not problems, "; ".join(problems))
        return finished

    def stop_all(self) -> None:
        for program in self._running:
            program.end()
        self._running.clear()
