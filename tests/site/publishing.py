"""publishing.py - `tokgrid login`, `publish` and `logout` at a real site, and at servers that are none."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from served import PASSED_ON, RUNS, Failed, Served, Visitor, expect

SOME_KEY = "tgk_" + "0123456789" * 4
ENDS_S = 60.0  # how long one command may take


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failed(f"no JSON: {self.out!r} {self.err!r}") from None


class Client:
    """tokgrid on a machine of its own: an empty home, nothing of ours in the environment."""

    def __init__(self, site: Served, name: str = "client") -> None:
        self.tokgrid = site.tokgrid
        self.url = f"http://127.0.0.1:{site.port}"
        self.slow = site.slow
        self.home = site.folder / name
        self.home.mkdir()
        self.keys = self.home / "config/tokgrid/credentials.json"

    def env(self, more: dict[str, str]) -> dict[str, str]:
        keep = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        return {
            "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"), **keep, **more,
        }

    def start(self, *words: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.tokgrid, *words], cwd=self.home, env=self.env(env), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def run(self, *words: str, given: str = "", **env: str) -> Ran:
        done = subprocess.run(
            [self.tokgrid, *words], cwd=self.home, env=self.env(env), text=True, input=given,
            capture_output=True, timeout=ENDS_S * self.slow,
        )
        for text in (done.stdout, done.stderr):
            bad = [c for c in text if ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160]
            expect(not bad, f"control characters come through: {bad}")
        return Ran(done.returncode, done.stdout, done.stderr)

    def good(self, *words: str, given: str = "", **env: str) -> Ran:
        ran = self.run(*words, given=given, **env)
        expect(ran.code == 0, f"{' '.join(words)}: {ran.code}: {ran.err}")
        return ran

    def fails(self, code: int, says: str, *words: str, given: str = "", **env: str) -> Ran:
        ran = self.run(*words, given=given, **env)
        expect(ran.code == code, f"{' '.join(words)}: {ran.code}, not {code}: {ran.out}{ran.err}")
        last = ran.err.splitlines()[-1] if ran.err else ""
        expect(says in last and last.startswith("tokgrid: "), f"{says!r} is not in {ran.err!r}")
        return ran

    def login(self, visitor: Visitor) -> str:
        key = visitor.make_key()
        self.good("login", self.url, "--key", "-", given=key + "\n")
        return key


def user(site: Served, name: str = "alice") -> Visitor:
    visitor = Visitor(site)
    visitor.sign_up(name)
    return visitor


# ---- at a real site ------------------------------------------------------------------------------


def login_by_key(site: Served) -> None:
    client = Client(site)
    key = user(site).make_key()
    ran = client.good("login", client.url, "--key", "-", given=f"  \n{key}\n".lstrip())
    expect("as alice" in ran.out and key not in ran.out + ran.err, ran.out)
    expect(client.keys.stat().st_mode & 0o777 == 0o600, "others can read the keys")
    expect(client.keys.parent.stat().st_mode & 0o777 == 0o700, "others can look into the folder")
    entry = json.loads(client.keys.read_text())["sites"]
    expect(entry == [{"site": client.url, "user": "alice", "key": key}], f"{entry}")
    client.fails(2, "for which site", "login", TOKGRID_KEY=key)
    ran = client.good("login", client.url, "--json", TOKGRID_KEY=key)
    expect(ran.json["user"] == "alice" and ran.json["site"] == client.url, ran.out)
    ran = client.good("login", "--key", key, TOKGRID_SITE=client.url)
    expect("as alice" in ran.out, ran.out)
    wrong = key[:-1] + ("0" if key[-1] != "0" else "1")
    client.fails(1, "does not accept the key", "login", client.url, "--key", wrong)
    client.fails(2, "begin with tgk_", "login", client.url, "--key", "hf_abcdefgh")
    client.fails(2, "no site is known", "login", HOME="/nonexistent", XDG_CONFIG_HOME="")
    expect(json.loads(client.keys.read_text())["sites"] == entry, "a failed login changed the file")
    client.keys.chmod(0o644)
    client.fails(1, "chmod 600", "login", client.url, "--key", key)


def logout(site: Served) -> None:
    client = Client(site)
    visitor = user(site)
    key = client.login(visitor)
    others = visitor.make_key("others")
    ran = client.good("logout")
    expect("revoked there" in ran.out, ran.out)
    for each, status in ((key, 401), (others, 200)):
        answer = site.ask("GET", "/api/v1/user", headers={"Authorization": f"Bearer {each}"})
        expect(answer.status == status, f"after logging out: HTTP {answer.status}")
    client.fails(1, "no login at", "logout", client.url)
    expect(json.loads(client.keys.read_text())["sites"] == [], "the key is still there")
    client.good("login", client.url, "--key", others)
    expect("still works" in client.good("logout", "--keep-key").out, "--keep-key")
    client.good("login", client.url, "--key", others)
    number = re.findall(r"/en/dashboard/keys/\d+", visitor.get("/en/dashboard").text)[0]
    visitor.post(number, visitor.form("/en/dashboard", "/en/dashboard/keys"))
    ran = client.good("logout", "--json")
    expect(ran.json["revoked"] is False and "HTTP 401" in ran.json["reason"], ran.out)


def decide(client: Client, visitor: Visitor, answer: str) -> Ran:
    """Logs in by a code, and answers as a person does."""
    process = client.start("login", client.url, "--json", "--label", "bench <box>")
    assert process.stderr
    code = ""
    while not code:
        line = process.stderr.readline()
        expect(line, "it ends without a code")
        found = re.fullmatch(r"\s+([A-Z0-9]{4}-[A-Z0-9]{4})\n", line)
        code = found[1] if found else ""
    asked = visitor.send("/en/device", "/en/device", code=code)
    expect("bench &lt;box&gt;" in asked.text, "what asks is not shown")
    fields = {**visitor.form("/en/device", "/en/device"), "code": code, "answer": answer}
    expect(visitor.post("/en/device", fields).status == 200, "the answer is not taken")
    out, err = process.communicate(timeout=ENDS_S * client.slow)
    return Ran(process.returncode, out, err)


def login_by_code(site: Served) -> None:
    client = Client(site)
    visitor = user(site)
    ran = decide(client, visitor, "yes")
    expect(ran.code == 0 and ran.json["user"] == "alice", f"{ran}")
    key = json.loads(client.keys.read_text())["sites"][0]["key"]
    expect(key not in ran.out + ran.err, "the key is shown")
    listed = site.ask("GET", "/api/v1/keys", headers={"Authorization": f"Bearer {key}"}).json
    expect(listed["keys"][0]["label"] == "bench <box>", f"{listed}")
    ran = decide(client, visitor, "no")
    expect(ran.code == 1 and "refused there" in ran.err, f"{ran}")
    expect(json.loads(client.keys.read_text())["sites"][0]["key"] == key, "the old key is gone")


def url_of(ran: Ran) -> str:
    return ran.out.splitlines()[-1].rsplit(" ", 1)[-1]


def published_pages(site: Served) -> None:
    """What the file says arrives byte for byte, once, and its page is at the address printed."""
    client = Client(site)
    client.login(user(site))
    for count, path in enumerate(RUNS, start=1):
        ran = client.good("publish", str(path), "--yes")
        expect("byte for byte" in ran.out and "alice" in ran.out, ran.out)
        digest = hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()
        expect(digest in ran.out, "the digest is another one")
        page = url_of(ran).removeprefix(client.url)
        expect(site.ask("GET", page).status == 200, f"{page} is no page")
        raw = site.ask("GET", f"/api/v1/runs/{page.rsplit('/', 1)[1]}/raw")
        expect(raw.body == path.read_bytes(), f"{path.name} is not what was published")
        expect(site.counts() == count, "not listed")
        again = client.good("publish", str(path), "--yes", LC_ALL="zh_CN.UTF-8")
        expect(page.replace("/en/", "/zh/") in again.out, f"sent twice: {again.out}")
        expect(site.counts() == count, "stored twice")
    # the same document without the retry's key: another user of it is told, too
    ran = client.good("publish", str(RUNS[0]), "--yes", "--json", "--draft")
    expect(ran.json["existed"] is True and ran.json["url"].endswith(ran.json["id"]), ran.out)


def measured_run(site: Served) -> None:
    """From an engine to a published page, by the commands alone."""
    client = Client(site)
    client.login(user(site))
    engine = client.start("engine", "--port", "0", "--speed", "20")
    try:
        assert engine.stdout
        address = engine.stdout.readline().split()[-1]
        client.good(
            "run", address, "--out", "run.json", "--contexts", "0", "--concurrency", "1,2",
            "--prefill-mode", "none", "--duration", "500ms", "--settle", "0", "--max-output", "200",
        )
    finally:
        engine.terminate()
        engine.communicate(timeout=ENDS_S * client.slow)
    ran = client.good("publish", "run.json", "--draft", "--json", "--yes", "--note", "by a test")
    expect(ran.json["state"] == "draft" and site.counts() == 0, ran.out)
    expect("a draft that only its user sees" in ran.err, ran.err)
    key = json.loads(client.keys.read_text())["sites"][0]["key"]
    raw = site.ask(
        "GET", f"/api/v1/runs/{ran.json['id']}/raw", headers={"Authorization": f"Bearer {key}"}
    )
    expect(raw.status == 200 and raw.json["notes"][-1] == "by a test", "the note is missing")


def spoiled(client: Client) -> Path:
    document = json.loads(RUNS[2].read_text(encoding="utf-8"))
    document["engine"]["launch_command"] = (
        "HF_TOKEN=hf_abcdefabcdef \\\n  vllm serve /srv/home/bob/model --api-key 'so secret'"
    )
    document["server"]["url"] = "http://gpu7.lan.example:8000"
    document["events"] = [
        {"at": None, "level": "warning", "text": "gpu7.lan.example:8000 refused bob's sk-abcdefghijkl"}
    ]
    path = client.home / "spoiled.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


SECRETS = ("hf_abc", "so secret", "sk-abcd")
NAMES = ("/srv/home/bob", "gpu7")


def redaction(site: Served) -> None:
    client = Client(site)
    path = spoiled(client)
    ran = client.good("publish", path.name, "--dry-run", "--save", "sent.json")
    for words in SECRETS:
        expect(words not in ran.out + ran.err, f"{words} is shown")
    for words in (
        "engine.launch_command: 2 secrets, 1 name taken out",
        "- HF_TOKEN=<15 bytes> \\", "+ HF_TOKEN=*** \\",
        "-   vllm serve /srv/home/bob/model --api-key <11 bytes>",
        "+   vllm serve /srv/home/***/model --api-key ***", "+ http://***:8000",
        "events[0].text: 1 secret, 1 name taken out", "+ ***:8000 refused bob's ***",
    ):
        expect(words in ran.out, f"{words!r} is not in {ran.out}")
    saved = (client.home / "sent.json").read_bytes()
    client.login(user(site))
    ran = client.good("publish", path.name, "--yes", "--json")
    expect([row["field"] for row in ran.json["redactions"]]
           == ["engine.launch_command", "server.url", "events[0].text"], ran.out)
    raw = site.ask("GET", f"/api/v1/runs/{ran.json['id']}/raw").body
    expect(raw == saved and len(raw) == ran.json["bytes"], "what was shown is not what was sent")
    for words in (*SECRETS, *NAMES):
        expect(words.encode() not in raw, f"{words} was sent")
    ran = client.good("publish", path.name, "--dry-run", "--keep-names", "--save", "names.json")
    saved = (client.home / "names.json").read_bytes()
    expect(all(words.encode() in saved for words in NAMES), "--keep-names")
    expect(not any(words.encode() in saved for words in SECRETS), "--keep-names keeps secrets")


def on_terminal(client: Client, answer: bytes | None, *words: str) -> tuple[int, str]:
    """Runs a command on a terminal and answers its question; None interrupts it there."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [client.tokgrid, *words], cwd=client.home, env=client.env({"TERM": "dumb"}),
        stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
    ) as process:
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: it has ended
            while select.select([master], [], [], ENDS_S * client.slow)[0]:
                shown += os.read(master, 65536)
                if shown.endswith(b"[y/N] ") and answer is None:
                    process.send_signal(signal.SIGINT)
                elif shown.endswith(b"[y/N] "):
                    os.write(master, answer)
        process.kill()  # nothing where it has ended
        os.close(master)
        return process.wait(), shown.decode()


