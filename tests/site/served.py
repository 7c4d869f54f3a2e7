"""served.py - `tokgrid serve` as a child process, and a small browser for it."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from database import Database

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data"
RUNS = [
    DATA / "published/qwen3-coder-30b.json",
    DATA / "published/qwen3.5-27b.json",
    DATA / "measured/example.json",
]
LISTENING = re.compile(r"listening on http://127\.0\.0\.1:([0-9]+)\n")
START_S = 30.0
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")


class Failed(Exception):
    """A test's claim does not hold."""


class Skipped(Exception):
    """Something is missing on this machine; its words say what."""


def expect(holds: object, words: str) -> None:
    if not holds:
        raise Failed(words)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]  # names in lower case
    cookies: list[str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise Failed(f"HTTP {self.status} with no JSON: {self.body[:200]!r}") from None


class Served:
    """A site of one's own: started in an empty folder, ended by its process id."""

    def __init__(
        self,
        tokgrid: str,
        folder: Path,
        slow: float = 1.0,
        database: Database | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.tokgrid, self.folder, self.slow = tokgrid, folder, slow
        self.database = database or Database(str(folder / "tokgrid.db"))
        self.options = options
        self.log_path = folder / "serve.log"
        self.others: list[Served] = []  # on the same database, ended with this one
        self.start()

    def start(self) -> None:
        """Also after stop or kill; the port is another one then."""
        keep = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [self.tokgrid, "serve", "--listen", "127.0.0.1:0", *self.database.options, *self.options],
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **keep},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdout
        line = self.process.stdout.readline()
        found = LISTENING.fullmatch(line)
        if not found:
            self.stop()
            raise Failed(f"no 'listening on' but {line!r}: {self.log_path.read_text()[-500:]}")
        self.port = int(found.group(1))

    def command(self, verb: str, *args: str) -> subprocess.CompletedProcess[str]:
        """`tokgrid VERB` on the same database."""
        return subprocess.run(
            [self.tokgrid, verb, "--db", self.database.place, *args],
            cwd=self.folder, capture_output=True, text=True, timeout=60 * self.slow, check=False,
        )

    def another(self, *options: str) -> Served:
        """One more process on the same database."""
        folder = self.folder / f"also-{len(self.others) + 1}"
        database = self.database.seen_from_elsewhere()
        other = Served(self.tokgrid, folder, self.slow, database, options)
        self.others.append(other)
        return other

    def stop(self) -> int:
        """Ends it as a service manager would; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed("it does not end at SIGTERM") from None

    def kill(self) -> None:
        """In the middle of whatever it does."""
        self.port = 0  # nobody connects to who gets this port next
        self.process.kill()
        self.process.wait()

    def memory_kib(self) -> int:
        """What it has allocated; the pages of a database file that it maps do not count."""
        return self.status_kib("RssAnon")

    def peak_kib(self) -> int:
        """The most that it ever had in memory, everything counted."""
        return self.status_kib("VmHWM")

    def status_kib(self, name: str) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{name}:\s+(\d+)", status)[1])  # type: ignore[index]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        with Line(self) as line:
            return line.ask(method, path, body, headers)

    def raw(self, text: bytes, wait_s: float = 10.0) -> bytes:
        """Bytes as they are on a connection of their own, and all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as peer:
            got = b""
            try:
                peer.sendall(text)
                with contextlib.suppress(OSError):  # a server that has hung up is not connected
                    peer.shutdown(socket.SHUT_WR)
                while chunk := peer.recv(65536):
                    got += chunk
            except (TimeoutError, ConnectionResetError, BrokenPipeError):
                pass
            return got

    def counts(self) -> int:
        """How many runs are listed."""
        return len(self.ask("GET", "/api/v1/runs?limit=200").json["runs"])


class Line:
    """A connection to a site that is kept from one request to the next."""

    def __init__(self, site: Served) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60 * site.slow)

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        self.connection.request(method, path, body, headers or {})
        response = self.connection.getresponse()
        raw = response.read()
        if response.getheader("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        return Answer(
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            [value for name, value in response.getheaders() if name.lower() == "set-cookie"],
            raw,
        )


