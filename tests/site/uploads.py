"""uploads.py - hostile documents, by the API and by the form: a clear 4xx or a valid run, nothing
between; what is refused is not stored, no memory is lost, and pages stay themselves."""

from __future__ import annotations

import copy
import gzip
import json
import random
import socket
import string
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterator

from hostile import keyed
from served import DATA, RUNS, Answer, Line, Links, Served, Visitor, expect, publish, wait_until
from story import check_pages, crawl

ROOT = DATA.parent.parent
SCHEMA = json.loads((ROOT / "schema/tokgrid-run-1.schema.json").read_text(encoding="utf-8"))
CORPORA = ["tests/quirks/*.case", "tests/data/*/*", "tests/fuzz/corpus/*/*"]
WORKERS = 4
LIMIT = 100  # uploads before the limit of an hour is forgotten

Place = tuple[Any, ...]  # keys and indexes from the root of a document

HOSTILE_TEXTS = [
    # markup, scripts, SQL, templates and formats at once: each works in any context or not at all
    "\"'><img src=x onerror=alert(1)></title></textarea></script><script>alert(1)</script>"
    "'; DROP TABLE run; -- ' OR '1'='1 {{7*7}}${7*7} %s%s%n javascript:alert(1) &lt; \\u0000",
    "=cmd|' /C calc'!A0",
    "\u202egnp.exe\u200b\u2066\ufeff",
    "../../etc/passwd",
    "//evil.example/%2e%2e?a=b#c",
    " \t\n\r\x01\x1b[31m\x7f\x85",
    "\U0001f600e\u0301\u0301\u0301\ufdfa名字",
    "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=5000)),
    "é" * 300,
    "a" + "字" * 300,
    "",
]
HOSTILE_VALUES: list[Any] = [
    -1, 0, 0.5, 1e-320, 1e15, 1e16, 1e300, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**400,
    "1", "", True, None, [], {}, [1], {"a": 1},
]


# ---- documents ----------------------------------------------------------------------------------


def small_document() -> dict[str, Any]:
    """A valid run with something of everything, in a few kilobytes."""
    document = json.loads(RUNS[2].read_text(encoding="utf-8"))
    document["decode"] = document["decode"][:2]
    document["prefill"] = document["prefill"][:1]
    return document