def asking(site: Served) -> None:
    client = Client(site)
    client.login(user(site))
    client.fails(2, "--yes", "publish", str(RUNS[0]))
    expect(site.counts() == 0, "published without being asked")
    for answer in (b"n\n", b"\n", b"\x04", b"yellow\n"):
        code, shown = on_terminal(client, answer, "publish", str(RUNS[0]))
        expect(code == 1 and "nothing was sent" in shown, f"{answer!r}: {code}: {shown}")
    code, shown = on_terminal(client, None, "publish", str(RUNS[0]))
    expect(code == 130 and "nothing was sent" in shown, f"Ctrl-C: {code}: {shown}")
    expect(site.counts() == 0, "published although nobody agreed")
    code, shown = on_terminal(client, b"y\n", "publish", str(RUNS[0]))
    expect(code == 0 and site.counts() == 1, f"{code}: {shown}")
    expect(shown.index("blake2b") < shown.index("[y/N]"), "asked before it is shown")


def waiting_for_input(site: Served) -> None:
    """Ctrl-C ends a command that waits for its input; a dry run needs no place for keys."""
    client = Client(site)
    for words in (["publish", "-", "--dry-run"], ["login", client.url, "--key", "-"]):
        with subprocess.Popen(
            [client.tokgrid, *words], cwd=client.home, env=client.env({}), stdin=subprocess.PIPE,
        ) as process:
            process.send_signal(signal.SIGINT)
            code = process.wait(ENDS_S * client.slow)
        expect(code == -signal.SIGINT, f"{words}: {code}")
    client.good("publish", str(RUNS[0]), "--dry-run", HOME="", XDG_CONFIG_HOME="")


