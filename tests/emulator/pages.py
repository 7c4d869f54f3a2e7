"""pages.py - what each face serves: models, limits, errors in the engine's own shape, tokenizing."""

from __future__ import annotations

import time
from typing import Any

from emulator import Bench, Emulator, expect, text_of

FACES = ("vllm", "sglang", "llama.cpp", "plain")
FAST = "--speed 200 --max-model-len 4k"
CHAT = "/v1/chat/completions"


def hello(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi there"}], "max_tokens": 4} | fields


LONG = {"role": "user", "content": "word " * 5000}

# What is asked, the status by face, and what stands where in the answer.
ERRORS: list[tuple[str, str, Any, dict[str, tuple[int, str, Any]]]] = [
    ("GET", "/nowhere", None, {
        "vllm": (404, "detail", "Not Found"),
        "sglang": (404, "detail", "Not Found"),
        "llama.cpp": (404, "error.type", "not_found_error"),
        "plain": (404, "error.code", "unknown_url")}),
    ("GET", CHAT, None, {
        "vllm": (405, "detail", "Method Not Allowed"),
        "sglang": (405, "detail", "Method Not Allowed"),
        "llama.cpp": (404, "error.type", "not_found_error"),
        "plain": (405, "error.code", "method_not_supported")}),
    ("POST", CHAT, b"{bad", {
        "vllm": (400, "error.type", "Bad Request"),
        "sglang": (400, "object", "error"),
        "llama.cpp": (400, "error.type", "invalid_request_error"),
        "plain": (400, "error.type", "invalid_request_error")}),
    ("POST", CHAT, {}, {
        "vllm": (400, "error.param", "messages"),
        "sglang": (400, "code", 400),
        "llama.cpp": (400, "error.message", "'messages' is required"),
        "plain": (400, "error.code", "missing_required_parameter")}),
    ("POST", CHAT, hello(max_tokens="x"), {
        "vllm": (400, "error.param", "max_tokens"),
        "sglang": (400, "type", "Bad Request"),
        "llama.cpp": (400, "error.code", 400),
        "plain": (400, "error.code", "invalid_type")}),
    ("POST", CHAT, hello(n=2), {
        "vllm": (400, "error.param", "n"),
        "sglang": (400, "type", "BadRequestError"),
        "llama.cpp": (400, "error.type", "invalid_request_error"),
        "plain": (400, "error.code", "invalid_value")}),
    ("POST", CHAT, hello(stream_options={"include_usage": True}), {
        "vllm": (400, "error.param", "stream_options"),
        "sglang": (200, "object", "chat.completion"),
        "llama.cpp": (200, "object", "chat.completion"),
        "plain": (200, "object", "chat.completion")}),
    ("POST", CHAT, hello(model="other"), {
        "vllm": (404, "error.type", "NotFoundError"),
        "sglang": (200, "object", "chat.completion"),
        "llama.cpp": (200, "object", "chat.completion"),
        "plain": (404, "error.code", "model_not_found")}),
    ("POST", CHAT, hello(messages=[LONG]), {
        "vllm": (400, "error.param", "input_tokens"),
        "sglang": (400, "type", "BadRequestError"),
        "llama.cpp": (400, "error.n_ctx", 4096),
        "plain": (400, "error.code", "context_length_exceeded")}),
    ("POST", CHAT, hello(max_tokens=5000), {
        "vllm": (400, "error.param", "max_tokens"),
        "sglang": (400, "type", "BadRequestError"),
        "llama.cpp": (200, "object", "chat.completion"),
        "plain": (400, "error.code", "context_length_exceeded")}),
    ("POST", CHAT, hello(max_tokens=4090), {
        "vllm": (200, "object", "chat.completion"),
        "sglang": (400, "type", "BadRequestError"),
        "llama.cpp": (200, "object", "chat.completion"),
        "plain": (400, "error.code", "context_length_exceeded")}),
]


def at(document: Any, path: str) -> Any:
    for step in path.split("."):
        document = document.get(step) if isinstance(document, dict) else None
    return document


def test_errors(bench: Bench) -> None:
    """Each face refuses in its own shape, and takes what its engine takes."""
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST}")
        for method, path, body, wanted in ERRORS:
            status, where, value = wanted[face]
            answer = engine.ask(method, path, body)
            what = f"{face}: {method} {path} {str(body)[:80]}"
            expect(answer.status == status, f"{what}: {answer.status} {answer.body[:200]!r}")
            found = at(answer.json, where)
            expect(found == value, f"{what}: {where} is {found!r}: {answer.body[:200]!r}")


