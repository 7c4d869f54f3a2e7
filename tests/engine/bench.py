"""bench.py - what the tests share: models, servers, the program, and the words for a failure."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

import invariants
from llama import LlamaServer
from program import Finished, Program
from server import EngineServer
from vllm import VllmServer

CONVERTER = Path(__file__).resolve().parents[2] / "tools/gguf2hf"

# Widths of the measured models, small enough that a cell takes seconds on one thread. `middle` is
# slow enough that the engine is what limits a cell, `tiny` is for tests that measure nothing, and
# `large` is the one that takes a moment to load. `heads64` has the size of heads that vLLM wants.
MODELS = {
    "tiny": ["--size", "tiny"],
    "middle": ["--width", "256", "--heads", "4", "--kv-heads", "2", "--ffn", "1024"]
    + ["--layers", "4"],
    "large": ["--size", "demo"],
    "heads64": ["--size", "demo", "--width", "256", "--ffn", "1024"],
}
RUN_LIMIT_S = 240.0
# A model that ends its answers by itself does so at each fourth word.
END_EVERY = 4

Server = TypeVar("Server", bound=EngineServer)


class Failed(Exception):
    """A test's claim does not hold."""


class Skip(Exception):
    """A test needs something that is not here."""


@dataclass
class Bench:
    """The tests' surroundings. Everything started here is ended by `clean_up`."""

    tokgrid: str
    mkmodel: str
    engine: str
    root: Path
    validate: Callable[[Any], Iterator[str]] | None
    notes: list[str] = field(default_factory=list)
    _folders: int = 0
    _running: list[Program | EngineServer] = field(default_factory=list)
    _kept: dict[str, Any] = field(default_factory=dict)

    def note(self, words: str) -> None:
        """Printed below the test's line, whether it passed or not."""
        self.notes.append(words)

    def folder(self) -> Path:
        self._folders += 1
        path = self.root / str(self._folders)
        path.mkdir()
        return path

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several tests look at is made by the first of them; they fail alike if it cannot."""
        if name not in self._kept:
            try:
                self._kept[name] = make()
            except Exception as error:
                self._kept[name] = error
        kept = self._kept[name]
        if isinstance(kept, Exception):
            raise kept
        return kept

    def made(self, name: str) -> Any:
        """What `once` has made under this name; None when nobody has asked, or it failed."""
        kept = self._kept.get(name)
        return None if isinstance(kept, Exception) else kept

    def model(self, name: str) -> Path:
        path = self.root / f"{name}.gguf"
        if not path.exists():
            command = [self.mkmodel, *MODELS[name], "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True)
        return path

    def hf_model(self, name: str) -> Path:
        """The same as a Hugging Face folder; its answers end by themselves, unless told not to."""
        path = self.root / "random-weights"
        if not path.exists():
            every = f"--end-every={END_EVERY}"
            command = [str(CONVERTER), every, str(self.model(name)), str(path)]
            subprocess.run(command, check=True, capture_output=True)
        return path

    def keep(self, server: Server) -> Server:
        """A server that is ended with the tests at the latest."""
        self._running.append(server)
        return server

    def vllm(self, options: list[str] | None = None) -> VllmServer:
        model = self.hf_model("heads64")
        return self.keep(VllmServer(self.engine, model, self.folder(), options))

    def server(
        self,
        model: str,
        options: list[str] | None = None,
        unix_socket: Path | None = None,
        port: int = 0,
    ) -> LlamaServer:
        path = self.model(model)
        return self.keep(
            LlamaServer(self.engine, path, self.folder(), options, unix_socket, port)
        )

    def start(
        self, url: str, options: str, environment: dict[str, str] | None = None
    ) -> Program:
        arguments = [self.tokgrid, "run", url, "--out", "r.json", *options.split()]
        program = Program(arguments, self.folder(), environment)
        self._running.append(program)
        return program

    def run(
        self, url: str, options: str, environment: dict[str, str] | None = None
    ) -> Finished:
        """A run that must end well, with a result that keeps every rule."""
        finished = self.start(url, options, environment).finish(RUN_LIMIT_S)
        expect(finished.code == 0, f"exit code {finished.code}: {finished.stderr.strip()[-300:]}")
        self.check_document(finished.result)
        return finished

    def check_document(self, result: dict[str, Any]) -> None:
        problems = list(invariants.violations(result))
        if self.validate:
            problems += self.validate(result)
        expect(not problems, "; ".join(problems))

    def clean_up(self) -> None:
        for running in self._running:
            if isinstance(running, Program):
                running.end()
            else:
                running.stop()
        for model in self.root.glob("*.gguf"):
            model.unlink()
        shutil.rmtree(self.root / "random-weights", ignore_errors=True)


def expect(holds: bool, words: str) -> None:
    if not holds:
        raise Failed(words)


def near(
    what: str, value: float | None, wanted: float | None, share: float, slack: float = 0
) -> str | None:
    """None, or what is too far from what: by more than a share of it and more than the slack."""
    if value is None or wanted is None:
        return f"{what}: {value} against {wanted}"
    if abs(value - wanted) <= max(share * abs(wanted), slack):
        return None
    ratio = f", {value / wanted:.3f} times" if wanted else ""
    return f"{what}: {value:.6g} against {wanted:.6g}{ratio}"


def expect_no(problems: list[str | None]) -> None:
    found = [problem for problem in problems if problem]
    expect(not found, "; ".join(found))


def samples(finished: Finished) -> list[dict[str, Any]]:
    """The raw samples of a run. Python's standard library has no zstd; the command has."""
    zstd = shutil.which("zstd")
    if not zstd:
        raise Skip("no zstd command")
    command = [zstd, "-dcq", str(finished.samples_path)]
    text = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    return [json.loads(line) for line in text.splitlines()]
