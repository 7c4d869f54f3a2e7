"""limits.py - what does not fit the engine: too many tokens, too long a context."""

from __future__ import annotations

from bench import Bench, expect, expect_no, near, samples
from llama import SLOT_CONTEXT

SHORT = "--duration 1s --settle 200ms"


def test_over_capacity(bench: Bench) -> None:
    """4 x 2,000 tokens fit into 8,192, and 8 x 2,000 do not."""
    options = f"--contexts 0 --concurrency 4,8 --prefill-mode none --max-output 2000 {SHORT}"
    with bench.server("tiny") as server:
        finished = bench.run(server.wait_ready(), f"{options} --kv-budget 8192")
    expect(finished.result["server"]["kv_budget"] == 8192, f"{finished.result['server']}")
    fits, does_not = finished.cell(0, 4), finished.cell(0, 8)
    expect(fits["total_tok_s"] is not None, f"4: {fits['status']} ({fits['reason']})")
    expect(does_not["status"] == "over_capacity", f"8: {does_not['status']}")
    for words in ("16000", "8192", "--kv-budget"):
        expect(words in does_not["reason"], f"the reason does not say {words}")


def test_trimmed_context(bench: Bench) -> None:
    """16K do not fit a slot; the largest context that leaves room for the output is measured."""
    options = f"--contexts 16k --concurrency 2 --prefill 16k --prefill-samples 1 {SHORT}"
    with bench.server("tiny") as server:
        finished = bench.run(server.wait_ready(), options)
    plan = finished.result["plan"]
    output = SLOT_CONTEXT // 4
    expect(plan["max_output"] == output, f"max_output {plan['max_output']}")
    largest = SLOT_CONTEXT - output
    expect(plan["contexts"] == [largest], f"contexts {plan['contexts']}")
    expect(plan["prefill"] == [largest], f"prefill {plan['prefill']}")
    notes = " ".join(finished.result["notes"])
    expect("16K dropped" in notes and "6K added" in notes, f"notes: {notes}")
    cell = finished.cell(largest, 2)
    expect(cell["total_tok_s"] is not None, f"{cell['status']} ({cell['reason']})")
    expect_no([near("prompt", cell["prompt_tokens"], largest, 0.02)])


def test_distinct_prompts(bench: Bench) -> None:
    """Each stream has a context of its own, read before, in its warm-up."""
    options = f"--contexts 1k --concurrency 2,4 --prompts distinct --prefill-mode none {SHORT}"
    with bench.server("tiny") as server:
        url = server.wait_ready()
        before = server.metrics()
        finished = bench.run(url, options)
        server.generated_when_idle()
        after = server.metrics()
    expect(finished.result["plan"]["prompts"] == "distinct", f"{finished.result['plan']}")
    for level in (2, 4):
        cell = finished.cell(1024, level)
        expect(cell["total_tok_s"] is not None, f"{level}: {cell['status']} ({cell['reason']})")
    # All six streams found their own context, warmed up, and not a word of anybody else's. Besides,
    # one text is sent twice in calibration, to see whether there is a cache.
    cached = after["prompt_tokens_cached_total"] - before["prompt_tokens_cached_total"]
    calibration = [one for one in samples(finished) if one["phase"] == "calibrate"]
    cached -= sum(one["cached_tokens"] or 0 for one in calibration)
    expect_no([near("prompt tokens found in the cache", cached, 6 * 1024, 0.1)])


TESTS = [
    ("more requests than the KV budget holds", test_over_capacity),
    ("a context longer than a slot", test_trimmed_context),
    ("distinct prompts", test_distinct_prompts),
]
