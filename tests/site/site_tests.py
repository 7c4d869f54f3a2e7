#!/usr/bin/env python3
"""site_tests.py - `tokgrid serve` from outside, each test with a site of its own.

    python3 tests/site/site_tests.py --tokgrid build/tokgrid [WORD...]

TAP on standard output, N tests at a time with --jobs N. Words after the options choose tests that
have one of them in their name. The sites keep everything in SQLite files; behind
tests/unit/store/with-postgres, in databases of the PostgreSQL that it runs. README.md says more.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import accounts
import api
import attacks
import hostile
import moderation
import mutations
import processes
import publishing
import story
import uploads
from database import new_database
from served import Failed, Served, Skipped

# What takes longest stands first, so that it has company to the end.
TESTS: list[tuple[str, Callable[[Served], None]]] = [
    *mutations.TESTS,
    *uploads.TESTS,
    *hostile.TESTS,
    *processes.TESTS,
    *story.TESTS,
    *accounts.TESTS,
    *api.TESTS,
    *attacks.TESTS,
    *moderation.TESTS,
    *publishing.TESTS,
]


SKIPPED = "# SKIP "


def run_test(tokgrid: str, folder: Path, slow: float, test: Callable[[Served], None]) -> str:
    """What went wrong; nothing is a pass. What is missing begins with SKIPPED."""
    problem = skipped = ""
    site = None
    database = new_database(folder)
    try:
        site = Served(tokgrid, folder, slow, database)
        test(site)
    except Failed as error:
        problem = str(error) or "failed"
    except Skipped as error:
        skipped = f"{SKIPPED}{error}"
    except Exception as error:  # the test itself is wrong, or the connection broke
        problem = "".join(traceback.format_exception(error))
    for one in [site, *site.others] if site else []:
        problem = problem or fault_at_end(one)
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
    if not problem:
        database.drop()
    return problem or skipped


def fault_at_end(site: Served) -> str:
    """A site ends when it is asked to, and has nothing to say about what visitors sent."""
    try:
        code = site.stop()
    except Failed as error:
        return str(error)
    log = site.log_path.read_text(encoding="utf-8", errors="replace")
    if code != 0:
        return f"exit code {code} at SIGTERM: {log[-500:]}"
    return f"it wrote to standard error: {log[-500:]}" if log else ""


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
