"""hostile.py - what nobody should send: a clear 4xx, nothing stored, no memory lost."""

from __future__ import annotations

import copy
import gzip
import json
import socket
import time
import urllib.parse

from served import RUNS, Answer, Line, Served, Visitor, expect, publish, wait_until

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


ADDRESSES = [
    "/en/runs", "/en/leaderboard", "/zh/models", "/en/organizations", "/en/hardware", "/en/search",
    "/en/compare", "/en/calculator", "/en/device", "/api/v1/runs", "/api/v1/leaderboard",
    "/api/v1/models",
]
PARAMETERS = [
    "model", "base", "organization", "hardware", "card", "class", "engine", "quantization", "kind",
    "user", "verified", "after", "limit", "order", "metric", "context", "concurrency", "rank", "q",
    "run", "view", "format", "code", "memory-gb", "weights-gb",
]
PARTS = [
    "/en/runs/{}", "/zh/models/{}", "/en/models/{}/x", "/en/organizations/{}", "/en/hardware/{}",
    "/en/users/{}", "/api/v1/runs/{}", "/api/v1/runs/{}/raw", "/assets/{}",
]
VALUES = [
    "'\"><script>alert(1)</script>", "' OR 1=1; --", "%", "\\", "\u202e\u200b", "x" * 3000, "é" * 100,
    "-1", "0", "9" * 30, str(2**63 - 1), str(-(2**63)), "1e999", "nan", "Qwen/Qwen3.5-27B", "\n\r\t",
]
RAW_VALUES = ["%00", "%ff", "%ed%a0%80", "%", "%4", "%zz", "%1b[31m", "&" * 300, "a=b=c", "%c0%ae"]


def addresses(site: Served) -> None:
    """Every parameter of every list with everything in it, and every part of an address."""
    _, key = keyed(site)
    for path in RUNS:
        expect(publish(site, key, path.read_bytes()).status == 201, path.name)
    values = [urllib.parse.quote(value, safe="") for value in VALUES] + RAW_VALUES
    cursor = site.ask("GET", "/api/v1/runs?limit=1").json["next"]
    values += [cursor[:-1], cursor[::-1], cursor + "A", "A" * len(cursor), cursor]
    asked = [f"{path}?{name}={value}" for path in ADDRESSES for name in PARAMETERS for value in values]
    asked += [part.format(value) for part in PARTS for value in values]
    asked += [f"/en/leaderboard?after={urllib.parse.quote(cursor)}&rank={value}" for value in values]
    with Line(site) as line:
        for address in asked:
            answer = line.ask("GET", address)
            expect(answer.status < 500, f"{address}: HTTP {answer.status}")
            for harm in (b"<script>alert", b"\x1b[", "\u202e".encode()):
                expect(harm not in answer.body, f"{address}: {harm!r} in the page")


def fields(site: Served) -> None:
    """Every field of every form and of the API's documents with everything in it."""
    visitor, key = keyed(site)
    answer = visitor.upload(RUNS[0].read_bytes())
    token = visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    stranger = Visitor(site)
    forms = {
        "/en/dashboard/keys": ("label",),
        answer.headers["location"]: ("state", "reason"),
        "/en/device": ("code", "answer"),
        "/en/dashboard/keys/1": ("x",),
        "/en/dashboard/setups/1": ("x",),
        "/en/dashboard/upload": ("run", "draft"),
    }
    for value in VALUES + ["é" * 31, "a" + "é" * 40]:
        site.database.forget_rates()
        for action, names in forms.items():
            for name in names:
                got = visitor.post(action, {"csrf": token, name: value}, False)
                expect(got.status < 500, f"{action}, {name}={value[:20]!r}: HTTP {got.status}")
        for page in ("/en/sign-in", "/en/sign-up"):
            for name in ("user", "password", "next") if value in VALUES[:3] else ("user",):
                sent = {"user": "nobody", "password": "not known", name: value}
                got = stranger.post(page, {**stranger.form(page, page), **sent}, False)
                expect(got.status in (303, 403, 409, 422), f"{page}, {name}: HTTP {got.status}")
                stranger.cookies.pop("tokgrid_session", None)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for path, name in (("/api/v1/keys", "label"), ("/api/v1/device/code", "label"),
                       ("/api/v1/device/token", "device_code")):
        for sent in (*VALUES, 1, 1e300, True, None, [], {}, [[]] * 1000, "\ud800", "\u0000"):
            site.database.forget_rates()
            got = site.ask("POST", path, json.dumps({name: sent}).encode(), headers)
            expect(got.status < 500, f"{path}, {sent!r:.30}: HTTP {got.status}")
        for body in (b"", b"[]", b"{", b'{"label":1,"label":2}', b"\xff", b"[" * 200_000):
            site.database.forget_rates()
            got = site.ask("POST", path, body, headers)
            expect(400 <= got.status < 500, f"{path}, {body[:20]!r}: HTTP {got.status}")


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
    ("secrets are refused", secrets),
    ("paths that lead nowhere", paths),
    ("hostile addresses", addresses),
    ("hostile fields of forms", fields),
    ("broken HTTP", broken_http),
    ("slow clients", slow_clients),
    ("headers that protect", headers),
]
