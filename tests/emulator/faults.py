"""faults.py - each fault, as a client sees it on the wire."""

from __future__ import annotations

from emulator import Bench, expect, text_of

FAST = "--speed 50"


def test_stall(bench: Bench) -> None:
    """Nothing for 400 ms at the tenth token, then all that was written meanwhile."""
    stream = bench.emulator(f"{FAST} --fault stall:token=10,for=400ms").stream(max_tokens=40)
    gaps = [b - a for a, b in zip(stream.times, stream.times[1:])]
    expect(max(gaps) >= 0.35, f"the longest gap is {max(gaps):.3f} s")
    at = gaps.index(max(gaps)) + 1
    expect(at in (11, 12), f"the gap is before chunk {at}")  # the role event is one more
    expect(len([e for e in stream.events if text_of(e)]) == 40, "tokens are lost")
    expect(stream.finish == "length" and stream.ended, "no end")


def test_slow_headers(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault slow-headers:for=300ms,request=2")
    prompt, late = engine.stream(), engine.stream()
    expect(prompt.head_at < 0.25, f"{prompt.head_at:.3f} s without it")
    expect(late.head_at >= 0.3, f"{late.head_at:.3f} s with it")
    expect(late.text == prompt.text and late.ended, "the answer is another")


def test_streams_that_break(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault reset:token=5,request=1 --fault cut:token=5,request=2 "
                            "--fault truncate:token=5,request=3 --fault error:token=5,request=4")
    for kind in ("reset", "cut", "truncate", "error"):
        stream = engine.stream()
        texts = sum(1 for e in stream.events if text_of(e))
        expect(texts == 5 or (kind == "reset" and texts < 5), f"{kind}: {texts} tokens")
        expect(stream.finish is None, f"{kind}: finish {stream.finish}")
        expect("[DONE]" not in stream.events, f"{kind}: [DONE]")
        expect(stream.ended == (kind in ("truncate", "error")), f"{kind}: ended {stream.ended}")
        expect(stream.reset == (kind == "reset"), f"{kind}: reset {stream.reset}")
        has_error = any(isinstance(e, dict) and "error" in e for e in stream.events)
        expect(has_error == (kind == "error"), f"{kind}: {stream.events[-1]}")
    whole = engine.stream()
    expect(whole.finish == "length", "the fifth request is hit too")
    engine.wait_metric("num_requests_running", 0)
    code, said = engine.stop()
    expect(code == 0 and "4 broken on purpose" in said, said)


def test_error_in_each_shape(bench: Bench) -> None:
    """The object stands under `error`, whatever the face."""
    for face in ("vllm", "sglang", "llama.cpp", "plain"):
        events = bench.emulator(f"{FAST} --face {face} --fault error:token=2").stream().events
        expect("message" in events[-1].get("error", {}), f"{face}: {events[-1]}")


def test_refuse(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault refuse:status=429,retry-after=3,every=2")
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    good = engine.post("/v1/chat/completions", body)
    refused = engine.post("/v1/chat/completions", body)
    expect(good.status == 200 and refused.status == 429, f"{good.status}, {refused.status}")
    expect(refused.headers.get("retry-after") == "3", f"{refused.headers}")
    expect("message" in refused.json["error"], f"{refused.json}")


def test_bundle(bench: Bench) -> None:
    plain = bench.emulator(FAST).stream()
    stream = bench.emulator(f"{FAST} --fault bundle:events=8").stream()
    # 32 tokens, the role, the usage with [DONE]: 34 events, or writes
    expect(len(plain.chunks) == 34, f"{len(plain.chunks)} writes without it")
    expect(len(stream.chunks) == 5, f"{len(stream.chunks)} writes")
    expect(stream.text == plain.text, "the text is another")


def test_split(bench: Bench) -> None:
    """Each write in pieces of one byte; some characters have more than one."""
    stream = bench.emulator(f"{FAST} --fault split:bytes=1").stream()
    expect(all(len(chunk) == 1 for chunk in stream.chunks), "a piece is longer")
    expect(any(ord(c) > 0xFFFF for c in stream.text), f"no wide character: {stream.text}")
    expect(sum(1 for e in stream.events if text_of(e)) == 32, "tokens are lost")


def test_loop(bench: Bench) -> None:
    stream = bench.emulator(f"{FAST} --fault loop:period=4,token=8").stream(max_tokens=64)
    texts = [text_of(e) for e in stream.events if text_of(e)]
    expect(texts[8:12] * 14 == texts[8:], f"{texts}")
    expect(texts[:4] != texts[4:8], "it loops from the beginning")


def test_preempt(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault preempt:token=5,sequences=1")
    stream = engine.stream()
    expect(engine.metrics()["num_preemptions_total"] == 1, f"{engine.metrics()}")
    texts = sum(1 for e in stream.events if text_of(e))
    expect(texts == 32 and stream.finish == "length", f"{texts} tokens, {stream.finish}")


def test_wrong_usage(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault wrong-usage:factor=1.5,request=2")
    counts = [engine.stream().usage["completion_tokens"] for _ in range(2)]
    expect(counts == [32, 48], f"{counts}")


def test_cut_prompt(bench: Bench) -> None:
    engine = bench.emulator(f"{FAST} --fault cut-prompt:tokens=100")
    long = engine.stream(messages=[{"role": "user", "content": "word " * 400}])
    expect(long.usage["prompt_tokens"] == 100, f"{long.usage}")
    expect(engine.stream().usage["prompt_tokens"] < 30, "a short prompt is cut")


def test_whom_it_hits(bench: Bench) -> None:
    """The same seed hits the same requests."""
    hits = []
    for _ in range(2):
        engine = bench.emulator(f"{FAST} --fault wrong-usage:factor=2,probability=0.5,seed=3")
        hits.append([engine.stream(max_tokens=4).usage["completion_tokens"] for _ in range(12)])
    expect(hits[0] == hits[1], f"{hits}")
    expect(set(hits[0]) == {4, 8}, f"{hits[0]}")


TESTS = [
    ("faults: stall", test_stall),
    ("faults: slow headers", test_slow_headers),
    ("faults: reset, cut, truncate, error", test_streams_that_break),
    ("faults: the error in each shape", test_error_in_each_shape),
    ("faults: refuse", test_refuse),
    ("faults: bundle", test_bundle),
    ("faults: split", test_split),
    ("faults: loop", test_loop),
    ("faults: preempt", test_preempt),
    ("faults: wrong usage", test_wrong_usage),
    ("faults: cut prompt", test_cut_prompt),
    ("faults: whom they hit", test_whom_it_hits),
]