def places(schema: dict[str, Any], at: Place = ()) -> Iterator[tuple[Place, set[str]]]:
    """Every field that the schema knows, with its types; of arrays the first element."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    types = schema.get("type", "string")
    yield at, {types} if isinstance(types, str) else set(types)
    for name, inner in schema.get("properties", {}).items():
        yield from places(inner, (*at, name))
    if "items" in schema:
        yield from places(schema["items"], (*at, 0))


def put(document: Any, at: Place, value: Any) -> None:
    """Sets what lies there; what has to be around it is made."""
    for name, following in zip(at, at[1:]):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(name, int):
            if not document:
                document.append(empty)
        elif not document.get(name):
            document[name] = empty
        document = document[name]
    if isinstance(at[-1], int) and not document:
        document.append(value)
    else:
        document[at[-1]] = value


def spoiled(at: Place, value: Any) -> bytes:
    document = small_document()
    document["id"] = str(uuid.uuid4())
    put(document, at, value)
    return json.dumps(document).encode()


# ---- sending ------------------------------------------------------------------------------------


class Sender:
    """A user with a key who uploads on one connection, more than the limit of an hour allows."""

    def __init__(self, site: Served, name: str) -> None:
        self.site = site
        visitor = Visitor(site)
        visitor.sign_up(name)
        self.key = visitor.make_key()
        self.line = Line(site)
        self.sent = 0

    def publish(self, document: bytes, query: str = "", **headers: str) -> Answer:
        if self.sent % LIMIT == 0:
            self.site.database.forget_rates()
        self.sent += 1
        return publish(self.line, self.key, document, query, **headers)


def expect_clear(answer: Answer, words: str) -> bool:
    """Whether it was accepted; what is refused is refused with a reason."""
    expect(answer.status in (201, 409, 413, 422), f"{words}: HTTP {answer.status} {answer.body!r}")
    if answer.status == 201:
        return True
    error = answer.json["error"]
    expect(error["code"] and error["message"], f"{words}: {error}")
    expect(len(answer.body) < 4096, f"{words}: {len(answer.body)} bytes of an answer")
    return False


def in_turns(site: Served, work: list[Any], do: Callable[[Sender, Any], None]) -> None:
    """By several users at once, each on a connection of its own."""
    senders = [Sender(site, f"sender{number}") for number in range(WORKERS)]

    def do_share(number: int) -> None:
        with senders[number].line:
            for piece in work[number::WORKERS]:
                do(senders[number], piece)

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(do_share, range(WORKERS)))


def stored(site: Served) -> int:
    return int(site.database.execute("SELECT COUNT(*) FROM run")[0])


def expect_flat(site: Served, before: int, most_mib: int) -> None:
    """Soon after the last answer: then it is given back. Sanitizers keep more."""
    if site.slow == 1:
        wait_until(lambda: site.memory_kib() - before < most_mib << 10, 10,
                   f"grew by {site.memory_kib() - before} KiB")


# ---- the tests ----------------------------------------------------------------------------------


def corpora(site: Served) -> None:
    """What the other tests feed to other parsers, as runs: by the API and by the form."""
    visitor, key = keyed(site)
    accepted = 0
    files = sorted(path for pattern in CORPORA for path in ROOT.glob(pattern) if path.is_file())
    expect(len(files) > 250, f"only {len(files)} files")
    with Line(site) as line:
        for number, path in enumerate(files):
            if number % (LIMIT // 2) == 0:
                site.database.forget_rates()
            answer = publish(line, key, path.read_bytes())
            accepted += expect_clear(answer, path.name)
            form = visitor.upload(path.read_bytes())
            twice = answer.status in (201, 409)  # the form leads to what is there already
            expect(form.status == (303 if twice else 422 if path.stat().st_size else 400),
                   f"{path.name} by the form: HTTP {form.status}, by the API {answer.status}")
    expect(accepted >= len(RUNS), f"only {accepted} accepted")
    expect(stored(site) == accepted, f"{accepted} accepted, {stored(site)} stored")


def texts_in_fields(site: Served) -> None:
    """Hostile text in every text of the schema, one by one; pages show it and stay themselves."""
    fields = [at for at, types in places(SCHEMA) if "string" in types and at]
    expect(len(fields) > 60, f"only {len(fields)} fields")
    accepted: list[str] = []

    def send(sender: Sender, work: tuple[Place, str]) -> None:
        at, text = work
        words = f"{at} = {text[:20]!r}"
        body = spoiled(at, text)
        answer = sender.publish(body)
        if not expect_clear(answer, words):
            return
        uid = answer.json["id"]
        accepted.append(uid)
        raw = sender.line.ask("GET", f"/api/v1/runs/{uid}/raw")
        expect(raw.body == body, f"{words}: the document is another")
        pages = [f"/en/runs/{uid}"]
        if text == HOSTILE_TEXTS[0]:
            pages += [f"/zh/calculator?run={uid}", f"/en/compare?run={uid}&run={accepted[0]}"]
        for page in pages:
            expect_harmless(sender.line.ask("GET", page), f"{page} with {words}")

    in_turns(site, [(at, text) for at in fields for text in HOSTILE_TEXTS], send)
    expect(len(accepted) > 2 * len(fields), f"only {len(accepted)} accepted")
    expect(stored(site) == len(accepted), "something was stored that was not accepted")
    pages = crawl(Visitor(site), ["/en/", "/zh/runs?limit=200", "/en/models?limit=200"], 400)
    check_pages(pages)
    for path, answer in pages.items():
        expect_harmless(answer, path)
    for metric in ("single", "total", "prefill", "ttft", "per_joule"):
        table = site.ask("GET", f"/api/v1/leaderboard?metric={metric}&format=csv&limit=200").text
        expect("\n=cmd" not in table and ",=cmd" not in table, f"{metric}: a formula in the CSV")


def expect_harmless(page: Answer, words: str) -> None:
    expect(page.status == 200, f"{words}: HTTP {page.status}")
    if not page.headers["content-type"].startswith("text/html"):
        return
    faults = Links(page.text).inline
    expect(not faults, f"{words}: {faults[:2]}")
    hidden = [c for c in "\u202e\u2066\u200b\ufeff\x1b\x01\x7f" if c in page.text]
    expect(not hidden, f"{words}: {hidden} in the page")
    for link in Links(page.text).links:
        local = link.startswith(("/", "#")) and not link.startswith("//")
        expect(local or link.startswith("data:image/"), f"{words} leads to {link[:60]}")


def values_in_fields(site: Served) -> None:
    """Numbers at the edges and other types in every field of the schema, one by one."""
    fields = [at for at, _ in places(SCHEMA) if at]
    accepted: list[str] = []

    def send(sender: Sender, work: tuple[Place, Any]) -> None:
        at, value = work
        words = f"{at} = {str(value)[:20]}"
        answer = sender.publish(spoiled(at, value))
        if not expect_clear(answer, words):
            return
        uid = answer.json["id"]
        accepted.append(uid)
        page = sender.line.ask("GET", f"/en/runs/{uid}")
        expect_harmless(page, words)
        shown = {word.strip(" -") for word in Links(page.text).words}
        expect(not shown & {"nan", "inf", "null", "None"}, f"{words}: no number on the page")

    in_turns(site, [(at, value) for at in fields for value in HOSTILE_VALUES], send)
    expect(stored(site) == len(accepted), "something was stored that was not accepted")
    check_pages(crawl(Visitor(site), ["/en/leaderboard", "/zh/hardware?limit=200"], 200))


def keys_twice(site: Served) -> None:
    """In every object of a run, on every level, its first key once more."""
    _, key = keyed(site)
    objects = [at for at, types in places(SCHEMA) if "object" in types]
    for at in objects:
        document = small_document()
        inside: Any = document
        if at:
            put(document, (*at, "\x01"), 1)  # makes what is around it
            for name in at:
                inside = inside[name]
            del inside["\x01"]
        first = next(iter(inside), "n")
        inside.setdefault(first, None)
        inside["\x01"] = inside[first]
        text = json.dumps(document).replace('"\\u0001"', json.dumps(first))
        answer = publish(site, key, text.encode())
        expect(not expect_clear(answer, f"{at}.{first} twice"), f"{at}.{first} twice is accepted")
        message = answer.json["error"]["message"]
        expect("duplicate" in message and first in message, f"{at}.{first} twice: {message}")
    expect(stored(site) == 0, "something was stored")


def deep_documents(site: Served) -> None:
    """100,000 levels of each kind, alone, in a known field and in an unknown one."""
    visitor, key = keyed(site)
    levels = 100_000
    arrays = "[" * levels + "]" * levels
    objects = '{"a":' * levels + "1" + "}" * levels
    mixed = '[{"a":' * (levels // 2) + "1" + "}]" * (levels // 2)
    base = json.dumps({**small_document(), "MARK": 0})
    for deep in (arrays, objects, mixed, "[" * 4_000_000, '{"a":' * 1_000_000):
        for text in (deep, base.replace('"MARK": 0', f'"telemetry": {deep}'),
                     base.replace('"MARK": 0', f'"surprise": {deep}')):
            answer = publish(site, key, text.encode())
            expect(not expect_clear(answer, "deep"), f"accepted: {text[:60]}")
        form = visitor.upload(deep.encode())
        expect(form.status == 422, f"deep, by the form: HTTP {form.status}")
    expect(stored(site) == 0, "something was stored")


def wide_documents(site: Served) -> None:
    """As much as 8 MiB can hold of what is small as text and large in memory, several at once."""
    _, key = keyed(site)
    room = (8 << 20) - 100
    head = '{"schema": "tokgrid-run/1", '
    bodies = [
        "[" + "[]," * (room // 3) + "[]]",
        "[" + "1," * (room // 2) + "1]",
        head + '"telemetry": [' + "{}," * (room // 3) + "{}]}",
        head + '"notes": [' + '"",' * (room // 3) + '""]}',
        head + '"events": [' + '{"at":1},' * (room // 9) + "{}]}",
        head + '"decode": [' + "[[]]," * (room // 5) + "[]]}",
        "{" + ",".join(f'"{number:x}":0' for number in range(room // 10)) + "}",
    ]
    site.ask("GET", "/en/")
    before = site.memory_kib()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda body: publish(site, key, body.encode()), bodies * 2))
    for answer, body in zip(answers, bodies * 2):
        expect(answer.status == 413, f"{body[:40]}: HTTP {answer.status} {answer.body!r}")
        expect(b"values" in answer.body, f"{body[:40]}: {answer.body!r}")
    packed = publish(site, key, gzip.compress(bodies[0].encode()), Content_Encoding="gzip")
    expect(packed.status == 413, f"packed: HTTP {packed.status}")
    expect(site.slow > 1 or site.peak_kib() < 192 << 10, f"{site.peak_kib()} KiB at most")
    expect_flat(site, before, 32)
    event = small_document()["events"][0]
    most = json.dumps({**small_document(), "events": [event] * 50_000})
    answer = publish(site, key, most.encode())
    expect(answer.status == 201, f"as many values as there may be: HTTP {answer.status}")
    for _ in range(8):
        page = site.ask("GET", f"/en/runs/{answer.json['id']}")
        expect(page.status == 200 and page.text.rstrip().endswith("</html>"), "a page that is cut")
    expect_flat(site, before, 48)


def wrong_texts(site: Served) -> None:
    """Encodings that are none, in a field, in a key and around the document."""
    visitor, key = keyed(site)
    good = RUNS[0].read_bytes()
    field, name = b"Qwen3", b'"notes"'
    expect(field in good and name in good, "the document has changed")
    wrong = [
        b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x00", b"\n",
        b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\ud800x", b"\\x41", b"\\u12", b"\\",
    ]
    bodies = [good.replace(field, field + bytes_, 1) for bytes_ in wrong]
    bodies += [good.replace(name, b'"no' + bytes_ + b'tes"', 1) for bytes_ in wrong]
    bodies += [b"\xef\xbb\xbf" + good, good + b"\x00", good + b"{}", b"\x1e" + good]
    bodies += [good.decode().encode(coding) for coding in ("utf-16", "utf-16-le", "utf-32")]
    bodies += [good.replace(b'"concurrency": 1,', b'"concurrency": ' + number + b",", 1)
               for number in (b"01", b"+1", b"1.", b".5", b"0x1", b"1e", b"NaN", b"-Infinity",
                              b"1e400", b"9" * 400, b"1_0", b"'1'", b"1/**/")]
    for body in bodies:
        expect(body != good, "it was not spoiled")
        answer = publish(site, key, body)
        expect(not expect_clear(answer, f"{body[:30]!r}"), f"accepted: {body[:60]!r}")
        expect(visitor.upload(body).status == 422, f"by the form: {visitor.last.status}")
    expect(stored(site) == 0, "something was stored")


def large(site: Served) -> None:
    """100 MB in every way: as they are, chunked, packed, packed twice, in a form."""
    visitor, key = keyed(site)
    before = site.memory_kib()
    expect(publish(site, key, b" " * (9 << 20)).status == 413, "9 MiB")
    hundred = b" " * (100 << 20)
    bomb = gzip.compress(hundred)
    expect(len(bomb) < 1 << 20, "the bomb is no bomb")
    many = gzip.compress(b" " * (1 << 20)) * 100  # members, each of which would fit
    for words, body, status in (
        ("a bomb", bomb, (413,)),
        ("a bomb of many members", many, (400, 413)),
        ("a bomb in a bomb", gzip.compress(bomb), (422,)),
        ("more behind it", gzip.compress(b"{}") + b"more", (400,)),
        ("half of it", bomb[: len(bomb) // 2], (400, 413)),
        ("a wrong sum", gzip.compress(b"{}")[:-8] + bytes(8), (400,)),
        ("nothing", b"", (400, 422)),
    ):
        answer = publish(site, key, body, Content_Encoding="gzip")
        expect(answer.status in status, f"{words}: HTTP {answer.status} {answer.body[:200]!r}")
    api = f"Authorization: Bearer {key}\r\nContent-Type: application/json"
    cookie = visitor.headers()["Cookie"]
    form = f"Cookie: {cookie}\r\nContent-Type: multipart/form-data; boundary=x"
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    for path, head in (("/api/v1/runs", api), ("/en/dashboard/upload", form),
                       ("/en/sign-in", "Content-Type: application/x-www-form-urlencoded")):
        send_large(site, path, f"{head}\r\nContent-Length: {len(hundred)}", hundred)
        send_large(site, path, f"{head}\r\nTransfer-Encoding: chunked", chunk * 100 + b"0\r\n\r\n")
        packed = site.ask("POST", path, bomb, {**dict(line.split(": ", 1) for line in
                          head.split("\r\n")), "Content-Encoding": "gzip"})
        expect(packed.status == 413, f"{path}, packed: HTTP {packed.status}")
    expect_flat(site, before, 64)
    expect(stored(site) == 0, "something was stored")
    expect(publish(site, key, RUNS[0].read_bytes()).status == 201, "it takes nothing any more")


def send_large(site: Served, path: str, head: str, body: bytes) -> None:
    """413, or the connection is closed on a client that goes on sending."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=60 * site.slow) as peer:
        try:
            peer.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n".encode() + body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        try:
            got = peer.recv(65536)
        except ConnectionResetError:
            got = b"HTTP/1.1 413"  # the answer was lost with the connection
    expect(b" 413" in got[:20], f"{path}, {head[-30:]}: {got[:60]!r}")