def test_too_long_in_a_stream(bench: Bench) -> None:
    """SGLang answers 200 and says it in the stream; the others refuse before it."""
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST}")
        if face == "sglang":
            stream = engine.stream(messages=[LONG])
            expect(stream.status == 200, f"{stream.status}")
            first, last = stream.events[0], stream.events[-1]
            expect(first["error"]["code"] == 400 and last == "[DONE]", f"{stream.events}")
            for number in ("4096", "5010"):
                expect(number in first["error"]["message"], first["error"]["message"])
        else:
            answer = engine.post(CHAT, hello(messages=[LONG], stream=True))
            expect(answer.status == 400, f"{face}: {answer.status}")


def test_it_says_what_it_is(bench: Bench) -> None:
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST} --served-model my-model")
        models = engine.get("/v1/models")
        expect(models.headers["server"].startswith("tokgrid-engine/"), f"{models.headers}")
        expect(models.json["data"][0]["id"] == "my-model", f"{models.json}")
        expect(models.json["emulator"]["speed"] == 200, f"{models.json}")
        stream = engine.stream()
        expect(stream.headers["server"].startswith("tokgrid-engine/"), f"{stream.headers}")


def test_streams(bench: Bench) -> None:
    """Text token by token, the finish reason, usage when asked for, [DONE]."""
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST}")
        for path in (CHAT, "/v1/completions"):
            stream = engine.stream(path, max_tokens=20)
            what = f"{face} {path}"
            texts = [text for text in map(text_of, stream.events) if text]
            expect(len(texts) == 20, f"{what}: {len(texts)} pieces of text")
            expect(stream.finish == "length", f"{what}: finish {stream.finish}")
            expect(stream.events[-1] == "[DONE]" and stream.ended, f"{what}: no end")
            expect(stream.usage["completion_tokens"] == 20, f"{what}: {stream.usage}")
            again = engine.stream(path, max_tokens=20)
            expect(again.text == stream.text, f"{what}: the same question, another answer")
            seeded = engine.stream(path, max_tokens=20, seed=1)
            expect(seeded.text != stream.text, f"{what}: a seed, the same answer")
        free = engine.stream(ignore_eos=False, max_tokens=1000)
        expect(free.finish == "stop", f"{face}: {free.finish}")


def test_usage_on_the_way(bench: Bench) -> None:
    """continuous_usage_stats: every event of vLLM and SGLang counts; llama.cpp does not know it."""
    options = {"include_usage": True, "continuous_usage_stats": True}
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST}")
        events = engine.stream(max_tokens=6, stream_options=options).events
        counts = [e["usage"]["completion_tokens"] for e in events[:-1] if e.get("usage")]
        growing = face in ("vllm", "sglang")
        wanted = [0, 1, 2, 3, 4, 5, 6] if growing else [6]
        expect(sorted(set(counts)) == wanted and counts == sorted(counts), f"{face}: {counts}")


