"""hostile.py - what nobody should send: a clear 4xx, nothing stored, no memory lost."""

from __future__ import annotations

import copy
import gzip
import json
import random
import socket
import time

from served import RUNS, Answer, Links, Served, Visitor, expect, publish, wait_until

HOSTILE_TEXT = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'; DROP TABLE runs; --",
    "' OR '1'='1",
    "{{7*7}}${7*7}",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "javascript:alert(1)",
    "../../etc/passwd",
    "%s%s%n",
    "x" * 5000,
    "\U0001f600" * 20,
    "e\u0301\u0301\u0301",
]


def keyed(site: Served) -> tuple[Visitor, str]:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    return visitor, visitor.make_key()


def expect_refused(site: Served, answer: Answer, words: str) -> None:
    expect(400 <= answer.status < 500, f"{words}: HTTP {answer.status} {answer.body[:200]!r}")
    error = answer.json["error"]
    expect(error["code"] and error["message"], f"{words}: {error}")
    expect(site.counts() == 0, f"{words}: something was stored")


def wrong_documents(site: Served) -> None:
    _, key = keyed(site)
    good = RUNS[0].read_bytes()
    document = json.loads(good)
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    cases: list[tuple[str, bytes]] = [
        ("nothing", b""),
        ("no JSON", b"hello"),
        ("an array", b"[]"),
        ("cut", good[:-20]),
        ("trailing", good + b"{}"),
        ("deep", deep),
        ("deep arrays", b"[" * 500_000),
        ("invalid UTF-8", good.replace(b"qwen", b"qw\xffn", 1).replace(b"Qwen", b"Qw\xffn", 1)),
        ("a NUL", good.replace(b"Qwen", b"Qw\\u0000n", 1)),
        ("twice", good.replace(b"{", b'{"schema": "tokgrid-run/1", ', 1)),
        ("another schema", good.replace(b"tokgrid-run/1", b"tokgrid-run/9", 1)),
        ("huge number", good.replace(b'"concurrency": 1,', b'"concurrency": 1e400,', 1)),
        ("an unknown field", json.dumps({**document, "surprise": 1}).encode()),
        ("no cells", json.dumps({**document, "decode": [], "prefill": []}).encode()),
    ]
    for words, body in cases:
        answer = publish(site, key, body)
        expect_refused(site, answer, words)
    unknown = publish(site, key, json.dumps({**document, "surprise": 1}).encode()).json
    expect("surprise" in unknown["error"]["message"], f"it is not named: {unknown}")


def wrong_requests(site: Served) -> None:
    _, key = keyed(site)
    good = RUNS[0].read_bytes()
    key_header = {"Authorization": f"Bearer {key}"}
    for type_ in ("", "text/plain", "application/x-www-form-urlencoded", "text/html"):
        answer = site.ask("POST", "/api/v1/runs", good, {**key_header, "Content-Type": type_})
        expect(answer.status == 415, f"type {type_!r}: HTTP {answer.status}")
    expect_refused(site, publish(site, key, good, "?surprise=1"), "an unknown parameter")
    expect_refused(site, publish(site, key, good, Content_Encoding="br"), "another coding")
    expect_refused(site, publish(site, key, good, Content_Encoding="gzip"), "no gzip")
    expect_refused(site, publish(site, key, good, "?state=flagged"), "an unknown state")
    packed = publish(site, key, gzip.compress(good), "?dry_run=1", Content_Encoding="gzip")
    expect(packed.status == 200, f"gzip: HTTP {packed.status} {packed.body[:200]!r}")
    for method in ("PUT", "PATCH", "TRACE", "OPTIONS", "BREW"):
        answer = site.ask(method, "/api/v1/runs", headers=key_header)
        expect(answer.status in (405, 501), f"{method}: HTTP {answer.status}")
        expect("allow" in answer.headers or answer.status == 501, f"{method}: no Allow")


