#!/usr/bin/env python3
"""selftest_tests.py --tokgrid FILE - the selftest command, and what becomes of its figures.

Nothing here depends on how fast the machine is: counts, names, order, and where files go. Prints
TAP.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

NAMES = ["concurrency", "ttft_error_ms_p50", "ttft_error_ms_p99", "itl_error_ms_p99",
         "lateness_us_p50", "lateness_us_p99", "kernel_lateness_us_p99", "cpu_us_per_event",
         "events_per_s", "rss_mb"]


def run(tokgrid: str, home: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": home}
    environment |= {n: v for n, v in os.environ.items() if n.endswith("SAN_OPTIONS")}
    return subprocess.run([tokgrid, *arguments], env=environment, capture_output=True, text=True,
                          timeout=300, check=False)


def rows_are_whole(tokgrid: str, home: str) -> None:
    done = run(tokgrid, home, "selftest", "--concurrency", "1,8", "--duration", "1s", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    plain = [r for r in document["rows"] if r["bundle"] == 1 and not r["split"]]
    assert [r["concurrency"] for r in plain] == [1, 8], plain
    variants = [(r["bundle"], r["split"]) for r in document["rows"][2:]]
    assert variants == [(4, False), (1, True)], variants
    for row in document["rows"]:
        assert not [n for n in NAMES if n not in row], row
        assert row["failed"] == 0 and row["events"] > 0, row
        assert row["lateness_us_p50"] <= row["lateness_us_p99"], row
        assert row["ttft_error_ms_p50"] >= 0, row
    for row in plain:
        assert row["kernel_lateness_us_p99"] is not None, row
        assert abs(row["events_per_s"] - row["events"]) < 1e-6 * row["events"], row


def it_is_kept(tokgrid: str, home: str) -> None:
    kept = pathlib.Path(home, "tokgrid", "selftest.json")
    before = json.loads(kept.read_text())
    assert [r["concurrency"] for r in before["rows"]][:2] == [1, 8], before
    done = run(tokgrid, home, "selftest", "--concurrency", "2", "--duration", "500ms",
               "--transport", "curl", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["transport"] == "curl"
    assert json.loads(kept.read_text()) == before, "libcurl's figures are not the client's"


def a_table_for_readers(tokgrid: str, home: str) -> None:
    done = run(tokgrid, home, "selftest", "--concurrency", "3", "--duration", "500ms")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and "TTFT error" in lines[0], done.stdout
    assert lines[2].split()[0] == "3" and "by 4" in lines[3] and "split" in lines[4], done.stdout
    assert all(len(line) < 125 for line in lines)


def bad_values_are_named(tokgrid: str, home: str) -> None:
    for arguments, word in ((["--concurrency", "0"], "--concurrency"),
                            (["--duration", "1ms"], "--duration"),
                            (["--transport", "x"], "--transport")):
        done = run(tokgrid, home, "selftest", *arguments)
        assert done.returncode == 2 and word in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr


TESTS = [rows_are_whole, it_is_kept, a_table_for_readers, bad_values_are_named]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokgrid", required=True)
    tokgrid = os.path.abspath(parser.parse_args().tokgrid)
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    with tempfile.TemporaryDirectory() as home:
        for number, test in enumerate(TESTS, 1):
            name = test.__name__.replace("_", " ")
            try:
                test(tokgrid, home)
                print(f"ok {number} - {name}", flush=True)
            except (AssertionError, OSError, ValueError, subprocess.TimeoutExpired) as problem:
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in str(problem).splitlines():
                    print(f"# {line}", flush=True)
    return 1 if failed else 0


raise SystemExit(main())