def wrong_forms(site: Served) -> None:
    """Uploads whose form is broken, foreign or unsigned: no run comes of them."""
    visitor, _ = keyed(site)
    good = RUNS[0].read_bytes()
    token = visitor.form("/en/dashboard", "/en/dashboard/upload")["csrf"]
    head = 'Content-Disposition: form-data; name="{}"'
    whole = (
        f"--x\r\n{head.format('csrf')}\r\n\r\n{token}\r\n--x\r\n"
        f"{head.format('run')}; filename=\"run.json\"\r\n\r\n"
    ).encode() + good + b"\r\n--x--\r\n"
    type_ = "multipart/form-data; boundary=x"
    cases: list[tuple[str, bytes, dict[str, str]]] = [
        ("no token", whole.replace(b'name="csrf"', b'name="other"'), {}),
        ("a token twice, the first wrong", whole.replace(
            b"--x\r\n", f"--x\r\n{head.format('csrf')}\r\n\r\nwrong\r\n--x\r\n".encode(), 1), {}),
        ("cut", whole[:-200], {}),
        ("no end", whole[:-4], {}),
        ("no boundary", whole, {"Content-Type": "multipart/form-data"}),
        ("another boundary", whole, {"Content-Type": "multipart/form-data; boundary=y"}),
        ("a boundary that is too long", whole, {"Content-Type": type_ + "x" * 200}),
        ("as JSON", good, {"Content-Type": "application/json"}),
        ("as text", whole, {"Content-Type": "text/plain"}),
        ("without type", whole, {"Content-Type": ""}),
        ("no file", whole.replace(b'; filename="run.json"', b""), {}),
        ("another name", whole.replace(b'name="run"', b'name="ran"'), {}),
        ("many parts", b"--x\r\n" + f"{head.format('a')}\r\n\r\n1\r\n--x\r\n".encode() * 5000, {}),
        ("a foreign origin", whole, {"Origin": "https://evil.example"}),
        ("a foreign page", whole, {"Sec-Fetch-Site": "cross-site"}),
        ("no cookie", whole, {"Cookie": ""}),
        ("a wrong cookie", whole, {"Cookie": "tokgrid_session=" + "0" * 43}),
        ("packed as nothing known", whole, {"Content-Encoding": "br"}),
    ]
    for words, body, headers in cases:
        sent = {**visitor.headers(), "Content-Type": type_, **headers}
        answer = site.ask("POST", "/en/dashboard/upload", body, sent)
        away = answer.status == 303 and answer.headers["location"].endswith("/sign-in")
        expect(400 <= answer.status < 500 or away, f"{words}: HTTP {answer.status}")
        expect(stored(site) == 0, f"{words}: it was stored")
    answer = site.ask("POST", "/en/dashboard/upload",
                      whole.replace(b"run.json", b"../../%2e%2e/etc/passwd;'--<b>"),
                      {**visitor.headers(), "Content-Type": type_})
    expect(answer.status == 303 and stored(site) == 1, f"a strange file name: HTTP {answer.status}")


TESTS = [
    ("uploads: the corpora of other tests", corpora),
    ("uploads: hostile text in every field", texts_in_fields),
    ("uploads: wrong values in every field", values_in_fields),
    ("uploads: keys twice on every level", keys_twice),
    ("uploads: deep documents", deep_documents),
    ("uploads: wide documents", wide_documents),
    ("uploads: broken encodings and numbers", wrong_texts),
    ("uploads: large bodies and bombs", large),
    ("uploads: broken and foreign forms", wrong_forms),
]
