#!/usr/bin/env python3
"""site_tests.py - `tokgrid serve` from outside, each test with a site of its own.

    python3 tests/site/site_tests.py --tokgrid build/tokgrid [WORD...]

TAP on standard output, N tests at a time with --jobs N. Words after the options choose tests that
have one of them in their name.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import accounts
import api
import hostile
import publishing
import story
from served import Failed, Served, Skipped

TESTS: list[tuple[str, Callable[[Served], None]]] = [
    *story.TESTS,
    *accounts.TESTS,
    *api.TESTS,
    *hostile.TESTS,
    *publishing.TESTS,
]


SKIPPED = "# SKIP "


def run_test(tokgrid: str, folder: Path, slow: float, test: Callable[[Served], None]) -> str:
    """What went wrong; nothing is a pass. What is missing begins with SKIPPED."""
    problem = skipped = ""
    site = None
    try:
        site = Served(tokgrid, folder, slow)
        test(site)
    except Failed as error:
        problem = str(error) or "failed"
    except Skipped as error:
        skipped = f"{SKIPPED}{error}"
    except Exception as error:  # the test itself is wrong, or the connection broke
        problem = f"{type(error).__name__}: {error}"
    if site:
        try:
            code = site.stop()
            if code != 0 and not problem:
                problem = f"exit code {code} at SIGTERM"
        except Failed as error:
            problem = problem or str(error)
        log = site.log_path.read_text(encoding="utf-8", errors="replace")
        if log and not problem:
            problem = f"it wrote to standard error: {log[-500:]}"
    return problem or skipped


def main() -> int:
    parser = argparse.ArgumentParser(description="the site from outside")
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
    root = Path(tempfile.mkdtemp(prefix="tokgrid-site-"))
    tokgrid = str(Path(options.tokgrid).resolve())
    print(f"1..{len(chosen)}", flush=True)
    good = True

    def timed(number: int, test: Callable[[Served], None]) -> tuple[str, float]:
        began = time.monotonic()
        problem = run_test(tokgrid, root / str(number), options.slow, test)
        return problem, time.monotonic() - began

    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(timed, number, test) for number, (_, test) in enumerate(chosen)]
        for number, (ended, (name, _)) in enumerate(zip(running, chosen), start=1):
            problem, seconds = ended.result()
            if problem.startswith(SKIPPED):
                print(f"ok {number} - {name} {problem}", flush=True)
                continue
            print(f"{'not ok' if problem else 'ok'} {number} - {name}")
            for line in problem.splitlines():
                print(f"# {line}")
            print(f"# {seconds:.1f} s", flush=True)
            good = good and not problem
    if good:
        shutil.rmtree(root)
    else:
        print(f"# what they wrote is kept in {root}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