def large(site: Served) -> None:
    _, key = keyed(site)
    before = site.memory_kib()
    expect(publish(site, key, b" " * (9 << 20)).status == 413, "9 MiB")
    bomb = gzip.compress(b" " * (200 << 20))
    expect(len(bomb) < 1 << 20, "the bomb is no bomb")
    answer = publish(site, key, bomb, Content_Encoding="gzip")
    expect(answer.status == 413, f"a bomb: HTTP {answer.status}")
    hundred(site, key, "Content-Length: 104857600", b" " * (100 << 20))
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    hundred(site, key, "Transfer-Encoding: chunked", chunk * 100 + b"0\r\n\r\n")
    grown = site.memory_kib() - before
    expect(site.slow > 1 or grown < 64 << 10, f"grew by {grown} KiB")  # sanitizers keep more
    expect(site.counts() == 0, "something was stored")


def hundred(site: Served, key: str, header: str, body: bytes) -> None:
    """100 MB: 413, or the connection is closed on a client that goes on sending."""
    head = (
        f"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\n{header}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as peer:
        got = b""
        try:
            peer.sendall(head.encode() + body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            got = peer.recv(65536)
        except ConnectionResetError:
            got = b"HTTP/1.1 413"  # the answer was lost with the connection
    expect(b" 413" in got[:20], f"{header}: {got[:60]!r}")


def hostile_text(site: Served) -> None:
    """Every text of a run may be anything; pages show it and stay themselves."""
    _, key = keyed(site)
    for number, text in enumerate(HOSTILE_TEXT):
        document = json.loads(RUNS[2].read_text(encoding="utf-8"))
        document["id"] = f"0193a1b2-0000-7000-8000-{number:012d}"
        spoil(document, text)
        answer = publish(site, key, json.dumps(document).encode())
        expect(answer.status in (201, 422), f"{text[:20]!r}: HTTP {answer.status} {answer.body!r}")
        if answer.status == 422:
            continue
        uid = answer.json["id"]
        for path in (f"/en/runs/{uid}", f"/zh/compare?run={uid}", "/en/runs", "/en/leaderboard",
                     "/en/models", "/en/hardware", "/en/", f"/en/calculator?run={uid}"):
            page = site.ask("GET", path)
            expect(page.status == 200, f"{path} with {text[:20]!r}: HTTP {page.status}")
            faults = Links(page.text).inline
            expect(not faults, f"{path} with {text[:20]!r}: {faults[:2]}")
            expect("\u202e" not in page.text, f"{path} turns text around")
            for link in Links(page.text).links:
                expect(link.startswith(("/", "#")), f"{path} leads to {link[:60]}")
        table = site.ask("GET", "/api/v1/leaderboard?format=csv").text
        expect("\n=cmd" not in table and ",=cmd" not in table, "a formula in the CSV")


def spoil(document: dict, text: str) -> None:
    document["subject"]["model"] = text
    document["subject"]["quantization"] = text
    document["engine"]["name"] = text
    document["engine"]["version"] = text
    document["engine"]["launch_command"] = text
    document["hardware"]["cpu"] = text
    for gpu in document["hardware"].get("gpus") or []:
        gpu["name"] = text
    document["notes"] = [text]
    for cell in document["decode"]:
        if cell.get("reason"):
            cell["reason"] = text


def mutations(site: Served) -> None:
    """A valid run, spoiled at random: accepted as itself or refused, never a 5xx."""
    _, key = keyed(site)
    chance = random.Random(7)
    good = RUNS[0].read_bytes()
    before = site.memory_kib()
    for _ in range(300):
        body = bytearray(good)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(body))
            body[at : at + chance.randint(0, 3)] = bytes(
                chance.randrange(256) for _ in range(chance.randint(0, 3))
            )
        answer = publish(site, key, bytes(body), "?dry_run=1")
        expect(answer.status in (200, 413, 422, 429), f"HTTP {answer.status} {answer.body[:200]!r}")
    grown = site.memory_kib() - before
    expect(site.slow > 1 or grown < 32 << 10, f"grew by {grown} KiB")
    expect(site.counts() == 0, "a dry run stored something")


def secrets(site: Served) -> None:
    _, key = keyed(site)
    document = json.loads(RUNS[0].read_text(encoding="utf-8"))
    spoiled = copy.deepcopy(document)
    spoiled["engine"]["launch_command"] = "HF_TOKEN=hf_abcdefabcdefabcdef vllm serve x"
    answer = publish(site, key, json.dumps(spoiled).encode())
    expect_refused(site, answer, "a secret")
    expect(answer.json["error"]["field"] == "engine.launch_command", f"{answer.json}")
    expect("hf_abc" not in answer.text, "the secret comes back")
    spoiled = copy.deepcopy(document)
    spoiled["notes"] = ["fine", "pulled from https://bob:secret-word@files.example/"]
    answer = publish(site, key, json.dumps(spoiled).encode())
    expect_refused(site, answer, "a password in a note")
    expect(answer.json["error"]["field"] == "notes[1]", f"{answer.json}")
    expect("secret-word" not in answer.text, "the password comes back")


def paths(site: Served) -> None:
    for path in (
        "/../../etc/passwd", "/assets/../tokgrid.db", "/assets/%2e%2e%2ftokgrid.db",
        "/assets/..%5c..%5ctokgrid.db", "/en/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd",
        "/en/runs/%00", "/en/runs/..%2f..%2ftokgrid.db", "/assets/%c0%ae%c0%ae/x", "/tokgrid.db",
        "/en/models/%ff", "/en/" + "a/" * 20, "/en/runs?after=nonsense", "/en/runs?q=%zz",
        "/api/v1/runs?after=%27%3B--", "/api/v1/runs/x", "/api/v1/nothing", "/.git/config",
    ):
        answer = site.ask("GET", path)
        expect(400 <= answer.status < 500, f"{path}: HTTP {answer.status}")
        expect(b"root:" not in answer.body and b"SQLite" not in answer.body, path)
        html = answer.headers["content-type"].startswith("text/html")
        expect(html or answer.json["error"]["message"], path)
    expect(site.ask("GET", "/en/" + "a" * 5000).status in (414, 431), "a long address")


def broken_http(site: Served) -> None:
    for text in (
        b"\r\n\r\n", b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"GET /en/ HTTP/1.1\r\n\r\n", b"POST /en/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /en/sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        b"POST /en/sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /en/ HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 60000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), bytes(5000),
    ):
        got = site.raw(text)
        expect(not got or b" 200 " not in got[:20], f"{text[:40]!r}: {got[:40]!r}")
    expect(site.ask("GET", "/en/").status == 200, "it does not answer any more")


