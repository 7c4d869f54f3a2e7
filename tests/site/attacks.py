"""attacks.py - what somebody would try who has read the source."""

from __future__ import annotations

import json
import re
import urllib.parse

from moderation import people, token
from served import RUNS, Served, Visitor, expect, publish

JSON = {"Content-Type": "application/json"}


def keyed(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **JSON}


def secret_run() -> bytes:
    """A run of a model, an organization, hardware, an engine that nobody is to know of."""
    document = json.loads(RUNS[2].read_text(encoding="utf-8"))
    document["subject"]["model"] = "unseen-org/Unseen-1B"
    document["engine"]["name"] = "unseen-engine"
    for gpu in document["hardware"]["gpus"]:
        gpu["name"] = "Unseen 9000"
    return json.dumps(document).encode()


def private_names(site: Served) -> None:
    """What only a draft or a withdrawn run names is told to nobody, wherever he asks."""
    _, owner, _ = people(site)
    key = owner.make_key()
    publish(site, key, RUNS[0].read_bytes())
    uid = publish(site, key, secret_run(), "?state=draft").json["id"]
    slug = site.ask("GET", f"/api/v1/runs/{uid}", headers=keyed(key)).json["hardware"]
    slug = slug["slug"] if isinstance(slug, dict) else slug
    named = (
        "/api/v1/models/unseen-org/Unseen-1B", "/api/v1/organizations/unseen-org",
        f"/api/v1/hardware/{slug}", "/en/models/unseen-org/Unseen-1B",
        "/en/organizations/unseen-org", f"/en/hardware/{slug}",
    )
    own = (
        f"/api/v1/runs/{uid}", f"/api/v1/runs/{uid}/raw", f"/api/v1/runs/{uid}/revisions",
        f"/api/v1/runs/{uid}/revisions/1", f"/en/runs/{uid}", f"/en/runs/{uid}.svg",
        f"/runs/{uid}.svg", f"/en/compare?run={uid}", f"/en/calculator?run={uid}",
    )
    everywhere = (
        "/en/", "/en/runs", "/en/leaderboard", "/en/models", "/en/organizations", "/en/hardware",
        "/en/users/alice", "/en/compare", "/en/calculator", "/en/search?q=unseen",
        "/api/v1/runs", "/api/v1/runs?user=alice", "/api/v1/leaderboard",
        "/api/v1/leaderboard?format=csv", "/api/v1/models", "/api/v1/organizations",
        "/api/v1/hardware", "/api/v1/search?q=unseen", "/api/v1/agent", "/api/v1/users/alice",
    )

    def hidden(status: int) -> None:
        for path in named:
            answer = site.ask("GET", path)
            expect(answer.status == 404, f"{path}: HTTP {answer.status} {answer.body[-300:]!r}")
        for path in own:
            answer = site.ask("GET", path)
            expect(answer.status == status, f"{path}: HTTP {answer.status}")
            expect(b"Unseen" not in answer.body, f"{path} tells of it")
        for path in everywhere:
            answer = site.ask("GET", path)
            text = answer.text.replace("q=unseen", "").replace('value="unseen"', "")
            expect(answer.status == 200, f"{path}: HTTP {answer.status}")
            expect(not re.search("unseen[- ](org|1b|engine|9000)", text, re.I), f"{path} tells of it")
            expect(uid not in text, f"{path} names the run")

    hidden(404)
    path = f"/api/v1/runs/{uid}?state="
    for state in ("public", "withdrawn"):
        done = site.ask("PATCH", path + state, headers=keyed(key))
        expect(done.status == 200, f"{state}: HTTP {done.status} {done.body!r}")
        for page in named if state == "public" else ():
            expect(site.ask("GET", page).status == 200, f"{page} of a public run")
    hidden(410)


def kept_languages(site: Served) -> None:
    """An address without a language is answered in the visitor's, not in that of who came before."""
    _, owner, _ = people(site)
    uid = publish(site, owner.make_key(), RUNS[0].read_bytes()).json["id"]
    for language, words in (("zh-CN", "运行于"), ("en", " on "), ("zh", "运行于"), ("fr", " on ")):
        answer = site.ask("GET", f"/runs/{uid}.svg", headers={"Accept-Language": language})
        expect(words in answer.text, f"{language}: another language")
        expect("Accept-Language" in answer.headers["vary"], f"Vary: {answer.headers['vary']}")