def refusals(site: Served) -> None:
    client = Client(site)
    some = str(RUNS[0])
    client.fails(2, "no site is known yet", "publish", some, "--yes")
    client.fails(1, f"tokgrid login {client.url}", "publish", some, "--yes", "--site", client.url)
    client.fails(2, "for which site", "publish", some, "--yes", TOKGRID_KEY=SOME_KEY)
    client.fails(1, "HTTP 401", "publish", some, "--yes", "--site", client.url, TOKGRID_KEY=SOME_KEY)
    far = ("publish", some, "--yes", "--site", "http://192.0.2.1")
    client.fails(2, "--insecure-http", *far, TOKGRID_KEY=SOME_KEY)
    client.fails(2, "--insecure-http", "login", "http://192.0.2.1")
    key = client.login(user(site))
    client.fails(1, "no login at https://", "publish", some, "--yes", "--site", "elsewhere.example")
    document = json.loads(RUNS[0].read_text(encoding="utf-8"))
    document["subject"]["model"] = document["subject"]["served_model"] = None
    (client.home / "nameless.json").write_text(json.dumps(document))
    client.fails(1, "subject.model", "publish", "nameless.json", "--yes")
    document["subject"]["served_model"] = "tiny"
    document["hardware"].update(gpus=[], cpu=None)
    (client.home / "homeless.json").write_text(json.dumps(document))
    client.fails(1, "--hardware FILE", "publish", "homeless.json", "--dry-run")
    client.fails(2, "says already", "publish", some, "--dry-run", "--hardware", "x.json")
    (client.home / "machine.json").write_text(client.good("hardware", "--json").out)
    ran = client.good("publish", "homeless.json", "--dry-run", "--hardware", "machine.json")
    expect("hardware: added from machine.json" in ran.out, ran.out)
    slow = json.loads(RUNS[2].read_text(encoding="utf-8"))
    slow["server"]["facts"] = [
        {"name": "weight_bytes_per_token", "value": "1e15", "source": "given"},
        {"name": "memory_bandwidth_bytes_s", "value": "1e12", "source": "given"},
    ]
    (client.home / "flagged.json").write_text(json.dumps(slow))
    ran = client.good("publish", "flagged.json", "--dry-run")
    expect(re.search(r"would be flagged: \d+ x \d+: One request", ran.out), ran.out)
    (client.home / "broken.json").write_text("{")
    client.fails(1, "broken.json is not valid JSON", "publish", "broken.json", "--yes")
    client.fails(1, "cannot open", "publish", "missing.json", "--yes")
    document["decode"][0]["total_tok_s"] = 1e9
    (client.home / "wrong.json").write_text(json.dumps(document))
    client.fails(1, "decode[0]", "publish", "wrong.json", "--yes")
    expect(site.counts() == 0, "one of them was stored")
    client.good("publish", some, "--yes", "--site", client.url, TOKGRID_KEY=key)
    expect(site.counts() == 1, "by a key of the environment")


