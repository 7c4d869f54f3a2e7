#!/usr/bin/env python3
"""bench_site.py - how fast `tokgrid serve` answers with 20,000 runs in its store.

    make bench-site                  # all pages, about seven minutes
    make bench-site T=leaderboard    # those with this word in their name

wrk keeps 64 connections busy. Beside each figure stands what nginx makes of the same bytes as a
static file, measured in turns with ours on the same machine: the ratio is what can be compared
between machines, requests per second are not.

    hot      one address again and again: a page that is kept
    spread   many addresses, and none of their pages is kept: each is made anew, because the request
             has a cookie
    writes   hot, while a run is published every second, after which no kept page is right any more
    growth   the same addresses with 2,000 runs, over those with 20,000: hot, and spread over what
             fills its pages with either

Stores are made once and kept in --folder. Exits with 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import pwd
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "site"))

from served import RUNS, Served, Visitor, publish  # noqa: E402

FEW, MANY = 2_000, 20_000
CONNECTIONS = 64
ROUNDS = 2
SPREAD = 4_000  # addresses
GOAL_RATIO, GOAL_P99_MS, GOAL_GROWTH = 0.1, 100.0, 1.5

NGINX_CONF = """\
daemon off;
user {user};
worker_processes {workers};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    sendfile on;
    open_file_cache max=100;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


class Problem(Exception):
    """The benchmark cannot go on."""


# ---- what is measured ---------------------------------------------------------------------------


@dataclass
class Names:
    """What is in a store, for addresses."""

    runs: list[str]
    models: list[str]
    bases: list[str]
    hardware: list[str]
    engines: list[str]
    quantizations: list[str]

    @classmethod
    def of(cls, site: Served) -> Names:
        rows, after = [], ""
        while True:
            page = site.ask("GET", f"/api/v1/runs?limit=200{after}").json
            rows += page["runs"]
            if not page["next"]:
                break
            after = f"&after={page['next']}"

        def values(name: str) -> list[str]:
            return sorted({row[name] for row in rows})

        return cls(
            [row["id"] for row in rows],
            values("model"),
            values("base_model"),
            values("hardware"),
            values("engine"),
            values("quantization"),
        )


def query(path: str, parts: dict[str, object]) -> str:
    text = urllib.parse.urlencode({name: value for name, value in parts.items() if value != ""})
    return f"{path}?{text}" if text else path


def some_filter(n: Names, r: random.Random, full: bool) -> dict[str, object]:
    kinds = ["", "base", "engine", "quantization"]
    kind = r.choice(kinds if full else [*kinds, "model", "hardware", "three"])
    if kind == "three":
        return {
            "base": r.choice(n.bases),
            "hardware": r.choice(n.hardware),
            "engine": r.choice(n.engines),
        }
    values = {
        "model": n.models,
        "base": n.bases,
        "hardware": n.hardware,
        "engine": n.engines,
        "quantization": n.quantizations,
    }
    return {kind: r.choice(values[kind])} if kind else {}


Some = Callable[[Names, random.Random, bool], str]


def some_board(path: str) -> Some:
    def make(n: Names, r: random.Random, full: bool) -> str:
        return query(
            path,
            {
                "metric": r.choice(["single", "total", "prefill", "ttft"]),
                "context": r.choice(["", 0, 16384, 32768, 65536]),
                "concurrency": r.choice(["", 1, 4, 16]),
                **some_filter(n, r, full),
            },
        )

    return make


def some_list(path: str) -> Some:
    def make(n: Names, r: random.Random, full: bool) -> str:
        return query(path, {"order": r.choice(["", "fastest"]), **some_filter(n, r, full)})

    return make


def some_words(n: Names, r: random.Random, _: bool) -> str:
    words = re.findall(r"[A-Za-z0-9]{3,}", r.choice(n.models)) + r.choice(n.hardware).split("-")
    return query("/en/search", {"q": " ".join(r.sample(words, 2))})


