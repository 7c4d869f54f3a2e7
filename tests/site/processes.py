"""processes.py - several sites on one database, some killed on the way: nothing lost, nothing double."""

from __future__ import annotations

import copy
import http.client
import json
import random
import socket
import subprocess
import threading
import time
import urllib.parse
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from database import PostgresDatabase, new_database
from served import RUNS, Answer, Failed, Served, Visitor, expect, publish, wait_until

CLIENTS = 4
ROUNDS = 24  # documents of each client; with repeats below the limit of an hour
PATIENCE_S = 60.0
MODELS = ["a-lab/Tiny-8B", "b-lab/Tiny-8B-AWQ", "a-lab/Large-70B", "Large-70B-GGUF"]
CARDS = ["NVIDIA GeForce RTX 3090", "NVIDIA RTX A6000"]
READS = ["/en/", "/zh/leaderboard?metric=total", "/en/models", "/en/hardware", "/en/runs",
         "/api/v1/leaderboard?metric=single", "/en/search?q=tiny"]
UNREAD = 0.2  # of requests, whose sender hangs up without looking at the answer
REPEATED = 0.4  # of requests, sent once more after they were answered


def slower(document: dict[str, Any], factor: float) -> None:
    """Every time grows and every rate sinks, so that the figures still agree with each other."""
    for row in document["decode"] + document["prefill"]:
        for name in ("total_tok_s", "per_request_tok_s"):
            if row.get(name) is not None:
                row[name] /= factor
        for name in ("low", "high"):
            if row["ci95"] and row["ci95"].get(name) is not None:
                row["ci95"][name] /= factor
        for name in ("ttft_ms", "itl_ms", "gap_ms"):
            for key, value in (row.get(name) or {}).items():
                if key != "n" and value is not None:
                    row[name][key] = value * factor
        if row.get("measured_s") is not None:
            row["measured_s"] *= factor


def make_documents(seed: int, count: int) -> list[bytes]:
    chance = random.Random(seed)
    base = json.loads(RUNS[2].read_text(encoding="utf-8"))
    made = []
    for _ in range(count):
        document = copy.deepcopy(base)
        document["id"] = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        document["subject"]["model"] = chance.choice(MODELS)
        for card in document["hardware"]["gpus"]:
            card["name"] = CARDS[len(made) % 2]
        slower(document, chance.uniform(1.0, 4.0))
        made.append(json.dumps(document).encode())
    return made