class Links(HTMLParser):
    """Addresses, forms with their fields, and the words of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.forms: list[tuple[str, str, dict[str, str]]] = []  # method, action, fields
        self.inline: list[str] = []  # what the page's policy would refuse
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        if "href" in a:
            self.links.append(a["href"])
        if "src" in a:
            self.links.append(a["src"])
        if tag == "form":
            self.forms.append((a.get("method", "get"), a.get("action", ""), {}))
        if tag == "input" and self.forms and "name" in a:
            self.forms[-1][2][a["name"]] = a.get("value", "")
        if "style" in a or tag == "style" or any(name.startswith("on") for name in a):
            self.inline.append(f"<{tag} {a}>")
        if tag == "script" and "src" not in a:
            self.inline.append("<script>")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


class Visitor:
    """A browser without scripts: cookies, forms with their hidden fields, redirects."""

    def __init__(self, site: Served) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}
        self.last = Answer(0, {}, [], b"")

    def headers(self) -> dict[str, str]:
        if not self.cookies:
            return {}
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}

    def take(self, answer: Answer) -> Answer:
        for line in answer.cookies:
            name, _, value = line.split(";")[0].partition("=")
            if value:
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        self.last = answer
        return answer

    def get(self, path: str) -> Answer:
        answer = self.take(self.site.ask("GET", path, headers=self.headers()))
        hops = 0
        while answer.status in (302, 303) and hops < 5:
            answer = self.take(
                self.site.ask("GET", answer.headers["location"], headers=self.headers())
            )
            hops += 1
        return answer

    def form(self, page: str, action: str) -> dict[str, str]:
        """The fields of a page's form."""
        for method, where, fields in Links(self.get(page).text).forms:
            if method == "post" and where == action:
                return dict(fields)
        raise Failed(f"{page} has no form for {action}")

    def post(self, action: str, fields: dict[str, str], follow: bool = True) -> Answer:
        headers = {**self.headers(), "Content-Type": "application/x-www-form-urlencoded"}
        answer = self.take(
            self.site.ask("POST", action, urllib.parse.urlencode(fields).encode(), headers)
        )
        if follow and answer.status == 303:
            return self.get(answer.headers["location"])
        return answer

    def send(self, page: str, action: str, follow: bool = True, **fields: str) -> Answer:
        return self.post(action, {**self.form(page, action), **fields}, follow)

    def sign_up(self, name: str, password: str = "correct horse battery") -> Answer:
        return self.send("/en/sign-up", "/en/sign-up", user=name, password=password)

    def upload(self, document: bytes, draft: bool = False, token: str | None = None) -> Answer:
        fields = self.form("/en/dashboard", "/en/dashboard/upload")
        boundary = "----tokgridtestboundary"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n'
            f"{fields['csrf'] if token is None else token}\r\n".encode()
        ]
        if draft:
            parts.append(
                f'--{boundary}\r\nContent-Disposition: form-data; name="draft"\r\n\r\n1\r\n'.encode()
            )
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="run"; filename="run.json"\r\n'
            f"Content-Type: application/json\r\n\r\n".encode() + document + b"\r\n"
        )
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        headers = {
            **self.headers(),
            "Content-Type": f"multipart/form-data; boundary={boundary}",
        }
        return self.take(self.site.ask("POST", "/en/dashboard/upload", body, headers))

    def make_key(self, label: str = "tests") -> str:
        answer = self.send("/en/dashboard", "/en/dashboard/keys", label=label)
        found = re.search(r"tgk_[0-9a-f]{40}", answer.text)
        expect(found, f"no key on the dashboard: {answer.status}")
        return found[0]  # type: ignore[index]


def publish(
    site: Served | Line, key: str, document: bytes, query: str = "", **headers: str
) -> Answer:
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    sent.update({name.replace("_", "-"): value for name, value in headers.items()})
    return site.ask("POST", f"/api/v1/runs{query}", document, sent)


def wait_until(holds: Any, limit_s: float, words: str) -> None:
    until = time.monotonic() + limit_s
    while not holds():
        expect(time.monotonic() < until, words)
        time.sleep(0.05)