def kept_marks(site: Served) -> None:
    """Kept answers tell at once who became a moderator."""
    moderator, _, _ = people(site)
    change = {"csrf": token(moderator)}
    for what, is_one in (("moderator", True), ("no-moderator", False), ("moderator", True)):
        site.ask("GET", "/api/v1/users/bob")
        moderator.post("/en/admin/users/bob", {**change, "change": what}, False)
        said = site.ask("GET", "/api/v1/users/bob").json["admin"]
        expect(said is is_one, f"{what}: the API says {said}")


def small_bodies_large_memory(site: Served) -> None:
    """A body of a few bytes a word must not become a text that grows with their square."""
    site.ask("POST", "/api/v1/calculator", b"{}", JSON)
    before = site.peak_kib()
    body = json.dumps({"corrections": ["all"] * 30_000}).encode()
    for _ in range(2):
        answer = site.ask("POST", "/api/v1/calculator", body, JSON)
        expect(answer.status == 400, f"HTTP {answer.status}")
        expect(answer.json["error"]["field"] == "corrections", f"{answer.json}")
    grown = site.peak_kib() - before
    expect(grown < 64 << 10, f"it took {grown} KiB")


def half_characters(site: Served) -> None:
    """A name that is cut in an error is cut between characters."""
    for name in ("a" * 59 + "é" * 20, "模" * 40, "\u202egnp", "\x1b[31m"):
        answer = site.ask("POST", "/api/v1/calculator", json.dumps({name: 1}).encode(), JSON)
        error = answer.json["error"]
        expect(answer.status == 400 and error["code"] == "unknown_field", f"{answer.json}")
        expect(isinstance(error["message"], str) and error["message"], f"{error}")
        expect(isinstance(error["field"], str) and error["field"], f"{error}")


def two_doors_one_limit(site: Served) -> None:
    """What is used up at the API is used up for the forms, and the other way round."""
    _, owner, reader = people(site)
    key = owner.make_key()
    uid = publish(site, key, RUNS[0].read_bytes()).json["id"]
    by_api, fields = keyed(reader.make_key()), {"csrf": token(reader), "reason": "spam", "text": ""}
    body = json.dumps({"reason": "spam"}).encode()
    statuses = []
    for _ in range(11):
        statuses.append(site.ask("POST", f"/api/v1/runs/{uid}/reports", body, by_api).status)
        statuses.append(reader.post(f"/en/runs/{uid}/report", fields, False).status)
    expect(statuses[:2] == [201, 303] and statuses[-2:] == [429, 429], f"reports: {statuses}")
    # forms that write have the limit of calls that write
    remaining = site.ask("DELETE", "/api/v1/keys/999999", headers=keyed(key))
    left = int(remaining.headers["x-ratelimit-remaining"])
    change = {"csrf": token(owner), "state": "withdrawn"}
    answer = owner.post(f"/en/runs/{uid}", change, False)
    now = int(answer.headers["x-ratelimit-remaining"])
    expect(answer.status == 303 and now <= left, f"{left} were left, then {now}")


def codes(site: Served, address: str, lines: int = 1) -> list[int]:
    """So many logins are begun, as a proxy in front would pass them on."""
    statuses = []
    for i in range(24):
        first = f"X-Forwarded-For: 192.0.2.{i}\r\n" if lines > 1 else ""
        where = address.format(i=i)
        got = site.raw(
            (
                f"POST /api/v1/device/code HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{first}"
                f"X-Forwarded-For: {where}\r\nContent-Length: 0\r\n\r\n"
            ).encode()
        )
        statuses.append(int(got.split(b" ")[1]))
    return statuses


def forged_addresses(site: Served) -> None:
    """Limits by address count a client once, however many addresses it says it has."""
    expect(codes(site, "192.0.2.{i}")[-1] == 429, "without a proxy the header is believed")
    proxied = site.another("--trust-proxy")
    expect(codes(proxied, "198.51.100.{i}")[-1] == 200, "visitors of a proxy share a limit")
    expect(codes(proxied, "192.0.2.{i}, 203.0.113.1")[-1] == 429, "what a client put in front")
    expect(codes(proxied, "203.0.113.2", 2)[-1] == 429, "a line that a client put in front")
    expect(codes(proxied, "2001:db8:1:2::{i}")[-1] == 429, "the addresses of one network")
    expect(codes(proxied, "2001:db8:1:{i}::1")[-1] == 200, "other networks share a limit")


