"""tap.py - tests of an engine as a program: options, TAP on standard output, and an end that leaves
nothing running.

Words after the options choose tests that have one of them in their name.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Callable

from bench import Bench, Failed, Skip
from program import ProgramError
from server import ServerError
from surroundings import schema_check

PROJECT = Path(__file__).resolve().parents[2]

Tests = list[tuple[str, Callable[[Bench], None]]]


def _get_engine(tool: str, folder: str) -> str:
    """What the tool finds or fetches; exits with all skipped when it cannot."""
    command = [str(PROJECT / "tools" / tool), folder]
    got = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if got.returncode != 0:
        reason = (got.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    return got.stdout.strip()


def _run_test(bench: Bench, number: int, name: str, test: Callable[[Bench], None]) -> bool:
    """One line of TAP, and the notes below it."""
    began = time.monotonic()
    problem = skip = ""
    try:
        test(bench)
    except (Failed, ServerError, ProgramError) as error:
        problem = str(error)
    except Skip as error:
        skip = f" # SKIP {error}"
    print(f"{'not ok' if problem else 'ok'} {number} - {name}{skip}")
    for line in [*problem.splitlines(), *bench.notes]:
        print(f"# {line}")
    print(f"# {time.monotonic() - began:.1f} s", flush=True)
    bench.notes.clear()
    return not problem


def _on_signal(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def run(tests: Tests, tool: str, folder: str) -> int:
    """The exit status. `tool` is the program that prints where the engine is, `folder` its own."""
    parser = argparse.ArgumentParser(description="tokgrid against a real engine")
    parser.add_argument("--tokgrid", required=True, metavar="PROGRAM")
    parser.add_argument("--mkmodel", required=True, metavar="PROGRAM")
    parser.add_argument("--engine-dir", default=str(PROJECT / folder), metavar="DIR")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    chosen = [
        (name, test)
        for name, test in tests
        if not options.words or any(word in name for word in options.words)
    ]
    engine = _get_engine(tool, options.engine_dir)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _on_signal)  # so that what was started is ended
    print(f"1..{len(chosen)}", flush=True)
    bench = Bench(
        tokgrid=str(Path(options.tokgrid).resolve()),
        mkmodel=str(Path(options.mkmodel).resolve()),
        engine=engine,
        root=Path(tempfile.mkdtemp(prefix="tokgrid-engine-")),
        validate=schema_check(PROJECT / "schema/tokgrid-run-1.schema.json"),
    )
    good: list[bool] = []
    try:
        for number, test in enumerate(chosen, start=1):
            good.append(_run_test(bench, number, *test))
    finally:
        bench.clean_up()
        if len(good) == len(chosen) and all(good):
            shutil.rmtree(bench.root)
        else:
            print(f"# what they wrote is kept in {bench.root}", flush=True)
    return 0 if all(good) else 1
