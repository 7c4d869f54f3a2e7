"""server.py - an engine as a child process, and what it says about itself over HTTP.

It writes its log into the folder it was given and ends with this program, whatever happens. It is
only ever signalled by its id, or by that of the group it leads.
"""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

POLL_S = 0.02
STOP_S = 20.0
PR_SET_PDEATHSIG = 1


def free_port() -> int:
    """A port that nobody listens on, now; who needs it for sure asks the system by port 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class ServerError(Exception):
    """The server did not do what any server does; the text is fit to print."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP through a unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


class EngineServer:
    """One server, from start to stop; `with` stops it. An engine's class says what is its own."""

    name: str  # in messages, and of the log
    start_s: float  # no start takes longer
    ends_by: signal.Signals  # what the kernel sends it when this program is gone
    # its metrics: what stands before each name, and the names that everyone needs
    prefix: str
    running: str
    waiting: str
    generated: str

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.log = folder / f"{self.name}.log"
        parting = int(self.ends_by)

        def end_with_parent() -> None:
            """Between fork and exec: the kernel ends this child when its parent ends."""
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, parting)

        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def __enter__(self) -> EngineServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # ---- its life -----------------------------------------------------------------------------

    def url(self) -> str:
        raise NotImplementedError

    def check_runs(self) -> None:
        if self.process.poll() is not None:
            tail = self.log.read_text(errors="replace").splitlines()[-3:]
            words = " / ".join(tail)
            raise ServerError(f"{self.name} ended with {self.process.returncode}: {words}")

    def wait_ready(self) -> str:
        """The URL, when /health answers 200."""
        url = self.url()
        give_up_at = time.monotonic() + self.start_s
        while self.status("/health") != 200:
            self.check_runs()
            if time.monotonic() > give_up_at:
                raise ServerError(f"{self.name} was not ready within {self.start_s:.0f} s")
            time.sleep(POLL_S)
        return url

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
        # it leads a group of its own: whatever it has started and left behind
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    # ---- what it says -------------------------------------------------------------------------

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.url().removeprefix("http://"), timeout=10)

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body; status 0 when nobody answers."""
        with contextlib.closing(self.connection()) as connection:
            try:
                connection.request("GET", path)
                reply = connection.getresponse()
                return reply.status, reply.read()
            except (OSError, http.client.HTTPException):
                return 0, b""

    def status(self, path: str) -> int:
        return self.get(path)[0]

    def metrics_text(self) -> str:
        status, body = self.get("/metrics")
        if status != 200:
            raise ServerError(f"GET /metrics: HTTP {status}")
        return body.decode()

    def metrics(self) -> dict[str, float]:
        """The counters and gauges of /metrics without their prefix, label sets summed."""
        found: dict[str, float] = {}
        pattern = rf"^{self.prefix}(\w+)(?:\{{.*\}})? (\S+)$"
        for name, value in re.findall(pattern, self.metrics_text(), re.MULTILINE):
            found[name] = found.get(name, 0.0) + float(value)
        return found

    def metrics_when_idle(self) -> dict[str, float]:
        """The same once no request is being served."""
        give_up_at = time.monotonic() + STOP_S
        while True:
            metrics = self.metrics()
            if metrics[self.running] == metrics[self.waiting] == 0:
                return metrics
            if time.monotonic() > give_up_at:
                raise ServerError(f"{self.name} was not idle within {STOP_S:.0f} s")
            time.sleep(POLL_S)

    def generated_when_idle(self) -> float:
        """The count of generated tokens once no request is being served."""
        return self.metrics_when_idle()[self.generated]
