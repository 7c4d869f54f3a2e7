#!/usr/bin/env python3
"""emulator_tests.py - `tokgrid engine` from outside: by HTTP, and measured by `tokgrid run`.

    python3 tests/emulator/emulator_tests.py --tokgrid build/tokgrid [WORD...]

TAP on standard output, N tests at a time with --jobs N. Words after the options choose tests that have one of them in their name.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Callable

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path += [str(PROJECT / "tests/e2e"), str(PROJECT / "tests/engine")]

import commands
import faults
import hostile
import measuring
import pages
from emulator import Bench, Failed
from program import ProgramError
from surroundings import schema_check

TESTS: list[tuple[str, Callable[[Bench], None]]] = [
    *pages.TESTS,
    *faults.TESTS,
    *hostile.TESTS,
    *measuring.TESTS,
    *commands.TESTS,
]


@dataclass(frozen=True)
class Outcome:
    """How a test ended: no problem is a pass."""

    problem: str
    seconds: float


def run_test(bench: Bench, test: Callable[[Bench], None]) -> Outcome:
    began = time.monotonic()
    problem = ""
    try:
        test(bench)
    except (Failed, ProgramError) as error:
        problem = str(error) or type(error).__name__
    except Exception as error:  # the test itself is wrong: it fails, the others go on
        problem = f"{type(error).__name__}: {error}"
    finally:
        bench.stop_all()
    return Outcome(problem, time.monotonic() - began)


def print_outcome(number: int, name: str, outcome: Outcome) -> None:
    """One line of TAP, and below it what went wrong and how long it took."""
    print(f"{'not ok' if outcome.problem else 'ok'} {number} - {name}")
    for line in outcome.problem.splitlines():
        print(f"# {line}")
    print(f"# {outcome.seconds:.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="the emulated engine from outside")
    parser.add_argument("--tokgrid", required=True, metavar="PROGRAM")
    parser.add_argument("--slow", type=float, default=1.0, metavar="N")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    chosen = [
        (name, test)
        for name, test in TESTS
        if not options.words or any(word in name for word in options.words)
    ]
    root = Path(tempfile.mkdtemp(prefix="tokgrid-emulator-"))
    validate = schema_check(PROJECT / "schema/tokgrid-run-1.schema.json")
    tokgrid = str(Path(options.tokgrid).resolve())
    benches = [
        Bench(tokgrid, root / str(number), options.slow, validate)
        for number in range(1, len(chosen) + 1)
    ]

    def on_signal(number: int, _frame: FrameType | None) -> None:
        for bench in benches:
            bench.stop_all()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)  # so that what was started is ended
    print(f"1..{len(chosen)}", flush=True)
    good = True
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(run_test, bench, test) for bench, (_, test) in zip(benches, chosen)]
        for number, (ended, (name, _)) in enumerate(zip(running, chosen), start=1):
            outcome = ended.result()
            print_outcome(number, name, outcome)
            good = good and not outcome.problem
    if good:
        shutil.rmtree(root)
    else:
        print(f"# what they wrote is kept in {root}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