def disabled_users(site: Served) -> None:
    """A session, a key, a login under way: all end with the user's right to be there."""
    moderator, owner, _ = people(site)
    key = owner.make_key()
    uid = publish(site, key, RUNS[0].read_bytes(), Idempotency_Key="one").json["id"]
    start = site.ask("POST", "/api/v1/device/code", b"", {}).json
    code = {"csrf": token(owner), "code": start["user_code"], "answer": "yes"}
    expect(owner.post("/en/device", code).status == 200, "no login")
    waiting = site.ask("POST", "/api/v1/device/code", b"", {}).json
    own = {"csrf": token(owner), "state": "withdrawn"}
    moderator.post("/en/admin/users/alice", {"csrf": token(moderator), "change": "disable"})
    poll = json.dumps({"device_code": start["device_code"]}).encode()
    answer = site.ask("POST", "/api/v1/device/token", poll, JSON)
    expect(answer.status == 400 and b"tgk_" not in answer.body, f"a key: {answer.body!r}")
    for path, body in ((f"/en/runs/{uid}", own), ("/en/device", {**code, "code": waiting["user_code"]})):
        answer = owner.post(path, body, False)
        expect(answer.headers.get("location") == "/en/sign-in", f"{path}: HTTP {answer.status}")
    answer = publish(site, key, RUNS[0].read_bytes(), Idempotency_Key="one")
    expect(answer.status == 401 and uid not in answer.text, f"a replay: HTTP {answer.status}")
    for method, path in (("GET", "user"), ("DELETE", f"runs/{uid}"), ("POST", "keys")):
        answer = site.ask(method, f"/api/v1/{path}", headers=keyed(key))
        expect(answer.status == 401, f"{method} {path}: HTTP {answer.status}")
    moderator.post("/en/admin/users/alice", {"csrf": token(moderator), "change": "enable"})
    answer = owner.post(f"/en/runs/{uid}", own, False)
    expect(answer.headers.get("location") == "/en/sign-in", "the old session is back")


def others_replays(site: Served) -> None:
    """An Idempotency-Key is its user's; what it answers is nobody else's."""
    _, owner, reader = people(site)
    sent = {"Idempotency_Key": "one"}
    first = publish(site, owner.make_key(), RUNS[0].read_bytes(), "?state=draft", **sent)
    answer = publish(site, reader.make_key(), RUNS[0].read_bytes(), "?state=draft", **sent)
    expect("idempotent-replay" not in answer.headers, "another's answer")
    expect(answer.json["id"] != first.json["id"], "another's draft")


def secret_settings(site: Served) -> None:
    """By the API as by the form: a setup is for every program that asks for it."""
    _, owner, _ = people(site)
    key = keyed(owner.make_key())
    fine = {"launch_command": "vllm serve x --max-num-batched-tokens 8192", "devices": 2}
    for number, (settings, status) in enumerate(
        (
            (fine, 201),
            ({"launch_command": "vllm serve x --api-key very-hidden-word"}, 422),
            ({"env": {"HF_TOKEN": "very-hidden-word"}}, 422),
            ({"note": "with hf_abcdefabcdefabcdef"}, 422),
        )
    ):
        body = json.dumps({"name": f"box {number}", "settings": settings}).encode()
        answer = site.ask("POST", "/api/v1/setups", body, key)
        expect(answer.status == status, f"{settings}: HTTP {answer.status} {answer.body!r}")
        expect(b"hidden" not in answer.body, "the secret is said again")
    expect("hidden" not in site.ask("GET", "/api/v1/setups", headers=key).text, "it is kept")


def hosts(site: Served) -> None:
    """What a host is called goes to who called it so, and never as markup or a header."""
    _, owner, _ = people(site)
    uid = publish(site, owner.make_key(), RUNS[0].read_bytes()).json["id"]
    pages = (f"/en/runs/{uid}", "/en/get-started", "/en/api", "/api/v1/agent", "/")
    lines = {
        "evil.example": True, "[2001:db8::1]:8080": True, "": True,
        'x"><script>alert(1)</script>': False, "x)](javascript:alert(1))": False, "a b": False,
        "a/b": False, "u@evil.example": False, "good.example\r\nHost: evil.example": False,
    }
    for host, fine in lines.items():
        for path in pages:
            got = site.raw(
                f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            )
            head, _, body = got.partition(b"\r\n\r\n")
            status = int(head.split(b" ")[1])
            expect((status < 400) is fine, f"{path} at {host!r}: HTTP {status}")
            expect(b"alert(1)" not in got and b"evil" not in head, f"{path} at {host!r}: {got!r}")
            expect(fine or b"evil" not in body, f"{path} at {host!r}: {body!r}")
        clean = site.ask("GET", f"/en/runs/{uid}").text
        expect("evil.example" not in clean and "2001:db8" not in clean, f"{host!r} was kept")


