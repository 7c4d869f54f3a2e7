"""vllm_measuring.py - what tokgrid says of vLLM, held against vLLM's own counters and timings.

As with llama-server nothing here knows how fast the engine is. It shares the cores with the client
at a lower priority, and takes a minute to start: one server answers all but the last tests.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Any

from bench import Bench, expect, expect_no, near, samples
from gateway import Gateway
from measuring import CONTEXTS, LEVELS, NOISE_MARKS, TRIES, expect_counts
from program import Finished
from vllm import BLOCK, BLOCKS, CONTEXT, RUNNING, VllmServer

VERSION = "0.32.0"
OUTPUT = CONTEXT // 4  # tokgrid's own choice where the limit is known
KV_BUDGET = BLOCKS * BLOCK
QUEUED = (0, 8)  # 8 x 2,048 tokens just fit, but only four run at once
TOO_MUCH = (1024, 8)  # 8 x (1,024 + 2,048) do not fit

# Windows are longer than for llama-server: each step of this engine takes much longer.
WINDOW = "--duration 4s --settle 500ms"
PREFILL = "--prefill 1k,2k,4k"
MATRIX = f"--contexts 0,1k --concurrency 1,2,4,8 {PREFILL} {WINDOW}"
ONE_CELL = "--contexts 0 --concurrency 2 --prefill-mode none --duration 2s --settle 300ms"
LIMIT_S = 120.0


@dataclass(frozen=True)
class Matrix:
    """The run that most tests look at, and how far the engine's counters moved meanwhile."""

    finished: Finished
    growth: dict[str, float]
    tokenized: int  # requests to /tokenize


def server(bench: Bench) -> VllmServer:
    """One server for all tests that need nothing special of it."""
    found: VllmServer = bench.once("vllm", bench.vllm)
    found.wait_ready()
    return found


def _measure_matrix(bench: Bench) -> Matrix:
    engine = server(bench)
    before, tokenized = engine.metrics_when_idle(), engine.answered("POST /tokenize")
    finished = bench.run(engine.url(), MATRIX)
    after = engine.metrics_when_idle()
    growth = {name: value - before.get(name, 0.0) for name, value in after.items()}
    return Matrix(finished, growth, engine.answered("POST /tokenize") - tokenized)


def matrix(bench: Bench) -> Matrix:
    found: Matrix = bench.once("vllm matrix", lambda: _measure_matrix(bench))
    return found


def cells(bench: Bench) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """All cells of the matrix that were run, with their places."""
    places = [(context, level) for context in CONTEXTS for level in LEVELS]
    result = matrix(bench).finished
    return [(place, result.cell(*place)) for place in places if place != TOO_MUCH]