def test_tokenizing_agrees_with_usage(bench: Bench) -> None:
    messages = [{"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Wörld of 12345 things,\n\nand <|im_end|> more."}]
    said_in = {"vllm": "prompt", "sglang": "text", "llama.cpp": "content"}
    for face, text_key in said_in.items():
        engine = bench.emulator(f"--face {face} {FAST}")
        usage = engine.stream(messages=messages).usage
        if face == "llama.cpp":
            text = engine.post("/apply-template", {"messages": messages}).json["prompt"]
            # a mark within a message is text there and a token here, as with the real one
            plain = [dict(m, content=m["content"].replace("<|im_end|> ", "")) for m in messages]
            usage = engine.stream(messages=plain).usage
            text = engine.post("/apply-template", {"messages": plain}).json["prompt"]
            asked = {"content": text, "add_special": True, "parse_special": True}
            count = len(engine.post("/tokenize", asked).json["tokens"])
        else:
            answer = engine.post("/tokenize", {"messages": messages}).json
            count = answer["count"]
            back = engine.post("/detokenize", {"tokens": answer["tokens"]}).json[text_key]
            expect(back.startswith("<|im_start|>") and messages[-1]["content"] in back,
                   f"{face}: {back!r}")
        expect(count == usage["prompt_tokens"], f"{face}: {count} and {usage}")
        key = "content" if face == "llama.cpp" else "prompt"
        said = 'Wörld "q" 1234'
        tokens = engine.post("/tokenize", {key: said}).json["tokens"]
        back = engine.post("/detokenize", {"tokens": tokens}).json[text_key]
        expect(back == said, f"{face}: {back!r}")


def test_counters(bench: Bench) -> None:
    """What was counted is what usage said; the prefix cache is seen, and can be emptied."""
    names = {
        "vllm": ("prompt_tokens_total", "generation_tokens_total", "prefix_cache_hits_total"),
        "sglang": ("prompt_tokens_total", "generation_tokens_total", "cached_tokens_total"),
        "llama.cpp": ("prompt_tokens_total", "tokens_predicted_total", "prompt_tokens_cached_total"),
    }
    messages = [{"role": "user", "content": "word " * 500}]
    for face, (prompt, output, cached) in names.items():
        engine = bench.emulator(f"--face {face} {FAST} --cached-in-usage")
        told = [_usage(engine, messages) for _ in range(2)]
        now = engine.metrics()
        read = now[prompt] + (now[cached] if face == "llama.cpp" else 0)
        expect(read == sum(u["prompt_tokens"] for u in told), f"{face}: {read}, {told}")
        expect(now[output] == sum(u["completion_tokens"] for u in told), f"{face}: {now[output]}")
        hits = [u["prompt_tokens_details"]["cached_tokens"] for u in told]
        expect(hits[0] == 0 and 400 <= hits[1] < told[1]["prompt_tokens"], f"{face}: {hits}")
        expect(now[cached] == hits[1], f"{face}: {now[cached]}, {hits}")
        empty = {"vllm": "/reset_prefix_cache", "sglang": "/flush_cache"}.get(face)
        if empty:
            expect(engine.post(empty, b"").status == 200, empty)
            after = _usage(engine, messages)["prompt_tokens_details"]["cached_tokens"]
            expect(after == 0, f"{face}: {after} cached after {empty}")


def test_counters_that_wait(bench: Bench) -> None:
    """SGLang's totals move when a request ends; what moves before is its realtime counter."""
    engine = bench.emulator("--face sglang --speed 2 --max-model-len 4k")
    decoded = 'sglang:realtime_tokens_total{engine_type="unified",mode="decode",'

    def realtime() -> float:
        lines = engine.get("/metrics").body.decode().splitlines()
        return next(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(decoded))

    engine.stream(max_tokens=9)
    expect(realtime() == 8, f"{realtime()}: the first token is the prefill's")
    body = {"messages": [{"role": "user", "content": "Go on."}], "max_tokens": 2000}
    with engine.connect(CHAT, body | {"ignore_eos": True, "stream": True}):
        while realtime() < 20:
            time.sleep(0.02)
        expect(engine.metrics()["generation_tokens_total"] == 9, "counted before its end")
    engine.wait_metric("num_running_reqs", 0)
    expect(engine.metrics()["generation_tokens_total"] >= 20, "an aborted request does not count")


def _usage(engine: Emulator, messages: list[dict[str, str]]) -> dict[str, Any]:
    return engine.stream(messages=messages, max_tokens=8).usage


