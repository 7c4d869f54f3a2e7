#!/usr/bin/env python3
"""engine_tests.py - tokgrid against a real engine: llama-server with a model of random weights.

    python3 tests/engine/engine_tests.py --tokgrid build/tokgrid --mkmodel build/mkmodel

TAP on standard output. The engine is what tools/get-engine finds or fetches; where it cannot, all
is skipped. Words after the options choose tests that have one of them in their name.
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

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.append(str(PROJECT / "tests/e2e"))  # invariants, surroundings

import ending
import limits
import measuring
import reaching
from bench import Bench, Failed, Skip
from llama import ServerError
from program import ProgramError
from surroundings import schema_check

TESTS: list[tuple[str, Callable[[Bench], None]]] = [
    *measuring.TESTS,
    *ending.TESTS,
    *limits.TESTS,
    *reaching.TESTS,
]


def get_engine(folder: str) -> str:
    """The engine's path; exits with all skipped when there is none."""
    command = [str(PROJECT / "tools/get-engine"), folder]
    got = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if got.returncode != 0:
        reason = (got.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    return got.stdout.strip()


def run_test(bench: Bench, number: int, name: str, test: Callable[[Bench], None]) -> bool:
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


def on_signal(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description="tokgrid against a real engine")
    parser.add_argument("--tokgrid", required=True, metavar="PROGRAM")
    parser.add_argument("--mkmodel", required=True, metavar="PROGRAM")
    parser.add_argument("--engine-dir", default=str(PROJECT / "build/engine"), metavar="DIR")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    chosen = [
        (name, test)
        for name, test in TESTS
        if not options.words or any(word in name for word in options.words)
    ]
    engine = get_engine(options.engine_dir)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)  # so that what was started is ended
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
            good.append(run_test(bench, number, *test))
    finally:
        bench.clean_up()
        if len(good) == len(chosen) and all(good):
            shutil.rmtree(bench.root)
        else:
            print(f"# what they wrote is kept in {bench.root}", flush=True)
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
