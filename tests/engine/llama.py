"""llama.py - a llama-server as a child process, and what it says about itself over HTTP.

A server listens on a free port or on a unix socket, writes its log into the folder it was given,
and ends with this program, whatever happens. It is only ever signalled by its id.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

SLOTS = 4
CONTEXT = 32768
SLOT_CONTEXT = CONTEXT // SLOTS

START_S = 60.0
STOP_S = 20.0
POLL_S = 0.02
LISTENING = re.compile(r"listening on (http://[0-9.]+:[1-9][0-9]*)")
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port that nobody listens on, now; who needs it for sure asks the system by port 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class ServerError(Exception):
    """The server did not do what any server does; the text is fit to print."""


def _end_with_parent() -> None:
    """Between fork and exec: the kernel ends this child when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class _UnixConnection(http.client.HTTPConnection):
    """HTTP through a unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class LlamaServer:
    """One server, from start to stop; `with` stops it."""

    def __init__(
        self,
        engine: str,
        model: Path,
        folder: Path,
        options: list[str] | None = None,
        unix_socket: Path | None = None,
        port: int = 0,
    ) -> None:
        self.log = folder / "llama-server.log"
        self.unix_socket = unix_socket
        self._url = f"http://127.0.0.1:{port}" if port else None
        host = str(unix_socket) if unix_socket else "127.0.0.1"
        command = [engine, "--model", str(model), "--alias", "random-weights"]
        command += ["--host", host, "--port", str(port), "-np", str(SLOTS), "-c", str(CONTEXT)]
        # One thread: two that share two cores with anything else mostly wait for each other.
        command += ["-t", "1", "--metrics", "--slots", "--no-ui", *(options or [])]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def __enter__(self) -> LlamaServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # ---- its life -----------------------------------------------------------------------------

    def check_runs(self) -> None:
        if self.process.poll() is not None:
            tail = self.log.read_text(errors="replace").splitlines()[-3:]
            words = " / ".join(tail)
            raise ServerError(f"llama-server ended with {self.process.returncode}: {words}")

    def url(self) -> str:
        """Its address. A port that the system chose stands in the log, after a while."""
        give_up_at = time.monotonic() + START_S
        while self._url is None:
            self.check_runs()
            if time.monotonic() > give_up_at:
                raise ServerError(f"llama-server did not listen within {START_S:.0f} s")
            if self.unix_socket:
                self._url = f"unix:{self.unix_socket}"
            elif match := LISTENING.search(self.log.read_text(errors="replace")):
                self._url = match[1]
            else:
                time.sleep(POLL_S)
        return self._url

    def wait_ready(self) -> str:
        """The URL, when /health answers 200."""
        url = self.url()
        give_up_at = time.monotonic() + START_S
        while self.status("/health") != 200:
            self.check_runs()
            if time.monotonic() > give_up_at:
                raise ServerError(f"llama-server was not ready within {START_S:.0f} s")
            time.sleep(POLL_S)
        return url

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    # ---- what it says -------------------------------------------------------------------------

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body; status 0 when nobody answers."""
        url = self.url()
        connection: http.client.HTTPConnection
        if self.unix_socket:
            connection = _UnixConnection(self.unix_socket, 10)
        else:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path)
                reply = connection.getresponse()
                return reply.status, reply.read()
            except (OSError, http.client.HTTPException):
                return 0, b""

    def status(self, path: str) -> int:
        return self.get(path)[0]

    def metrics(self) -> dict[str, float]:
        """The counters and gauges of /metrics, without their prefix."""
        status, body = self.get("/metrics")
        if status != 200:
            raise ServerError(f"GET /metrics: HTTP {status}")
        found = re.findall(rb"^llamacpp:(\w+) (\S+)$", body, re.MULTILINE)
        return {name.decode(): float(value) for name, value in found}

    def generated_when_idle(self) -> float:
        """The count of generated tokens once no request is being served."""
        give_up_at = time.monotonic() + STOP_S
        while True:
            metrics = self.metrics()
            if metrics["requests_processing"] == metrics["requests_deferred"] == 0:
                return metrics["tokens_predicted_total"]
            if time.monotonic() > give_up_at:
                raise ServerError(f"llama-server was not idle within {STOP_S:.0f} s")
            time.sleep(POLL_S)