@dataclass(frozen=True)
class Page:
    name: str
    hot: Callable[[Names], str]
    some: Some  # full: one that fills a page in either store


PAGES = [
    Page("leaderboard", lambda n: "/en/leaderboard", some_board("/en/leaderboard")),
    Page(
        "matrix of a run",
        lambda n: f"/en/runs/{n.runs[0]}",
        lambda n, r, _: f"/en/runs/{r.choice(n.runs)}",
    ),
    Page(
        "model",
        lambda n: f"/en/models/{n.bases[0]}",
        lambda n, r, full: f"/en/models/{r.choice(n.bases if full else n.models)}",
    ),
    Page("list of runs", lambda n: "/en/runs", some_list("/en/runs")),
    Page("search", lambda n: "/en/search?q=qwen+3090", some_words),
    Page("API runs", lambda n: "/api/v1/runs", some_list("/api/v1/runs")),
    Page("API leaderboard", lambda n: "/api/v1/leaderboard", some_board("/api/v1/leaderboard")),
    Page(
        "API run",
        lambda n: f"/api/v1/runs/{n.runs[0]}",
        lambda n, r, _: f"/api/v1/runs/{r.choice(n.runs)}",
    ),
]


# ---- servers ------------------------------------------------------------------------------------


def make_store(fill: str, folder: Path, runs: int) -> Path:
    """One that is kept: filled under another name first, so that a half of one is not taken."""
    path = folder / f"{runs}.db"
    if not path.exists():
        print(f"filling a store with {runs:,} runs", flush=True)
        half = folder / f"{runs}.half.db"
        for old in folder.glob(f"{runs}.half.db*"):
            old.unlink()
        subprocess.run([fill, str(half), str(runs)], check=True, stdout=subprocess.DEVNULL)
        half.rename(path)
    # the schema may have gone on since
    done = subprocess.run([fill, str(path), "0"], capture_output=True, text=True)
    if done.returncode:
        raise Problem(f"{done.stderr}remove {path} to have it made anew")
    return path


@contextlib.contextmanager
def served(tokgrid: str, store: Path, folder: Path) -> Iterator[Served]:
    """A site with a copy of the store, as its answers may change it."""
    folder.mkdir()
    shutil.copy(store, folder / "tokgrid.db")
    site = Served(tokgrid, folder)
    try:
        yield site
    finally:
        site.stop()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Nginx:
    """Static files, by as many workers as the site has threads."""

    def __init__(self, program: str, folder: Path) -> None:
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self.port = free_port()
        conf = folder / "nginx.conf"
        user = pwd.getpwuid(os.getuid()).pw_name
        conf.write_text(
            NGINX_CONF.format(folder=folder, port=self.port, user=user, workers=os.cpu_count())
        )
        self.process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(conf)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > until or self.process.poll() is not None:
                    self.stop()
                    log = (folder / "error.log").read_text(errors="replace")
                    raise Problem(f"nginx does not start: {log}") from None
                time.sleep(0.05)

    def put(self, name: str, body: bytes) -> str:
        (self.files / name).write_bytes(body)
        return f"/{name}"

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=30)


class Publisher:
    """Publishes a run every second while it is entered."""

    def __init__(self, site: Served) -> None:
        visitor = Visitor(site)
        visitor.sign_up(f"bench-{uuid.uuid4().hex[:8]}")
        self.site, self.key = site, visitor.make_key()
        self.document = json.loads(RUNS[0].read_text(encoding="utf-8"))
        self.published = 0

    def __enter__(self) -> Publisher:
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self

    def work(self) -> None:
        while not self.ended.wait(1.0):
            self.document["id"] = str(uuid.uuid4())
            answer = publish(self.site, self.key, json.dumps(self.document).encode())
            self.published += answer.status == 201

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


# ---- measuring ----------------------------------------------------------------------------------


@dataclass
class Figure:
    rates: list[float] = field(default_factory=list)
    p99s: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return statistics.mean(self.rates)

    @property
    def p99_ms(self) -> float:
        return max(self.p99s)


UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


def run_wrk(port: int, targets: list[str], seconds: int, coding: str, figure: Figure) -> None:
    """One address, or a file of them for the script; the cookie says that nothing kept will do."""
    command = ["wrk", "-t2", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    command += ["-H", f"Accept-Encoding: {coding}"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        if len(targets) > 1:
            listed.write("\n".join(targets))
            listed.flush()
            command += ["-H", "Cookie: none=kept", "-s", str(HERE / "bench_site.lua")]
            command += [f"http://127.0.0.1:{port}", "--", listed.name]
        else:
            command += [f"http://127.0.0.1:{port}{targets[0]}"]
        done = subprocess.run(command, capture_output=True, text=True)
    rate = re.search(r"Requests/sec:\s+([0-9.]+)", done.stdout)
    p99 = re.search(r"99%\s+([0-9.]+)(us|ms|s|m)", done.stdout)
    if done.returncode or not rate or not p99 or float(rate[1]) == 0 or "Non-2xx" in done.stdout:
        raise Problem(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    figure.rates.append(float(rate[1]))
    figure.p99s.append(float(p99[1]) * UNITS_MS[p99[2]])


@dataclass
class Measured:
    name: str
    plain_bytes: int
    packed_bytes: int
    figures: dict[str, Figure]

    def ratio(self, kind: str) -> float:
        base = "nginx gzip" if kind.endswith("gzip") else "nginx"
        return self.figures[kind].rate / self.figures[base].rate

    def growth(self, kind: str) -> float:
        return self.figures[f"{kind} few"].rate / self.figures[kind].rate


def spread(page: Page, names: Names, full: bool) -> list[str]:
    r = random.Random(17)
    return [page.some(names, r, full) for _ in range(SPREAD)]


def measure(page: Page, few: Served, many: Served, nginx: Nginx, names: dict[int, Names],
            seconds: int) -> Measured:
    hot = page.hot(names[many.port])
    plain = many.ask("GET", hot).body
    packed = gzip.compress(plain, 4)
    name = page.name.replace(" ", "-")
    files = nginx.put(f"{name}.plain", plain), nginx.put(f"{name}.packed", packed)
    hot_few = page.hot(names[few.port])
    some = spread(page, names[many.port], False)
    turns: list[tuple[str, int, list[str], str]] = [
        ("nginx", nginx.port, [files[0]], "identity"),
        ("hot", many.port, [hot], "identity"),
        ("hot few", few.port, [hot_few], "identity"),
        ("nginx gzip", nginx.port, [files[1]], "identity"),
        ("hot gzip", many.port, [hot], "gzip"),
        ("spread", many.port, some, "identity"),
        ("full", many.port, spread(page, names[many.port], True), "identity"),
        ("full few", few.port, spread(page, names[few.port], True), "identity"),
        ("spread gzip", many.port, some, "gzip"),
    ]
    figures = {name: Figure() for name, *_ in turns}
    for _ in range(ROUNDS):
        for name, port, targets, coding in turns:
            run_wrk(port, targets, seconds, coding, figures[name])
    return Measured(page.name, len(plain), len(packed), figures)


def measure_writes(pages: list[Page], site: Served, names: Names, done: list[Measured],
                   seconds: int) -> int:
    with Publisher(site) as publisher:
        for page, m in zip(pages, done):
            m.figures["writes"] = Figure()
            run_wrk(site.port, [page.hot(names)], 2 * seconds, "identity", m.figures["writes"])
    if publisher.published == 0:
        raise Problem("nothing could be published")
    return publisher.published


# ---- the tables ---------------------------------------------------------------------------------


def print_ratios(title: str, kind: str, done: list[Measured]) -> None:
    packed = kind.endswith("gzip")
    base = "nginx gzip" if packed else "nginx"
    print(f"\n{title}\n")
    print("| page | bytes | nginx, req/s | ours, req/s | ratio | p99, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    for m in done:
        f = m.figures[kind]
        print(
            f"| {m.name} | {m.packed_bytes if packed else m.plain_bytes:,} "
            f"| {m.figures[base].rate:,.0f} | {f.rate:,.0f} | {m.ratio(kind):.3f} "
            f"| {f.p99_ms:.1f} |"
        )


def print_growth(done: list[Measured]) -> None:
    print(f"\nTenfold the runs: requests per second with {FEW:,} over those with {MANY:,}\n")
    print("| page | hot | spread |\n|---|--:|--:|")
    for m in done:
        print(f"| {m.name} | {m.growth('hot'):.2f} | {m.growth('full'):.2f} |")


def missed(done: list[Measured]) -> list[str]:
    found = []
    for m in done:
        for kind in ("hot", "hot gzip", "writes"):
            if m.ratio(kind) < GOAL_RATIO:
                found.append(f"{m.name}, {kind}: {m.ratio(kind):.3f} of nginx")
            if m.figures[kind].p99_ms >= GOAL_P99_MS:
                found.append(f"{m.name}, {kind}: p99 {m.figures[kind].p99_ms:.0f} ms")
        for kind in ("hot", "full"):
            if m.growth(kind) >= GOAL_GROWTH:
                found.append(f"{m.name}, {kind}: {m.growth(kind):.2f} times slower with {MANY:,}")
    return found


def bench(options: argparse.Namespace, pages: list[Page], work: Path) -> int:
    stores = {n: make_store(options.fill, options.folder, n) for n in (FEW, MANY)}
    with contextlib.ExitStack() as stack:
        few = stack.enter_context(served(options.tokgrid, stores[FEW], work / "few"))
        many = stack.enter_context(served(options.tokgrid, stores[MANY], work / "many"))
        nginx = Nginx(options.nginx, work / "nginx")
        stack.callback(nginx.stop)
        names = {site.port: Names.of(site) for site in (few, many)}
        done = []
        for page in pages:
            print(f"measuring: {page.name}", flush=True)
            done.append(measure(page, few, many, nginx, names, options.seconds))
        published = measure_writes(pages, many, names[many.port], done, options.seconds)
    print_ratios(f"{MANY:,} runs, hot", "hot", done)
    print_ratios(f"{MANY:,} runs, hot, gzip", "hot gzip", done)
    print_ratios(f"{MANY:,} runs, hot, {published} published meanwhile", "writes", done)
    print_ratios(f"{MANY:,} runs, spread: none is kept", "spread", done)
    print_ratios(f"{MANY:,} runs, spread, gzip", "spread gzip", done)
    print_growth(done)
    problems = missed(done)
    goal = (
        f"kept pages a tenth of nginx or more with p99 under {GOAL_P99_MS:.0f} ms, "
        f"and growth under {GOAL_GROWTH}"
    )
    print(f"\n{goal}: {'missed by' if problems else 'met'}", *problems, sep="\n  ")
    return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tokgrid", required=True, metavar="PROGRAM")
    parser.add_argument("--fill", required=True, metavar="PROGRAM", help="fill_store")
    parser.add_argument("--folder", required=True, help="where stores are kept")
    parser.add_argument("--seconds", type=int, default=2, help="of each measurement")
    parser.add_argument("words", nargs="*", help="pages with one of them in their name")
    options = parser.parse_args()
    words = [word for word in options.words if word]
    pages = [p for p in PAGES if not words or any(word in p.name for word in words)]
    options.nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if not options.nginx or not shutil.which("wrk"):
        print("bench_site: wants nginx and wrk: tools/install-packages bench", file=sys.stderr)
        return 1
    options.tokgrid = str(Path(options.tokgrid).resolve())
    options.folder = Path(options.folder).resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="work-") as work:
        try:
            return bench(options, pages, Path(work))
        except Problem as problem:
            print(f"bench_site: {problem}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
