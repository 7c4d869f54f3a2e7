"""measuring.py - the emulator measured by `tokgrid run`: statuses, counters, marks."""

from __future__ import annotations

from typing import Any

from emulator import Bench, Emulator, expect

SHORT = "--duration 1s --settle 200ms --prefill-samples 1"
SMALL = "--speed 8 --max-model-len 16k --kv-tokens 24k --max-num-seqs 4"


def cell_is(cell: dict[str, Any], status: str) -> None:
    place = f"{cell['context_tokens']} x {cell['concurrency']}"
    expect(cell["status"] == status, f"{place} is {cell['status']}: {cell['reason']}")


def counters_agree(cell: dict[str, Any], steps: int = 2) -> None:
    """What the client counted in the window is what the server's counter grew by, but for a step at
    each of its edges."""
    ours, theirs = cell["output_tokens"], cell["server_output_tokens"]
    place = f"{cell['context_tokens']} x {cell['concurrency']}"
    expect(theirs is not None, f"{place}: the server's counter was not read")
    expect(abs(ours - theirs) <= max(0.02 * theirs, steps * cell["concurrency"]), f"{place}: {ours} against {theirs}")


def test_matrix(bench: Bench) -> None:
    """Valid, queued, over capacity: by each face's own limits and counters."""
    for face, capacity, counter in (
        ("vllm", True, True), ("sglang", True, True),
        ("llama.cpp", False, True), ("plain", False, False),
    ):
        engine = bench.emulator(f"--face {face} {SMALL}")
        options = f"--contexts 0,4k --concurrency 2,6 --prefill 4k --max-output 512 {SHORT}"
        finished = bench.measure(engine, options)
        expect(finished.code == 0, f"{face}: {finished.stderr}")
        result = finished.result
        expect(result["kind"] == "simulated", f"{face}: {result['kind']}")
        hardware = result["hardware"]["gpus"][0]
        expect(hardware["name"] == "RTX 3090", f"{face}: {hardware}")
        cell_is(finished.cell(0, 2), "valid")
        cell_is(finished.cell(4096, 2), "valid")
        cell_is(finished.cell(0, 6), "queued")
        cell_is(finished.cell(4096, 6), "over_capacity" if capacity else "queued")
        if counter:
            counters_agree(finished.cell(0, 2))
            counters_agree(finished.cell(4096, 2))
        row = result["prefill"][0]
        expect(row["status"] == "valid" and not row["marks"], f"{face}: {row}")
        # the context was warmed: the first token of a cell comes far sooner
        warm, cold = finished.cell(4096, 2)["ttft_ms"]["p50"], row["ttft_ms"]["p50"]
        expect(warm < cold / 2, f"{face}: warm {warm} ms, cold {cold} ms")


def _rate(bench: Bench, speed: int) -> float:
    engine = bench.emulator(f"--speed {speed}")
    options = f"--contexts 0 --concurrency 1 --prefill-mode none --max-output 1k {SHORT}"
    return bench.measure(engine, options).cell(0, 1)["per_request_tok_s"]


def test_speed(bench: Bench) -> None:
    """Twice the speed is twice the rate; a busy machine only takes away from either."""
    ratios = []
    for _ in range(3):
        ratios.append(_rate(bench, 2) / _rate(bench, 1))
        if 1.85 < ratios[-1] < 2.15:
            return
    expect(False, f"{ratios}")


def test_context_trimmed(bench: Bench) -> None:
    engine = bench.emulator(SMALL)
    options = f"--contexts 32k --concurrency 1 --prefill-mode none --max-output 4k {SHORT}"
    finished = bench.measure(engine, options)
    expect(finished.result["plan"]["contexts"] == [12288], f"{finished.result['plan']}")
    cell_is(finished.cell(12288, 1), "valid")


def with_fault(bench: Bench, fault: str, more: str = "", engine: str = "") -> dict[str, Any]:
    """One cell of four streams; the fault spares the probing before it."""
    arguments = f"--speed 8 {engine} --fault {fault}" + ("" if "open=" in fault else ",from=12")
    options = f"--contexts 0 --concurrency 4 --prefill-mode none --max-output 2k {SHORT} {more}"
    finished = bench.measure(bench.emulator(arguments), options)
    cell = dict(finished.cell(0, 4))
    cell["exit_code"] = finished.code
    return cell