# ---- at servers that are no site -----------------------------------------------------------------


@dataclass
class Said:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Scripted:
    """A server of scripted answers: (status, headers, body) for each path, in turn."""

    answers: dict[str, list[tuple[int, dict[str, str], bytes]]]
    said: list[Said] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        rows = self.answers.get(path.split("?")[0], [(404, {}, b"")])
        return rows.pop(0) if len(rows) > 1 else rows[0]


@contextlib.contextmanager
def scripted(answers: dict[str, list[tuple[int, dict[str, str], bytes]]]) -> Iterator[Scripted]:
    script = Scripted(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            script.said.append(Said(self.command, self.path, dict(self.headers), body))
            status, headers, text = script.answer(self.path)
            if status == 0:  # hang up
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with contextlib.suppress(OSError):  # who has heard enough hangs up
                self.wfile.write(text)

        do_GET = do_POST = do_DELETE = respond

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:  # a client that hangs up is none
            pass

    server = Server(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


JSON = {"Content-Type": "application/json"}
USER = (200, JSON, b'{"name": "alice"}')
RUN_ID = "0193a1b2-0000-7000-8000-000000000000"
CREATED = (201, JSON, json.dumps({"id": RUN_ID, "state": "public", "url": "//evil"}).encode())


def error(code: str, message: str, **more: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, **more}}).encode()