def never_kept(site: Served) -> None:
    """Pages of one's own are stored by nobody, and what is kept is nobody's own."""
    _, owner, _ = people(site)
    key = owner.make_key()
    draft = publish(site, key, RUNS[1].read_bytes(), "?state=draft").json["id"]
    uid = publish(site, key, RUNS[0].read_bytes()).json["id"]
    for path in (f"/en/runs/{draft}", f"/en/runs/{uid}", "/en/dashboard", f"/en/compare?run={draft}"):
        answer = owner.get(path)
        expect(answer.status == 200 and answer.headers["cache-control"] == "no-store", path)
        expect("etag" not in answer.headers, f"{path} has an ETag")
    for path in (f"/api/v1/runs/{draft}", f"/api/v1/runs/{draft}/raw"):
        answer = site.ask("GET", path, headers=keyed(key))
        expect(answer.headers["cache-control"].startswith("private"), f"{answer.headers}")
        tag = {"If-None-Match": answer.headers["etag"]}
        expect(site.ask("GET", path, headers=tag).status == 404, f"{path} by its ETag")
        expect(site.ask("GET", path, headers={**tag, "Cookie": "a=b"}).status == 404, path)
    for path in (f"/en/runs/{draft}", f"/en/compare?run={draft}", f"/en/runs/{draft}.svg"):
        expect(site.ask("GET", path).status == 404, f"{path} was kept")
    for path in ("/en/", f"/en/runs/{uid}", "/en/leaderboard"):
        expect("alice</a>" in owner.get(path).text or "dashboard" in owner.last.text, path)
        page = site.ask("GET", path).text
        expect("/en/sign-in" in page and "/en/sign-out" not in page, f"{path} is of who is signed in")


def cursors(site: Served) -> None:
    """A cursor that was made by hand leads nowhere, and to nothing hidden."""
    _, owner, _ = people(site)
    key = owner.make_key()
    publish(site, key, RUNS[1].read_bytes(), "?state=draft")
    publish(site, key, RUNS[0].read_bytes())
    first = site.ask("GET", "/api/v1/runs?limit=1").json
    expect(first["next"] is None, "the draft is counted")
    for text in ("0" * 40, "f" * 40, "7ff0" + "0" * 36, "x" * 40, "'" * 40, "0" * 39, "%00" * 4):
        for path in ("/api/v1/runs", "/api/v1/leaderboard", "/api/v1/models", "/en/runs"):
            answer = site.ask("GET", f"{path}?after={urllib.parse.quote(text)}")
            expect(answer.status == 400, f"{path} after {text}: HTTP {answer.status}")


def signed_out(site: Served) -> None:
    """Every address that needs somebody turns away who is nobody, or the wrong one."""
    _, owner, reader = people(site)
    uid = publish(site, owner.make_key(), RUNS[0].read_bytes()).json["id"]
    nobody = Visitor(site)
    forms = (
        "/en/dashboard/upload", "/en/dashboard/keys", "/en/dashboard/keys/1",
        "/en/dashboard/setups", "/en/dashboard/setups/1", f"/en/runs/{uid}", f"/en/runs/{uid}/setup",
        f"/en/runs/{uid}/report", "/en/device", f"/en/admin/runs/{uid}", "/en/admin/reports/1",
        "/en/admin/users/alice", "/en/sign-out",
    )
    for path in forms:
        answer = nobody.post(path, {"csrf": "x"}, False)
        expect(answer.headers.get("location") == "/en/sign-in", f"{path}: HTTP {answer.status}")
    for path in forms[:-1]:
        answer = reader.post(path, {"csrf": "x"}, False)
        expect(answer.status == 403, f"{path} without its token: HTTP {answer.status}")
    for path in ("/en/admin", "/en/admin/users", "/en/admin/audit"):
        expect(reader.get(path).status == 403, f"{path} for a user")


TESTS = [
    ("names that only drafts hold", private_names),
    ("kept cards in each language", kept_languages),
    ("kept answers and moderators", kept_marks),
    ("small bodies that grow", small_bodies_large_memory),
    ("half characters in errors", half_characters),
    ("two doors, one limit", two_doors_one_limit),
    ("forged addresses", forged_addresses),
    ("disabled users", disabled_users),
    ("others' retries", others_replays),
    ("secrets in settings", secret_settings),
    ("hosts of all names", hosts),
    ("pages of one's own are not kept", never_kept),
    ("cursors made by hand", cursors),
    ("addresses that need somebody", signed_out),
]
