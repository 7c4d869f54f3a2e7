"""program.py - one `tokgrid` command: started, followed line by line, and read when it is over."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

POLL_S = 0.02
# Names that a test may need from outside, for sanitizers.
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")


class ProgramError(Exception):
    """The program did not come to where it should; the text is fit to print."""


@dataclass(frozen=True)
class Finished:
    """A command that has ended, and the result file it was told to write."""

    code: int
    stdout: str
    stderr: str
    result_path: Path

    @functools.cached_property
    def result(self) -> dict[str, Any]:
        try:
            document = json.loads(self.result_path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            words = f"exit code {self.code}, and no result: {error}; {self.stderr.strip()[-300:]}"
            raise ProgramError(words) from None
        assert isinstance(document, dict)
        return document

    @property
    def samples_path(self) -> Path:
        return self.result_path.with_suffix(".samples.jsonl.zst")

    def cell(self, context: int, concurrency: int) -> dict[str, Any]:
        for cell in self.result["decode"]:
            if (cell["context_tokens"], cell["concurrency"]) == (context, concurrency):
                assert isinstance(cell, dict)
                return cell
        raise ProgramError(f"the result has no cell {context} x {concurrency}")


class Program:
    """A running command in a folder of its own."""

    def __init__(
        self, arguments: list[str], folder: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.arguments = arguments
        self.stdout = folder / "stdout"
        self.stderr = folder / "stderr"
        self.result_path = folder / "r.json"
        plain = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }
        plain |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        with self.stdout.open("wb") as out, self.stderr.open("wb") as errors:
            self.process = subprocess.Popen(
                arguments,
                cwd=folder,
                env={**plain, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )

    def wait_until(self, what: str, holds: Callable[[], bool], limit_s: float) -> None:
        """Until `holds`; an error when the command ends before, or the time is over."""
        give_up_at = time.monotonic() + limit_s
        while not holds():
            if self.process.poll() is not None:
                raise ProgramError(f"ended before {what}: {self.stderr.read_text()[-300:]}")
            if time.monotonic() > give_up_at:
                self.end()
                raise ProgramError(f"{limit_s:.0f} s passed without {what}")
            time.sleep(POLL_S)

    def wait_line(self, text: str, limit_s: float) -> None:
        self.wait_until(f"a line with '{text}'", lambda: text in self.stdout.read_text(), limit_s)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def finish(self, limit_s: float) -> Finished:
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.end()
            tail = self.stdout.read_text().splitlines()[-3:]
            words = f"did not end within {limit_s:.0f} s; its last lines: {' / '.join(tail)}"
            raise ProgramError(words) from None
        return Finished(code, self.stdout.read_text(), self.stderr.read_text(), self.result_path)