def publish_at(client: Client, script: Scripted, *more: str) -> Ran:
    return client.run(
        "publish", str(RUNS[0]), "--yes", "--site", script.url, *more, TOKGRID_KEY=SOME_KEY
    )


def no_site(site: Served) -> None:
    """Each kind of answer that no site gives ends in one line that says what to do."""
    client = Client(site)
    page = (200, {"Content-Type": "text/html"}, b"<h1>It works!</h1>")
    rows: list[tuple[tuple[int, dict[str, str], bytes], str]] = [
        (page, "not as a tokgrid site"),
        ((200, JSON, b"{"), "not as a tokgrid site"),
        ((200, JSON, b"[1]"), "not as a tokgrid site"),
        ((200, JSON, b"{}"), "whose key it is"),
        ((200, JSON, b'{"name": {"a": 1}}'), "whose key it is"),
        ((200, JSON, b"[" * 100000), "not as a tokgrid site"),
        ((200, JSON, b'"' + b"x" * (3 << 20) + b'"'), "larger than"),
        ((404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>"), "too old, or no tokgrid site"),
        ((401, JSON, error("unauthorized", "no \x1b[31mkey\x07 \u202e")), "'tokgrid login'"),
        ((403, {}, b""), "does not allow it"),
        ((413, {"Content-Type": "text/html"}, b"<h1>Too large</h1>"), "no document that large"),
        ((418, JSON, error("teapot", "short and stout", field="handle")), "handle: short and stout"),
        ((429, {**JSON, "Retry-After": "9000"}, error("rate_limit", "slow down")), "too many"),
        ((301, {"Location": "https://evil.example/\x1b[2J"}, b""), "leads elsewhere"),
    ]
    for answer, says in rows:
        with scripted({"/api/v1/user": [answer]}) as script:
            ran = publish_at(client, script)
            expect(ran.code == 1 and says in ran.err, f"{answer[0]}: {ran.code} {ran.err}")
            expect(len(ran.err.splitlines()) == 1, f"more than a line: {ran.err}")
            expect(len(script.said) == 1, f"{answer[0]}: asked {len(script.said)} times")
            expect(script.said[0].headers["Authorization"] == f"Bearer {SOME_KEY}", "no key")
    # a run that was taken, but as nothing that has a name; a path in place of one
    for body in (b"{}", b'{"id": "../../evil"}', b'{"id": 1}'):
        with scripted({"/api/v1/user": [USER], "/api/v1/runs": [(201, JSON, body)]}) as script:
            ran = publish_at(client, script)
            expect(ran.code == 1 and "as which run" in ran.err, f"{body!r}: {ran.err}")
    with scripted({"/api/v1/device/code": [(200, JSON, b'{"device_code": "x"}')]}) as script:
        client.fails(1, "begins no login", "login", script.url)
    hostile = {"device_code": "d", "user_code": "A\x1b[2J", "verification_uri": "http://x/\x1b]0;",
               "interval": 1, "expires_in": 600}
    with scripted({
        "/api/v1/device/code": [(200, JSON, json.dumps(hostile).encode())],
        "/api/v1/device/token": [(400, JSON, error("expired_token", "\x1b[1m"))],
    }) as script:
        client.fails(1, "has expired", "login", script.url)
        expect(all("Authorization" not in said.headers for said in script.said), "a key was sent")
        expect(json.loads(script.said[1].body) == {"device_code": "d"}, "another code")


def redirects(site: Served) -> None:
    """A key does not follow, neither to another place nor on the same."""
    client = Client(site)
    with scripted({}) as other:
        for status in (301, 302, 303, 307, 308):
            leads = (status, {"Location": f"{other.url}/api/v1/user"}, b"")
            with scripted({"/api/v1/user": [leads]}) as script:
                ran = publish_at(client, script)
                expect(ran.code == 1 and other.url in ran.err, f"{status}: {ran.err}")
                expect(len(script.said) == 1, "asked again")
        expect(not other.said, f"it was followed: {other.said}")


def retries(site: Served) -> None:
    """What may pass is tried again, as the same request; what will not is not."""
    client = Client(site)
    at_once = {**JSON, "Retry-After": "0"}
    with scripted({
        "/api/v1/user": [(503, at_once, b""), USER],
        "/api/v1/runs": [(429, at_once, error("rate_limit", "x")), (500, at_once, b"<h1>"), CREATED],
    }) as script:
        ran = publish_at(client, script)
        expect(ran.code == 0, f"{ran}")
        expect(url_of(ran) == f"{script.url}/en/runs/{RUN_ID}", f"the address is {url_of(ran)}")
        sent = [said for said in script.said if said.method == "POST"]
        expect(len(sent) == 3 and len({said.headers["Idempotency-Key"] for said in sent}) == 1,
               "three times the same")
        digest = hashlib.blake2b(RUNS[0].read_bytes(), digest_size=32).hexdigest()
        expect(digest in sent[0].headers["Idempotency-Key"], sent[0].headers["Idempotency-Key"])
        expect(sent[0].headers["Content-Encoding"] == "gzip", "not compressed")
        expect(gzip.decompress(sent[2].body) == RUNS[0].read_bytes(), "another document")
    with scripted({
        "/api/v1/user": [USER], "/api/v1/runs": [(0, {}, b""), (0, {}, b""), CREATED],
    }) as script:  # hung up on: it may have been stored, the key makes that harmless
        ran = publish_at(client, script)
        expect(ran.code == 0, f"{ran}")
        sent = [said.headers["Idempotency-Key"] for said in script.said if said.method == "POST"]
        expect(len(sent) == 3 and len(set(sent)) == 1, f"{sent}")
    with scripted({"/api/v1/user": [USER], "/api/v1/runs": [(503, at_once, b"")]}) as script:
        ran = publish_at(client, script)
        expect(ran.code == 1 and "HTTP 503" in ran.err.splitlines()[-1], f"{ran}")
        expect(len(script.said) == 1 + 4, f"asked {len(script.said)} times")
    with scripted({
        "/api/v1/user": [USER],
        "/api/v1/runs": [(422, JSON, error("invalid_run", "no \x1b[7m good", field="hardware"))],
    }) as script:
        ran = publish_at(client, script)
        expect(ran.code == 1 and "hardware: no ?[7m good" in ran.err, f"{ran}")
        expect(len(script.said) == 2, "asked again")


def site_gone(site: Served) -> None:
    client = Client(site)
    client.login(user(site))
    site.stop()
    began = time.monotonic()
    client.fails(1, "cannot connect", "publish", str(RUNS[0]), "--yes")
    expect(time.monotonic() - began < ENDS_S / 2 * site.slow, "it took too long to give up")
    ran = client.good("logout")
    expect("was not revoked" in ran.out, ran.out)
    expect(json.loads(client.keys.read_text())["sites"] == [], "the key is still there")


TESTS = [
    ("login by key", login_by_key),
    ("logout", logout),
    ("login by code", login_by_code),
    ("publish: documents arrive as they are", published_pages),
    ("publish: a run that was just measured", measured_run),
    ("publish: secrets and names", redaction),
    ("publish: asking first", asking),
    ("publish: refusals", refusals),
    ("publish: waiting for input", waiting_for_input),
    ("publish: servers that are no site", no_site),
    ("publish: redirects", redirects),
    ("publish: retries", retries),
    ("publish: the site is gone", site_gone),
]
