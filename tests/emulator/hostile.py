"""hostile.py - bodies that no client should send: always an error of the client's, memory flat."""

from __future__ import annotations

import random

from emulator import Bench, Emulator, expect

CHAT = "/v1/chat/completions"


def _prompt(inside: bytes) -> bytes:
    return b'{"max_tokens":1,"messages":[{"role":"user","content":"' + inside + b'"}]}'


def bodies() -> dict[str, bytes]:
    rng = random.Random(1)
    return {
        "nothing": b"",
        "zeros": bytes(1000),
        "noise": rng.randbytes(1 << 20),
        "deep arrays": b"[" * 1_000_000,
        "deep objects": b'{"a":' * 300_000,
        "deep messages": b'{"messages":' + b"[" * 5000 + b"]" * 5000 + b"}",
        "many values": b"[" + b"0," * 5_000_000 + b"0]",
        "many keys": b"{" + b",".join(b'"k%d":0' % i for i in range(300_000)) + b"}",
        "many messages": b'{"messages":[' + b'{"role":"user"},' * 300_000 + b"1]}",
        "10 MB of words": _prompt(b"word " * 2_000_000),
        "10 MB of dots": _prompt(b"." * 10_000_000),
        "10 MB of escapes": _prompt(rb"\u4e2d" * 1_700_000),
        "10 MB of quotes": _prompt(rb"\"" * 5_000_000),
        "an open string": _prompt(b"x" * 5_000_000)[:-6],
        "a long control character": _prompt(b"x" * 9000 + b"\x01"),
        "a long invalid UTF-8": _prompt(b"x" * 9000 + b"\xc3\x28"),
        "a long bad escape": _prompt(b"x" * 9000 + rb"\q"),
        "a long lone surrogate": _prompt(b"x" * 9000 + rb"\ud800"),
        "a short NUL": _prompt(rb"\u0000"),
        "a number": b"5",
        "huge numbers": b'{"messages":[],"max_tokens":1e999,"n":99999999999999999999}',
        "wrong types": b'{"messages":{"role":[]},"stream":{}}',
        "a long role": b'{"messages":[{"role":"' + b"r" * 1_000_000 + b'","content":""}]}',
        "a long model": b'{"model":"' + b"m" * 1_000_000 + b'","messages":[{"role":"u"}]}',
        "ids": b'{"prompt":[' + b"7," * 200_000 + b"7]}",
    }


def _is_refused(engine: Emulator, name: str, body: bytes) -> None:
    path = "/v1/completions" if name == "ids" else CHAT
    answer = engine.post(path, body)
    expect(400 <= answer.status < 500, f"{name}: HTTP {answer.status} {answer.body[:200]!r}")
    expect(len(answer.body) < 4096, f"{name}: {len(answer.body)} bytes of answer")


def test_bodies(bench: Bench) -> None:
    for face in ("vllm", "llama.cpp"):
        engine = bench.emulator(f"--face {face} --speed 100 --max-model-len 8k")
        sent = bodies()
        if face == "llama.cpp":
            del sent["a long model"]  # it answers to any name
            sent.pop("ids")
        for name, body in sent.items():
            _is_refused(engine, name, body)
        before = engine.rss_mb()
        for _ in range(2):
            for name, body in sent.items():
                _is_refused(engine, name, body)
        grown = engine.rss_mb() - before
        expect(grown < 8 * bench.slow, f"{face}: {grown:.1f} MB more after the same again")
        expect(engine.stream(max_tokens=3).finish == "length", f"{face}: it answers no more")
        code, said = engine.stop()
        expect(code == 0, f"{face}: exit code {code}: {said}")


def test_other_pages(bench: Bench) -> None:
    """The pages that read a body, fed with the same."""
    rng = random.Random(2)
    for face, paths in (
        ("vllm", ("/tokenize", "/detokenize")),
        ("sglang", ("/tokenize", "/detokenize", "/abort_request")),
        ("llama.cpp", ("/tokenize", "/detokenize", "/apply-template")),
    ):
        engine = bench.emulator(f"--face {face} --max-model-len 8k")
        for path in paths:
            for body in (b"", rng.randbytes(5000), b"[" * 50_000, b"{bad"):
                answer = engine.post(path, body)
                expect(400 <= answer.status < 500, f"{face} {path}: {answer.status}")
            for odd in (b"[]", b"3", b'{"tokens":[-1]}', b'{"tokens":["a"]}', b'{"messages":3}'):
                answer = engine.post(path, odd)
                expect(answer.status < 500, f"{face} {path} {odd!r}: {answer.status}")


TESTS = [
    ("hostile: bodies", test_bodies),
    ("hostile: other pages", test_other_pages),
]