def test_histograms(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST}")
    for _ in range(3):
        engine.stream(max_tokens=5)
    now = engine.metrics()
    expect(now["time_to_first_token_seconds_count"] == 3, f"{now}")
    expect(now["inter_token_latency_seconds_count"] == 12, f"{now}")
    expect(now["request_generation_tokens_sum"] == 15, f"{now}")
    text = engine.get("/metrics").body.decode()
    expect('kv_cache_size_tokens="' in text and 'num_gpu_blocks="' in text, "no cache_config_info")


def test_no_metrics(bench: Bench) -> None:
    for face, status in (("vllm", 404), ("sglang", 404), ("llama.cpp", 501), ("plain", 404)):
        options = "" if face == "plain" else "--no-metrics"
        engine = bench.emulator(f"--face {face} {FAST} {options}")
        expect(engine.get("/metrics").status == status, f"{face}: {engine.get('/metrics')}")


def test_api_key(bench: Bench) -> None:
    """The key is wanted where the engine would want it."""
    for face in FACES:
        engine = bench.emulator(f"--face {face} {FAST} --api-key secret-1")
        for key, status in ((None, 401), ("secret-2", 401), ("secret-1", 200)):
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            answer = engine.ask("POST", CHAT, hello(), headers)
            expect(answer.status == status, f"{face}, {key}: {answer.status}")
            expect(b"secret" not in answer.body, f"{face}: {answer.body!r}")
        if face != "plain":
            expect(engine.get("/health").status == 200, f"{face}: /health")


def test_abort_by_id(bench: Bench) -> None:
    """SGLang: a stream ends with the reason abort, and its request is gone."""
    engine = bench.emulator("--face sglang --speed 2")
    body = hello(stream=True, max_tokens=4000, ignore_eos=True, rid="to-be-aborted")
    with engine.connect(CHAT, body) as peer:
        engine.wait_metric("num_running_reqs", 1)
        while b"content" not in peer.recv(65536):
            pass
        expect(engine.post("/abort_request", {"rid": "other"}).status == 200, "unknown id")
        expect(engine.post("/abort_request", {"rid": "to-be-aborted"}).status == 200, "abort")
        rest = b""
        while not rest.endswith(b"0\r\n\r\n"):
            more = peer.recv(65536)
            expect(bool(more), f"the stream broke off: {rest[-200:]!r}")
            rest += more
        expect(b'"finish_reason":"abort"' in rest and b"[DONE]" in rest, f"{rest[-600:]!r}")
    engine.wait_metric("num_running_reqs", 0)


def test_clients_that_leave(bench: Bench) -> None:
    """A hundred streams, all hung up on: nothing runs on."""
    engine = bench.emulator("--speed 2")
    body = hello(stream=True, max_tokens=4000, ignore_eos=True)
    peers = [engine.connect(CHAT, body) for _ in range(100)]
    engine.wait_metric("num_requests_running", 100)
    for peer in peers:
        peer.close()
    engine.wait_metric("num_requests_running", 0)
    code, said = engine.stop()
    expect(code == 0 and "100 aborted" in said, f"{code}: {said}")


def test_queue(bench: Bench) -> None:
    engine = bench.emulator("--speed 2 --max-num-seqs 3")
    body = hello(stream=True, max_tokens=4000, ignore_eos=True)
    peers = [engine.connect(CHAT, body) for _ in range(5)]
    engine.wait_metric("num_requests_running", 3)
    engine.wait_metric("num_requests_waiting", 2)
    for peer in peers:
        peer.close()


TESTS = [
    ("pages: errors in each engine's own shape", test_errors),
    ("pages: a streaming request that is too long", test_too_long_in_a_stream),
    ("pages: it says what it is", test_it_says_what_it_is),
    ("pages: streams", test_streams),
    ("pages: usage on the way", test_usage_on_the_way),
    ("pages: tokenizing agrees with usage", test_tokenizing_agrees_with_usage),
    ("pages: counters and the prefix cache", test_counters),
    ("pages: counters that wait for a request's end", test_counters_that_wait),
    ("pages: histograms", test_histograms),
    ("pages: without metrics", test_no_metrics),
    ("pages: API key", test_api_key),
    ("pages: abort by id", test_abort_by_id),
    ("pages: clients that leave", test_clients_that_leave),
    ("pages: a queue", test_queue),
]