class Anywhere:
    """A load balancer in front of sites, in the place of one: whoever is gone or busy is left for
    another."""

    def __init__(self, sites: list[Served], seed: int) -> None:
        self.sites = sites
        self.slow = sites[0].slow
        self.chance = random.Random(seed)
        self.broken = 0  # answers that did not come, of the last request

    def ask(
        self, method: str, path: str, body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        self.broken = 0
        until = time.monotonic() + PATIENCE_S * self.slow
        while True:
            expect(time.monotonic() < until, f"{method} {path}: nobody answers")
            try:
                answer = self.chance.choice(self.sites).ask(method, path, body, headers)
            except (OSError, http.client.HTTPException):
                self.broken += 1
            else:
                if answer.status != 503:
                    return answer
                expect("retry-after" in answer.headers, f"{path}: 503 without Retry-After")
            time.sleep(0.02)

    def send_unread(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        """Sent whole, and hung up."""
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"POST {path} HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {len(body)}\r\n\r\n"
        try:
            at = ("127.0.0.1", self.chance.choice(self.sites).port)
            with socket.create_connection(at, timeout=10) as peer:
                peer.sendall(text.encode() + body)
        except OSError:
            pass  # it was killed


class Client(threading.Thread):
    """Somebody who publishes, looks around, withdraws and deletes; and knows what was acknowledged."""

    def __init__(self, sites: list[Served], number: int) -> None:
        super().__init__()
        self.name = f"client{number}"
        self.site = Anywhere(sites, number)
        self.chance = random.Random(100 + number)
        self.visitor = Visitor(self.site)  # type: ignore[arg-type]
        self.documents = make_documents(number, ROUNDS)
        self.acknowledged = 0
        self.problem = ""
        self.runs: dict[str, bytes] = {}  # what is there, by id
        self.hidden: set[str] = set()  # of these, the withdrawn ones
        self.deleted: list[str] = []
        self.visitor.sign_up(self.name)
        self.key = self.visitor.make_key()

    def run(self) -> None:
        try:
            for number, document in enumerate(self.documents):
                uid = self.publish(f"{self.name}-{number}", document)
                self.look(uid)
                self.change(uid)
                if number % 8 == 5:
                    self.key = self.visitor.make_key(f"key {number}")
        except Failed as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def publish(self, once: str, document: bytes) -> str:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json",
                   "Idempotency-Key": once}
        if self.chance.random() < UNREAD:
            self.site.send_unread("/api/v1/runs", document, headers)
        answer = self.site.ask("POST", "/api/v1/runs", document, headers)
        expect(answer.status == 201, f"{once}: HTTP {answer.status} {answer.body[:300]!r}")
        uid = answer.json["id"]
        self.runs[uid] = document
        self.acknowledged += 1
        if self.chance.random() < REPEATED:
            again = self.site.ask("POST", "/api/v1/runs", document, headers)
            expect(again.status == 201 and again.json["id"] == uid, f"{once}, again: {again.body!r}")
            expect("idempotent-replay" in again.headers, f"{once} was done twice")
        return uid

    def look(self, uid: str) -> None:
        """What one process has acknowledged, every other one shows at once."""
        listed = self.site.ask("GET", f"/api/v1/runs?user={self.name}&limit=200")
        expect(uid in [run["id"] for run in listed.json["runs"]], f"{uid} is not listed at once")
        expect(self.site.ask("GET", f"/en/runs/{uid}").status == 200, f"{uid} has no page at once")
        path = self.chance.choice(READS)
        answer = self.site.ask("GET", path)
        expect(answer.status == 200, f"{path}: HTTP {answer.status}")

    def change(self, uid: str) -> None:
        what = self.chance.random()
        if what < 0.2:
            answer = self.site.ask("DELETE", f"/api/v1/runs/{uid}",
                                   headers={"Authorization": f"Bearer {self.key}"})
            gone = answer.status == 404 and self.site.broken > 0
            expect(answer.status == 204 or gone, f"delete: HTTP {answer.status} {answer.body!r}")
            del self.runs[uid]
            self.deleted.append(uid)
        elif what < 0.5:
            self.set_state(uid, "withdrawn")
            self.hidden.add(uid)
            if what < 0.35:
                self.set_state(uid, "public")
                self.hidden.remove(uid)

    def set_state(self, uid: str, state: str) -> None:
        token = self.visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
        answer = self.visitor.post(f"/en/runs/{uid}", {"csrf": token, "state": state}, False)
        expect(answer.status == 303, f"{uid} {state}: HTTP {answer.status}")
        status = 410 if state == "withdrawn" else 200
        seen = self.site.ask("GET", f"/api/v1/runs/{uid}")
        expect(seen.status == status, f"{uid} {state}: HTTP {seen.status}")


def listed_runs(site: Served) -> list[str]:
    """All of them, page by page."""
    found, after = [], ""
    while True:
        answer = site.ask("GET", f"/api/v1/runs?limit=50{after}").json
        found += [run["id"] for run in answer["runs"]]
        if not answer["next"]:
            return found
        after = "&after=" + urllib.parse.quote(answer["next"])


def database_away(site: Served) -> None:
    """A server that is down for a while: answers that say so, and everything as before afterwards."""
    if not isinstance(site.database, PostgresDatabase):
        return  # a file does not go away
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    asked = [("GET", path, None, {}) for path in ("/en/", "/zh/runs", "/en/models",
                                                 "/api/v1/runs", "/api/v1/leaderboard")]
    asked += [("GET", "/en/dashboard", None, visitor.headers())]
    asked += [("POST", "/api/v1/runs", document.read_bytes(), {
        "Authorization": f"Bearer {key}", "Content-Type": "application/json"}) for document in RUNS]
    site.database.allow_connections(False)
    with ThreadPoolExecutor(8) as pool:  # more than there were connections
        answers = list(pool.map(lambda one: site.ask(*one), asked * 4))
    for answer, (method, path, _, _) in zip(answers, asked * 4):
        expect(answer.status == 503 and "retry-after" in answer.headers,
               f"{method} {path}: HTTP {answer.status}")
        html = answer.headers["content-type"].startswith("text/html")
        expect(html or answer.json["error"]["code"] == "unavailable", f"{path}: {answer.body!r}")
        expect(html != path.startswith("/api"), f"{path}: {answer.headers['content-type']}")
    site.database.allow_connections(True)
    expect("alice" in visitor.get("/en/dashboard").text, "the session is gone")
    for document in RUNS:
        answer = publish(site, key, document.read_bytes())
        expect(answer.status == 201, f"HTTP {answer.status} {answer.body!r}")
    expect(site.counts() == len(RUNS), "runs are missing")
    said = site.log_path.read_text(encoding="utf-8")
    expect(all(line.startswith("tokgrid: database: ") for line in said.splitlines()), said)
    site.log_path.write_text("", encoding="utf-8")
    check_database(site)


def run_tokgrid(site: Served, *args: str) -> str:
    done = subprocess.run([site.tokgrid, *args], capture_output=True, text=True,
                          timeout=120 * site.slow, cwd=site.folder)
    expect(done.returncode == 0, f"{args}: {done.stdout}{done.stderr}")
    return done.stdout


def check_database(site: Served) -> None:
    """Everything that was counted and ranked on the way, counted and ranked anew."""
    said = run_tokgrid(site, "db", "check", "--db", site.database.place)
    expect(said == "everything agrees\n", f"db check: {said}")


def check_outcome(sites: list[Served], clients: list[Client]) -> None:
    site = sites[0]
    expected = {uid for client in clients for uid in client.runs if uid not in client.hidden}
    for one in sites:
        listed = listed_runs(one)
        expect(len(listed) == len(set(listed)), "a run is listed twice")
        expect(set(listed) == expected,
               f"lost: {expected - set(listed)}, too much: {set(listed) - expected}")
    for client in clients:
        headers = {"Authorization": f"Bearer {client.key}"}
        for uid, document in client.runs.items():
            raw = site.ask("GET", f"/api/v1/runs/{uid}/raw", headers=headers)
            expect(raw.status == 200 and raw.body == document, f"{uid} is not what was sent")
        for uid in client.deleted:
            expect(site.ask("GET", f"/api/v1/runs/{uid}").status == 404, f"{uid} is back")
    kept = sum(len(client.runs) for client in clients)
    expect(site.database.execute("SELECT COUNT(*) FROM run") == [str(kept)], "runs without owner")
    check_database(site)


def under_load(sites: list[Served], at: dict[float, Any]) -> None:
    """Clients at all sites; when a share of the work is done, something happens to the sites."""
    clients = [Client(sites, number) for number in range(CLIENTS)]

    def progress() -> float:
        if any(client.problem for client in clients):
            return 2.0
        return sum(client.acknowledged for client in clients) / (CLIENTS * ROUNDS)

    for client in clients:
        client.start()
    try:
        for share, happens in sorted(at.items()):
            wait_until(lambda share=share: progress() >= share, 300 * sites[0].slow, "it stands still")
            happens()
    finally:
        for client in clients:
            client.join()
    for client in clients:
        expect(not client.problem, f"{client.name}: {client.problem}")
    check_outcome(sites, clients)


def killed(site: Served) -> None:
    def kill() -> None:
        site.kill()
        site.start()

    under_load([site], {0.2: kill, 0.5: kill, 0.8: kill})


def together(site: Served) -> None:
    sites = [site, site.another(), site.another()]
    at = {0.2: sites[1].kill, 0.35: sites[2].kill, 0.5: sites[1].start, 0.6: sites[0].kill,
          0.7: sites[2].start, 0.8: sites[0].start}
    if isinstance(site.database, PostgresDatabase):
        at[0.1] = at[0.9] = site.database.end_connections
    under_load(sites, at)


def known_everywhere(site: Served) -> None:
    """Sessions, keys, limits and kept pages: what one process knows, the other one knows."""
    other = site.another()
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    visitor.site = other
    expect("alice" in visitor.get("/en/dashboard").text, "the session is not known")
    pages = ["/en/leaderboard", "/en/models", "/api/v1/runs", "/en/"]
    for document in RUNS:
        for one in (site, other):
            for path in pages:
                one.ask("GET", path)  # kept there, until something changes
        answer = publish(other, key, document.read_bytes())
        expect(answer.status == 201, f"HTTP {answer.status}")
        for path in ("/en/leaderboard", "/api/v1/runs"):
            expect(answer.json["id"] in site.ask("GET", path).text, f"{path} is out of date")
    session = visitor.headers()
    expect(site.ask("GET", "/en/dashboard", headers=session).status == 200, "not signed in")
    visitor.send("/en/dashboard", "/en/sign-out")
    expect(site.ask("GET", "/en/dashboard", headers=session).status == 303, "still signed in")

    statuses = []
    for number in range(14):
        guesser = Visitor((site, other)[number % 2])
        statuses.append(guesser.send("/en/sign-in", "/en/sign-in", user="alice", password="x").status)
    expect(statuses.count(403) in (10, 11), f"a limit of ten: {statuses}")


def beside_a_site(site: Served) -> None:
    """Commands open the database and close it again while a site writes to it."""
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    place = site.database.place
    documents = make_documents(5, 24)
    imported = []
    with ThreadPoolExecutor(4) as pool:
        for number in range(0, len(documents), 6):
            sent = [pool.submit(publish, site, key, document) for document in documents[number:][:4]]
            for offset in (4, 5):
                path = site.folder / f"{number + offset}.json"
                path.write_bytes(documents[number + offset])
                imported += run_tokgrid(site, "import", "--db", place, str(path)).split()
            check_database(site)
            if not site.database.is_postgres:
                run_tokgrid(site, "db", "backup", f"copy-{number}.db", "--db", place)
            for answer in sent:
                expect(answer.result().status == 201, f"HTTP {answer.result().status}")
    listed = listed_runs(site)
    expect(len(listed) == len(documents) and set(imported) <= set(listed), f"{len(listed)} runs")
    check_database(site)


def start_together(site: Served) -> None:
    """Processes that find an empty database make one schema."""
    database = new_database(site.folder / "new").seen_from_elsewhere()
    (site.folder / "new").mkdir()

    def start(number: int) -> None:
        site.others.append(Served(site.tokgrid, site.folder / f"new/{number}", site.slow, database))

    with ThreadPoolExecutor(5) as pool:
        list(pool.map(start, range(5)))
    Visitor(site.others[0]).sign_up("alice")
    for one in site.others:
        taken = Visitor(one).sign_up("Alice")
        expect(taken.status == 409, f"a taken name: HTTP {taken.status}")
    check_database(site.others[0])


TESTS = [
    ("a killed site loses nothing", killed),
    ("three sites on one database", together),
    ("what one site knows, the others know", known_everywhere),
    ("a database that is away", database_away),
    ("commands beside a site", beside_a_site),
    ("sites that start together", start_together),
]