def test_broken_streams(bench: Bench) -> None:
    """A stream that fails makes the cell an error, and says why."""
    for fault, words in (
        ("reset:token=60,open=3", ("reset", "connection")),
        ("truncate:token=60,open=3", ("finish", "ended", "without")),
        ("error:token=60,open=3", ("as it was told to",)),
        ("refuse:status=503,open=3", ("503", "busy")),
    ):
        cell = with_fault(bench, fault)
        cell_is(cell, "error")
        reason = cell["reason"].lower()
        expect(any(word in reason for word in words), f"{fault}: {cell['reason']}")
        expect(cell["exit_code"] == 1, f"{fault}: exit code {cell['exit_code']}")


def test_looped(bench: Bench) -> None:
    cell = with_fault(bench, "loop:period=12,open=1", engine="--speed 40")
    cell_is(cell, "looped")
    expect(cell["loop"] is not None, f"{cell}")


def test_stalled(bench: Bench) -> None:
    """A stall shows in the gaps and not in the time between tokens."""
    cell = with_fault(bench, "stall:token=200,for=300ms,open=2")
    expect(cell["status"] == "valid", f"{cell['status']}: {cell['reason']}")
    expect(cell["gap_ms"]["max"] > 250, f"{cell['gap_ms']}")


def test_bundled(bench: Bench) -> None:
    """Four tokens in a write: the rate is right, and events come several to a read."""
    cell = with_fault(bench, "bundle:events=4,open=1")
    cell_is(cell, "valid")
    counters_agree(cell, steps=2 * 4)  # at each edge each stream has a bundle that waits
    expect(cell["client"]["events_per_read"] > 3, f"{cell['client']}")


def test_split(bench: Bench) -> None:
    """Cut anywhere: the same tokens."""
    cell = with_fault(bench, "split:bytes=7,open=1", engine="--speed 1")
    cell_is(cell, "valid")
    counters_agree(cell)


def test_preempted(bench: Bench) -> None:
    cell = with_fault(bench, "preempt:token=100,sequences=2,open=2")
    expect("preempted" in cell["marks"], f"{cell['status']}, {cell['marks']}")


def test_kv_preemption(bench: Bench) -> None:
    """A cache that is too small for what runs: sequences are thrown out and recomputed."""
    engine = bench.emulator("--speed 8 --max-model-len 4k --kv-tokens 4k")
    options = (f"--contexts 0 --concurrency 6 --prefill-mode none --max-output 3k "
               f"--run-over-capacity {SHORT}")
    cell = bench.measure(engine, options + " --duration 4s").cell(0, 6)
    expect("preempted" in cell["marks"], f"{cell['status']}, {cell['marks']}")
    expect(cell["preemptions"] > 0, f"{cell['preemptions']}")


def test_prompt_cut(bench: Bench) -> None:
    """A prompt that was cut in silence is not the one that was asked for."""
    engine = bench.emulator("--speed 20 --fault cut-prompt:tokens=2000")
    options = f"--contexts 4k --concurrency 1 --prefill 4k --max-output 512 {SHORT}"
    row = bench.measure(engine, options).result["prefill"][0]
    expect("prompt_off" in row["marks"], f"{row}")


def test_usage_invented(bench: Bench) -> None:
    """Usage that no stream bears out is not believed."""
    engine = bench.emulator("--speed 8 --fault wrong-usage:factor=30")
    options = f"--contexts 0 --concurrency 2 --prefill-mode none --max-output 2k {SHORT}"
    cell = bench.measure(engine, options).cell(0, 2)
    expect(cell["token_source"] == "events", f"{cell['token_source']}")


def test_without_metrics(bench: Bench) -> None:
    """Queueing is inferred from the streams."""
    engine = bench.emulator("--speed 8 --max-num-seqs 2 --no-metrics")
    options = f"--contexts 0 --concurrency 4 --prefill-mode none --max-output 2k {SHORT}"
    cell = bench.measure(engine, options).cell(0, 4)
    cell_is(cell, "queued")
    expect("inferred" in cell["marks"], f"{cell['marks']}")


TESTS = [
    ("measuring: statuses and counters by each face", test_matrix),
    ("measuring: speed", test_speed),
    ("measuring: a plan trimmed to the context", test_context_trimmed),
    ("measuring: broken streams", test_broken_streams),
    ("measuring: loops", test_looped),
    ("measuring: stalls", test_stalled),
    ("measuring: bundles", test_bundled),
    ("measuring: splits", test_split),
    ("measuring: pre-emption on purpose", test_preempted),
    ("measuring: pre-emption by a full cache", test_kv_preemption),
    ("measuring: a prompt cut in silence", test_prompt_cut),
    ("measuring: usage that is not true", test_usage_invented),
    ("measuring: without metrics", test_without_metrics),
]
