#!/usr/bin/env python3
"""test_roundtrip.py ROUNDTRIP - its verdicts on results that are right, and wrong in one place."""

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDTRIP = sys.argv[1]
PAGE = Path(__file__).resolve().parents[1] / "data/published/qwen3.5-27b.json"
SPEED = 20


def faster(page):
    """What an engine that is SPEED times as fast would show."""
    result = copy.deepcopy(page)
    for entry in result["prefill"] + result["decode"]:
        if entry["total_tok_s"] is not None:
            entry["total_tok_s"] *= SPEED
        for spread in ("ttft_ms", "itl_ms"):
            if (entry.get(spread) or {}).get("p50") is not None:
                entry[spread]["p50"] /= SPEED
    return result


def cell(result, context, requests):
    for entry in result["decode"]:
        if (entry["context_tokens"], entry["concurrency"]) == (context, requests):
            return entry
    raise KeyError


def scaled(spread, factor):
    def change(entry):
        entry[spread]["p50"] *= factor

    return change


def total(factor):
    return lambda entry: entry.update(total_tok_s=entry["total_tok_s"] * factor)


def later(ms):
    return lambda entry: entry["ttft_ms"].update(p50=entry["ttft_ms"]["p50"] + ms / SPEED)


# what to do to which cell; the cell misses
CHANGES = [
    ((0, 4), total(1.029), False),
    ((0, 4), total(1.031), True),
    ((0, 4), total(0.969), True),
    ((0, 4), scaled("itl_ms", 1.029), False),
    ((0, 4), scaled("itl_ms", 0.969), True),
    ((32768, 1), scaled("ttft_ms", 1.049), False),
    ((32768, 1), scaled("ttft_ms", 0.949), True),
    ((0, 1), later(4.4), False),  # 89 ms: 5 % are 4.45
    ((0, 1), later(4.6), True),
    ((0, 4), lambda entry: entry["ttft_ms"].update(p50=None), True),
    ((0, 4), lambda entry: entry.update(status="queued"), True),
    ((0, 16), lambda entry: entry.update(status="valid"), True),
]


def run(measured, folder):
    path = Path(folder) / "measured.json"
    path.write_text(json.dumps(measured))
    command = [ROUNDTRIP, "--speed", str(SPEED), "--compare", str(path), str(PAGE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def main():
    page = json.loads(PAGE.read_text())
    right = faster(page)
    with tempfile.TemporaryDirectory() as folder:
        status, text = run(right, folder)
        check("the same", (status, text.count(" ok ")), (0, 36))
        for number, ((context, requests), change, misses) in enumerate(CHANGES):
            wrong = copy.deepcopy(right)
            change(cell(wrong, context, requests))
            status, text = run(wrong, folder)
            check(f"change {number}", (status, text.count("MISS")), (int(misses), int(misses)))
        short = copy.deepcopy(right)
        del short["decode"][0], short["prefill"][0]
        status, text = run(short, folder)
        check("two are missing", (status, text.count("MISS")), (1, 2))


main()
