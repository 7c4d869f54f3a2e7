"""watched.py - processes of a case: the scripted server and the command under test.

Both end with the case, whatever happens. Processes are only ever killed by their id, and only
those that carry the case's mark in their environment, so that a leftover is found even when it
left its parent, session and group.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casefile import Trigger

MARK = "TOKGRID_E2E_CASE"
POLL_S = 0.01
SERVER_START_S = 20.0
CHAT_PATHS = ("/v1/chat/completions", "/v1/completions")


def marked(value: str) -> list[int]:
    """Ids of the processes that have MARK=value in their environment."""
    wanted = f"{MARK}={value}".encode()
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in Path(entry.path, "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def kill_marked(value: str) -> list[int]:
    pids = marked(value)
    if not pids:
        # A process that was just starting a program had no environment to be seen.
        time.sleep(2 * POLL_S)
        pids = marked(value)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return pids


class ServerLog:
    """What the server saw, read while it is still being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.requests: dict[int, dict[str, Any]] = {}
        self.chats = 0
        self.most_open = 0
        self.connections = 0
        self.bad: list[str] = []
        self.faults: list[str] = []
        self.died = False

    def update(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as log:
            log.seek(self.position)
            for line in log:
                if not line.endswith(b"\n"):
                    break  # still being written
                self.position += len(line)
                self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        event = line.pop("event")
        if event == "request":
            self.requests[line["number"]] = line
        elif event == "end":
            line["ended_at_s"] = line.pop("at_s")
            self.requests[line["number"]].update(line)
        elif event == "open":
            self.chats += 1
            self.most_open = max(self.most_open, line["open"])
        elif event == "connection":
            self.connections = line["connection"]
        elif event == "bad":
            self.bad.append(line["why"])
        elif event == "fault":
            self.faults.append(line["why"])
        elif event == "died":
            self.died = True

    def document(self) -> dict[str, Any]:
        """What the claims of [requests] are about."""
        self.update()
        requests = list(self.requests.values())
        chats = [r for r in requests if r["method"] == "POST" and r["path"].endswith(CHAT_PATHS)]
        return {
            "requests": requests,
            "chats": chats,
            "connections": self.connections,
            "most_open": self.most_open,
            "died": self.died,
        }


class ScriptedServer:
    """server.py as a child process."""

    def __init__(self, case: Path, folder: Path, certificate: Path | None, mark: str) -> None:
        self.log = ServerLog(folder / "server.log")
        self.errors = folder / "server.stderr"
        program = Path(__file__).with_name("server.py")
        command = [sys.executable, str(program), str(case), "--dir", str(folder)]
        command += ["--log", str(self.log.path)]
        if certificate:
            command += ["--cert", str(certificate / "server.pem")]
            command += ["--key", str(certificate / "server.key")]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, MARK: mark + ".server"},
                start_new_session=True,
            )
        self.url = self._first_line()

    def _first_line(self) -> str:
        assert self.process.stdout
        ready, _, _ = select.select([self.process.stdout], [], [], SERVER_START_S)
        line = self.process.stdout.readline().decode().strip() if ready else ""
        if not line:
            self.stop()
            raise RuntimeError(
                f"the server did not start: {self.complaints() or 'no word from it'}"
            )
        return line

    def complaints(self) -> str:
        return self.errors.read_text(errors="replace").strip()

    def stop(self) -> None:
        """The end of its stdin is its end."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@dataclass
class Finished:
    """How a command ended."""

    code: int | None = None  # None: killed at the limit
    seconds: float = 0.0
    leftovers: list[int] = field(default_factory=list)
    signalled: bool = False

    def words(self) -> str:
        if self.code is None:
            return "killed: it did not end in time"
        if self.code < 0:
            return f"signal {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"


@dataclass(frozen=True)
class Poke:
    """A signal to send, and when."""

    number: signal.Signals
    when: Trigger


@dataclass
class Command:
    """A command with everything around it."""

    arguments: list[str]
    folder: Path
    environment: dict[str, str]
    stdin: bytes
    stdout: Path
    stderr: Path
    limit_s: float
    mark: str
    pokes: list[Poke] = field(default_factory=list)

    def run(self, log: ServerLog | None) -> Finished:
        stdin = self.stdout.with_name(self.stdout.name + ".stdin")
        stdin.write_bytes(self.stdin)
        with stdin.open("rb") as source, self.stdout.open("wb") as out:
            with self.stderr.open("wb") as errors:
                process = subprocess.Popen(
                    self.arguments,
                    cwd=self.folder,
                    env={**self.environment, MARK: self.mark},
                    stdin=source,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                )
        finished = Finished()
        try:
            self._follow(process, log, finished)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            finished.leftovers = kill_marked(self.mark)
        return finished

    def _follow(
        self, process: subprocess.Popen[bytes], log: ServerLog | None, finished: Finished
    ) -> None:
        start = time.monotonic()
        due: dict[int, float] = {}  # index of a poke -> when its moment, delay included, comes
        sent: set[int] = set()
        while process.poll() is None:
            now = time.monotonic()
            if now - start > self.limit_s:
                break
            if log and len(sent) < len(self.pokes):
                log.update()
            for index, poke in enumerate(self.pokes):
                if index not in due and self._reached(poke, log):
                    begin = start if poke.when.kind == "after" else now
                    due[index] = begin + poke.when.delay_s
                if index not in sent and now >= due.get(index, float("inf")):
                    process.send_signal(poke.number)
                    sent.add(index)
            time.sleep(POLL_S)
        else:
            finished.code = process.returncode
        finished.signalled = len(sent) == len(self.pokes)
        finished.seconds = time.monotonic() - start

    @staticmethod
    def _reached(poke: Poke, log: ServerLog | None) -> bool:
        if log is None:
            return poke.when.kind == "after"
        return poke.when.reached(len(log.requests), log.chats, log.most_open)
