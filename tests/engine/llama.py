"""llama.py - llama-server: it listens on a free port, which its log tells, or on a unix socket."""

from __future__ import annotations

import http.client
import re
import signal
import time
from pathlib import Path

from server import POLL_S, EngineServer, ServerError, UnixConnection

SLOTS = 4
CONTEXT = 32768
SLOT_CONTEXT = CONTEXT // SLOTS

LISTENING = re.compile(r"listening on (http://[0-9.]+:[1-9][0-9]*)")


class LlamaServer(EngineServer):
    """One llama-server with four slots."""

    name = "llama-server"
    start_s = 60.0
    ends_by = signal.SIGKILL
    prefix = "llamacpp:"
    running = "requests_processing"
    waiting = "requests_deferred"
    generated = "tokens_predicted_total"

    def __init__(
        self,
        engine: str,
        model: Path,
        folder: Path,
        options: list[str] | None = None,
        unix_socket: Path | None = None,
        port: int = 0,
    ) -> None:
        self.unix_socket = unix_socket
        self._url = f"http://127.0.0.1:{port}" if port else None
        host = str(unix_socket) if unix_socket else "127.0.0.1"
        command = [engine, "--model", str(model), "--alias", "random-weights"]
        command += ["--host", host, "--port", str(port), "-np", str(SLOTS), "-c", str(CONTEXT)]
        # One thread: two that share two cores with anything else mostly wait for each other.
        command += ["-t", "1", "--metrics", "--slots", "--no-ui", *(options or [])]
        super().__init__(command, folder)

    def url(self) -> str:
        """Its address. A port that the system chose stands in the log, after a while."""
        give_up_at = time.monotonic() + self.start_s
        while self._url is None:
            self.check_runs()
            if time.monotonic() > give_up_at:
                raise ServerError(f"{self.name} did not listen within {self.start_s:.0f} s")
            if self.unix_socket:
                self._url = f"unix:{self.unix_socket}"
            elif match := LISTENING.search(self.log.read_text(errors="replace")):
                self._url = match[1]
            else:
                time.sleep(POLL_S)
        return self._url

    def connection(self) -> http.client.HTTPConnection:
        return UnixConnection(self.unix_socket, 10) if self.unix_socket else super().connection()
