"""invariants.py - what every stored result satisfies, checked without the program's own code.

An independent reading of the documentation's rules: figures agree with each other, a status that
promises no numbers has none, percentiles have the samples they need. Returns one line per
violation, with the place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, TypeGuard

STATUSES = {"valid", "queued", "over_capacity", "looped", "error", "skipped"}
MARKS = {
    "client_limited",
    "unsteady",
    "cache_hit",
    "prompt_off",
    "buffered",
    "foreign_load",
    "preempted",
    "throttled",
    "retried",
    "inferred",
    "over_capacity",
    "hidden_tokens",
}
TOKEN_SOURCES = {"usage_stream", "usage_final", "events"}
HALF_PERCENT = 0.005
BUCKET = 0.02  # percentiles out of a histogram are off by its buckets' width
NEED = {"p90": 64, "p99": 662}
PERCENTILES = ("p50", "p90", "p99", "max")
# What a cell without numbers must not have.
DECODE_NUMBERS = (
    "total_tok_s",
    "per_request_tok_s",
    "avg_active",
    "completed",
    "output_tokens",
    "measured_s",
)
PREFILL_NUMBERS = ("total_tok_s",)
SPREADS = ("ttft_ms", "itl_ms", "gap_ms")


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(row: dict[str, Any], *names: str) -> list[float] | None:
    """The values of these fields ("itl_ms.p50" goes down); None unless all are numbers."""
    found: list[float] = []
    for name in names:
        value: Any = row
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not _number(value):
            return None
        found.append(value)
    return found


@dataclass(frozen=True)
class Rounding:
    """Half a unit of the last digit that the source of imported figures printed."""

    rate: float = 0.0
    itl: float = 0.0
    ttft: float = 0.0
    active: float = 0.0
    seconds: float = 0.0
    prefill_rate: float = 0.0


EXACT = Rounding()
PRINTED = Rounding(rate=0.05, itl=0.05, ttft=0.5, active=0.05, seconds=0.05, prefill_rate=0.5)


def _product_is(a: float, da: float, b: float, db: float, wanted: float) -> bool:
    """a x b is `wanted` to half a per cent, and to what the rounding of a and b can change."""
    slack = da * abs(b) + db * abs(a) + da * db
    return abs(a * b - wanted) <= HALF_PERCENT * max(abs(a * b), abs(wanted)) + slack


def _spread(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def violations(result: dict[str, Any]) -> Iterator[str]:
    """Every rule that `result` breaks."""
    if result.get("schema") != "tokgrid-run/1":
        yield f"schema: {result.get('schema')!r}"
    rounding = PRINTED if result.get("kind") == "imported" else EXACT
    for name in ("prefill", "decode"):
        rows = result.get(name)
        if not isinstance(rows, list):
            yield f"{name}: not an array"
            continue
        for position, row in enumerate(rows):
            check = _decode if name == "decode" else _prefill
            for problem in (*_common(row, rounding), *check(row, rounding)):
                yield f"{name}[{position}] {_place(row)}: {problem}"
    yield from _twice(result.get("decode") or [])
    yield from _bad_text(result, "")


def _place(row: dict[str, Any]) -> str:
    level = f", C={row['concurrency']}" if "concurrency" in row else ""
    return f"(context {row.get('context_tokens')}{level})"


def _twice(rows: list[dict[str, Any]]) -> Iterator[str]:
    seen = set()
    for row in rows:
        key = (row.get("context_tokens"), row.get("concurrency"))
        if key in seen:
            yield f"decode: {key} stands there twice"
        seen.add(key)


def _common(row: dict[str, Any], rounding: Rounding) -> Iterator[str]:
    status, marks = row.get("status"), row.get("marks")
    if status not in STATUSES:
        yield f"status {status!r}"
        return
    if not isinstance(marks, list) or set(marks) - MARKS or len(set(marks)) != len(marks):
        yield f"marks {marks!r}"
    if status == "valid" and row.get("reason") is not None:
        yield f"valid with a reason: {row['reason']!r}"
    if status != "valid" and not row.get("reason") and rounding is EXACT:
        yield f"{status} without a reason"
    if status in ("over_capacity", "skipped", "looped") and "over_capacity" not in (marks or []):
        yield from _numbers_in(row)
    if status in ("valid", "queued") and not _number(row.get("total_tok_s")):
        yield f"{status} without total_tok_s"
    for name in SPREADS:
        yield from _percentiles(name, _spread(row.get(name)))


def _numbers_in(row: dict[str, Any]) -> Iterator[str]:
    names = DECODE_NUMBERS if "concurrency" in row else PREFILL_NUMBERS
    for name in names:
        # A count of nothing is no figure.
        if row.get(name) not in (None, 0):
            yield f"{row['status']} with {name} = {row[name]}"
    for name in SPREADS:
        if _spread(row.get(name)).get("p50") is not None:
            yield f"{row['status']} with {name}.p50"


def _percentiles(name: str, spread: dict[str, Any]) -> Iterator[str]:
    samples = spread.get("n")
    n = samples if _number(samples) else None  # imported results may not say
    for percentile, need in {"p50": 1, **NEED}.items():
        if _number(spread.get(percentile)) and n is not None and n < need:
            yield f"{name}.{percentile} from {n} samples, {need} are needed"
    found = [value for key in PERCENTILES if _number(value := spread.get(key))]
    if any(later < earlier * (1 - BUCKET) for earlier, later in zip(found, found[1:])):
        yield f"{name} is not in order: {spread}"
    if any(value < 0 for value in found):
        yield f"{name} is negative: {spread}"


def _decode(row: dict[str, Any], rounding: Rounding) -> Iterator[str]:
    rate = _numbers(row, "total_tok_s", "measured_s", "output_tokens")
    if rate and not _product_is(rate[0], rounding.rate, rate[1], rounding.seconds, rate[2]):
        yield f"total_tok_s {rate[0]} but {rate[2]} tokens in {rate[1]} s"
    pace = _numbers(row, "per_request_tok_s", "itl_ms.p50")
    if pace and not _product_is(pace[0], rounding.rate, pace[1], rounding.itl, 1000):
        yield f"per_request_tok_s {pace[0]} but itl_ms.p50 {pace[1]}"
    active = _numbers(row, "avg_active", "concurrency")
    if active and active[0] > active[1] * 1.02 + rounding.active:
        if "foreign_load" not in (row.get("marks") or []):
            yield f"avg_active {active[0]} at C = {active[1]}"
    counted = rounding is EXACT and row.get("status") in ("valid", "queued")
    if counted and row.get("token_source") not in TOKEN_SOURCES:
        yield f"token_source {row.get('token_source')!r}"
    inside = _numbers(row, "ci95.low", "total_tok_s", "ci95.high")
    if inside and inside != sorted(inside):
        yield f"total_tok_s {inside[1]} outside its interval {inside[0]}..{inside[2]}"


def _prefill(row: dict[str, Any], rounding: Rounding) -> Iterator[str]:
    figures = _numbers(
        {**row, "cached_tokens": row.get("cached_tokens") or 0},
        "total_tok_s",
        "ttft_ms.p50",
        "prompt_tokens",
        "cached_tokens",
    )
    if figures:
        rate, ttft, prompt, cached = figures
        product = (rate, rounding.prefill_rate, ttft / 1000, rounding.ttft / 1000)
        if not _product_is(*product, prompt - cached):
            yield f"{rate} tok/s x {ttft} ms is not {prompt} - {cached} tokens"


def _bad_text(value: Any, place: str) -> Iterator[str]:
    """Control characters in any string, numbers that JSON does not have."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _bad_text(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _bad_text(inner, f"{place}[{position}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{place.lstrip('.')}: {value}"
    elif isinstance(value, str):
        if any(ord(c) < 32 and c not in "\n\t" or 127 <= ord(c) < 160 for c in value):
            yield f"{place.lstrip('.')}: control characters: {value!r}"