def slow_clients(site: Served) -> None:
    """Hundreds of clients that never finish do not keep one that does from its answer."""
    idle = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(300)]
    try:
        for number, peer in enumerate(idle):
            peer.sendall(b"GET /en/ HTTP/1.1\r\nHost: x\r\nA: " + b"a" * (number % 50))
        began = time.monotonic()
        expect(site.ask("GET", "/en/").status == 200, "no answer")
        expect(time.monotonic() - began < 5 * site.slow, "a slow answer")
        trickle = idle[0]
        trickle.settimeout(0.5)
        began = time.monotonic()

        def closed() -> bool:
            try:
                trickle.sendall(b"a")
                return trickle.recv(100) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(closed, 60 * site.slow, "a client that trickles is never hung up on")
    finally:
        for peer in idle:
            peer.close()


def headers(site: Served) -> None:
    for path in ("/en/", "/en/nothing", "/api/v1/runs", "/api/v1/nothing", "/robots.txt"):
        got = site.ask("GET", path).headers
        expect("default-src 'none'" in got["content-security-policy"], path)
        expect("frame-ancestors 'none'" in got["content-security-policy"], path)
        expect(got["x-content-type-options"] == "nosniff", path)
        expect(got["referrer-policy"] == "same-origin", path)
        expect("server" not in got, "the server says what it is")
    page = site.ask("GET", "/en/nothing").text
    expect("There is nothing at this address" in page, "404 says nothing")
    expect("此地址没有内容" in site.ask("GET", "/zh/nothing").text, "404 in Chinese")


TESTS = [
    ("documents that are none", wrong_documents),
    ("requests that are wrong", wrong_requests),
    ("large bodies and bombs", large),
    ("hostile text in every field", hostile_text),
    ("mutations of a valid run", mutations),
    ("secrets are refused", secrets),
    ("paths that lead nowhere", paths),
    ("broken HTTP", broken_http),
    ("slow clients", slow_clients),
    ("headers that protect", headers),
]