def facts(result: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {fact["name"]: (fact["value"], fact["source"]) for fact in result["server"]["facts"]}


# ---- what it is --------------------------------------------------------------------------------


def test_facts(bench: Bench) -> None:
    result = matrix(bench).finished.result
    known = facts(result)
    wanted = {
        "engine": "vllm",
        "version": VERSION,
        "model": "random-weights",  # the last part of the folder's path
        "served_model": "random-weights",
        "context_limit": str(CONTEXT),
        "metrics": "yes",
        "tokenize": "yes",
        "token_source": "usage_stream",
        "stream_options": "include_usage, continuous_usage_stats accepted",
        "ignore_eos": "obeyed",
    }
    expect_no(
        [
            None if known[name][0] == value else f"{name}: {known[name]}, not {value}"
            for name, value in wanted.items()
        ]
    )
    # seen, and not only read in the engine's documentation: answers end by themselves here
    expect("two short requests" in known["ignore_eos"][1], f"ignore_eos: {known['ignore_eos']}")
    sources = {cell["token_source"] for _, cell in cells(bench)}
    expect(sources == {"usage_stream"}, f"token sources {sources}")
    expect(result["run"]["ended_by"] == "done", f"{result['run']}")


def test_kv_budget(bench: Bench) -> None:
    known = matrix(bench).finished.result["server"]
    labels = server(bench).cache_config()
    product = int(labels["num_gpu_blocks"]) * int(labels["block_size"])
    expect(product == KV_BUDGET, f"the engine has {product} tokens: {labels}")
    expect(known["kv_budget"] == product, f"KV budget {known['kv_budget']}, not {product}")
    expect("kv_cache_size_tokens" in known["kv_budget_source"], known["kv_budget_source"])


# ---- the cells ---------------------------------------------------------------------------------


def test_statuses(bench: Bench) -> None:
    problems: list[str | None] = []
    for place, cell in cells(bench):
        wanted = "queued" if place == QUEUED else "valid"
        if cell["status"] != wanted:
            problems.append(f"{place}: {cell['status']} ({cell['reason']}), not {wanted}")
        extra = set(cell["marks"]) - NOISE_MARKS
        problems.append(f"{place}: marks {sorted(extra)}" if extra else None)
    none = matrix(bench).finished.cell(*TOO_MUCH)
    if none["status"] != "over_capacity" or none["total_tok_s"] is not None:
        problems.append(f"{TOO_MUCH}: {none['status']}, {none['total_tok_s']} tok/s")
    for words in (str(8 * (1024 + OUTPUT)), str(KV_BUDGET)):
        problems.append(None if words in none["reason"] else f"no {words} in: {none['reason']}")
    expect_no(problems)


def test_gauges(bench: Bench) -> None:
    """Running and waiting, as the engine's gauges were read during each window."""
    problems = []
    for (context, level), cell in cells(bench):
        name = f"{context} x {level}"
        running, waiting = min(level, RUNNING), max(level - RUNNING, 0)
        problems.append(near(f"running at {name}", cell["server_running"], running, 0.02))
        problems.append(near(f"waiting at {name}", cell["server_waiting"], waiting, 0.02, 0.02))
        problems.append(near(f"active at {name}", cell["avg_active"], running, 0.02))
        source = cell["avg_active_source"]
        problems.append(None if source == "server" else f"{name}: active by {source}")
    expect_no(problems)


def test_prompt_lengths(bench: Bench) -> None:
    result = matrix(bench).finished.result
    rows = [("prefill", row) for row in result["prefill"]]
    rows += [(f"decode x {place[1]}", cell) for place, cell in cells(bench) if place[0]]
    expect_no(
        [near(name, row["prompt_tokens"], row["context_tokens"], 0.02) for name, row in rows]
    )
    expect(matrix(bench).tokenized > 0, "the engine's log has no POST /tokenize")


def test_cell_counts(bench: Bench) -> None:
    result = matrix(bench).finished.result
    expect_counts(bench, server(bench).url(), result, WINDOW)


def test_run_counts(bench: Bench) -> None:
    """All requests of the run, by the raw samples, against the growth of the engine's counters."""
    run = matrix(bench)
    requests = samples(run.finished)
    read = [request for request in requests if request["first_token_us"] is not None]
    generated = sum(request["completion_tokens"] or request["events"] for request in requests)
    prompts = sum(request["prompt_tokens"] for request in read)
    expect_no(
        [
            near("generated", generated, run.growth["generation_tokens_total"], 0.02),
            near("prompts", prompts, run.growth["prompt_tokens_total"], 0.02),
        ]
    )


def test_prefix_cache(bench: Bench) -> None:
    """Cold prompts were cold; what came after found its context, but for the block it ends in."""
    run = matrix(bench)
    warm = [
        request["prompt_tokens"]
        for request in samples(run.finished)
        if request["phase"] in ("warmup", "decode")
        and request["context_tokens"]
        and request["prompt_tokens"]
    ]
    expect(len(warm) >= 1 + 2 + 4, f"{len(warm)} requests had a context")
    found = run.growth["prefix_cache_hits_total"]
    least, most = sum(tokens - 2 * BLOCK for tokens in warm), sum(warm)
    expect(least <= found <= most, f"{found} tokens found in the cache, not {least} to {most}")
    for row in run.finished.result["prefill"]:
        cached = row["cached_tokens"]
        expect(cached == 0, f"prefill at {row['context_tokens']}: {cached} tokens cached")


# ---- prefill -----------------------------------------------------------------------------------


def _prefill_apart(bench: Bench, result: dict[str, Any]) -> list[str | None]:
    """TTFT has the way there and the counting of the prompt's tokens on top."""
    problems = []
    for row in result["prefill"]:
        expect(row["status"] == "valid", f"{row['context_tokens']}: {row['reason']}")
        name, ttft, by_engine = (
            f"TTFT at {row['context_tokens']}",
            row["ttft_ms"]["p50"],
            row["server_prompt_ms"],
        )
        problems.append(near(name, ttft, by_engine, 0.1, slack=30))
        bench.note(f"{name}: {ttft:.1f} ms, {by_engine:.1f} ms of prefill by the engine")
    return problems


def test_prefill_times(bench: Bench) -> None:
    """TTFT against the engine's histogram of prefill times, which tokgrid reads for each row."""
    problems = _prefill_apart(bench, matrix(bench).finished.result)
    for _ in range(TRIES - 1):
        if any(problems):
            options = f"--contexts 0 --concurrency 1 {PREFILL} --duration 1s"
            problems = _prefill_apart(bench, bench.run(server(bench).url(), options).result)
    expect_no(problems)


def test_first_tokens(bench: Bench) -> None:
    """The TTFTs of all requests of the run against the engine's histogram of them."""
    run = matrix(bench)
    times = [request["first_token_us"] for request in samples(run.finished)]
    seen = [time / 1e6 for time in times if time is not None]
    count = run.growth["time_to_first_token_seconds_count"]
    expect(len(seen) == count, f"{len(seen)} first tokens, {count} by the engine")
    by_engine = run.growth["time_to_first_token_seconds_sum"]
    bench.note(f"{len(seen)} first tokens: {sum(seen):.3f} s, {by_engine:.3f} s by the engine")
    expect_no([near("time to all first tokens", sum(seen), by_engine, 0.1, 0.03 * len(seen))])


# ---- other ways to ask -------------------------------------------------------------------------


def test_answers_that_end(bench: Bench) -> None:
    """Short answers, replaced as they end."""
    engine = server(bench)
    options = "--contexts 0 --concurrency 1,4 --prefill-mode none --max-output 60 " + WINDOW
    finished = bench.run(engine.url(), options)
    engine.metrics_when_idle()
    expect_counts(bench, engine.url(), finished.result, f"--max-output 60 {WINDOW}")
    ended = [cell["completed"] for cell in finished.result["decode"]]
    expect(all(count > 0 for count in ended), f"requests completed in the windows: {ended}")
    requests = samples(finished)
    whole = [r for r in requests if r["phase"] == "decode" and r["outcome"] == "complete"]
    expect({r["completion_tokens"] for r in whole} == {60}, "an answer is not 60 tokens long")


def test_curl(bench: Bench) -> None:
    """The other transport reads the same."""
    engine = server(bench)
    options = f"{ONE_CELL} --transport curl"
    finished = bench.run(engine.url(), options)
    cell = finished.cell(0, 2)
    expect(cell["status"] == "valid", f"{cell['status']} ({cell['reason']})")
    expect(cell["token_source"] == "usage_stream", f"{cell['token_source']}")
    expect_counts(
        bench, engine.url(), finished.result, "--duration 2s --settle 300ms --transport curl"
    )


def test_too_long(bench: Bench) -> None:
    """Who does not know the limit sends too long a prompt; the engine's sentence is the reason."""
    engine = server(bench)
    options = "--model random-weights --prefill 16k --prefill-samples 1 --max-output 200"
    with Gateway(engine.port) as gateway:
        finished = bench.run(
            gateway.url(), f"{options} --contexts 0 --concurrency 1 --duration 1s --settle 300ms"
        )
    expect(facts(finished.result)["engine"][0] == "vllm", f"{finished.result['engine']}")
    expect(finished.result["server"]["context_limit"] is None, "the limit is known after all")
    row = finished.result["prefill"][0]
    expect(row["status"] == "error", f"{row['status']}")
    for words in ("400", f"maximum context length is {CONTEXT}", "input tokens"):
        expect(words in row["reason"], f"no '{words}' in: {row['reason']}")
    bench.note(row["reason"])
    expect(finished.cell(0, 1)["status"] == "valid", f"{finished.cell(0, 1)}")


def test_interrupt(bench: Bench) -> None:
    """Ctrl-C: what was being generated is given up."""
    engine = server(bench)
    program = bench.start(engine.url(), "--contexts 0 --concurrency 4 --prefill-mode none")
    program.wait_until(
        "four requests at once", lambda: engine.metrics()[engine.running] == 4, LIMIT_S
    )
    program.signal(signal.SIGINT)
    finished = program.finish(LIMIT_S)
    expect(finished.code == 130, f"exit code {finished.code}: {finished.stderr.strip()}")
    bench.check_document(finished.result)
    engine.metrics_when_idle()


# ---- a server with a key that tells of cached tokens ---------------------------------------------

KEY, WRONG_KEY = "sk-right-8c1f0a", "sk-wrong-77aa21"


def key_server(bench: Bench) -> VllmServer:
    """The other one is stopped: two would not share the cores well."""

    def start() -> VllmServer:
        if other := bench.made("vllm"):
            other.stop()
        return bench.vllm(["--api-key", KEY, "--enable-prompt-tokens-details"])

    found: VllmServer = bench.once("vllm with a key", start)
    found.wait_ready()
    return found


def test_wrong_key(bench: Bench) -> None:
    engine = key_server(bench)
    finished = bench.start(engine.url(), f"{ONE_CELL} --api-key {WRONG_KEY}").finish(LIMIT_S)
    expect(finished.code == 1, f"exit code {finished.code}")
    lines = finished.stderr.strip().splitlines()
    expect(len(lines) == 1 and "key" in lines[0] and "401" in lines[0], f"stderr: {lines}")


def test_cached_tokens(bench: Bench) -> None:
    """Here the usage tells of cached tokens: those of the cold rows, and of the streams."""
    engine = key_server(bench)
    options = f"--contexts 1k --concurrency 2 --prefill 1k --api-key {KEY} --duration 1s"
    finished = bench.run(engine.url(), options)
    row = finished.result["prefill"][0]
    expect(row["status"] == "valid" and row["cached_tokens"] == 0, f"{row}")
    streams = [r for r in samples(finished) if r["phase"] == "decode"]
    expect(bool(streams), "no streams")
    # told at an answer's end only; these were cut off, so that the prefill's are what is known
    ended = [r["cached_tokens"] for r in samples(finished) if r["outcome"] == "complete"]
    expect(all(cached is not None for cached in ended), f"cached tokens told: {ended}")


def test_engine_dies(bench: Bench) -> None:
    """The engine is killed in the second cell; its server says so in the streams, and ends."""
    engine = key_server(bench)
    options = "--contexts 0 --concurrency 1,2,4 --prefill-mode none --duration 3s --settle 200ms"
    program = bench.start(engine.url(), f"{options} --api-key {KEY}")
    program.wait_line("[ 1/3]", LIMIT_S)
    program.wait_until(
        "two requests at once", lambda: engine.metrics()[engine.running] == 2, LIMIT_S
    )
    engine.kill_engine()
    finished = program.finish(LIMIT_S)
    expect(finished.code == 1, f"exit code {finished.code}")
    bench.check_document(finished.result)
    statuses = [finished.cell(0, level)["status"] for level in (1, 2, 4)]
    expect(statuses == ["valid", "error", "skipped"], f"statuses {statuses}")
    reason = finished.cell(0, 2)["reason"]
    bench.note(f"{reason}; {finished.stderr.strip()}")
    expect("EngineCore" in reason, f"the reason is not the engine's: {reason}")


TESTS = [
    ("engine, version, limits and what it obeys", test_facts),
    ("the KV budget is the engine's blocks", test_kv_budget),
    ("statuses: one cell queues, one is over capacity, the rest are valid", test_statuses),
    ("running and waiting are what the engine's gauges say", test_gauges),
    ("prompts are as long as planned, counted by /tokenize", test_prompt_lengths),
    ("tokens of each cell are those the engine counted", test_cell_counts),
    ("tokens and prompts of the whole run are those the engine counted", test_run_counts),
    ("the prefix cache: cold rows miss it, streams hit it", test_prefix_cache),
    ("prefill takes as long as the engine says", test_prefill_times),
    ("first tokens come when the engine says", test_first_tokens),
    ("tokens of answers that end inside the window", test_answers_that_end),
    ("the other transport", test_curl),
    ("a prompt that is too long, told in the engine's words", test_too_long),
    ("Ctrl-C", test_interrupt),
    ("a wrong API key", test_wrong_key),
    ("cached tokens in the usage", test_cached_tokens),
    ("the engine is killed in the second cell", test_engine_dies),
]
