"""accounts.py - sign-in, sessions, keys, drafts, device login; and attacks on them."""

from __future__ import annotations

import json

from served import RUNS, Links, Served, Visitor, expect, publish
from story import fill

JSON = {"Content-Type": "application/json"}


def sign_in(site: Served) -> None:
    Visitor(site).sign_up("alice")
    visitor = Visitor(site)
    wrong = visitor.send("/en/sign-in", "/en/sign-in", user="alice", password="not this one")
    expect(wrong.status == 403 and "alice" in wrong.text, f"a wrong password: {wrong.status}")
    unknown = visitor.send("/en/sign-in", "/en/sign-in", user="bob", password="not this one")
    expect(unknown.status == 403, "an unknown name is told apart")
    right = visitor.send(
        "/en/sign-in", "/en/sign-in", user="Alice", password="correct horse battery"
    )
    expect(right.status == 200 and "alice" in right.text, f"sign-in: {right.status}")
    cookie = visitor.cookies["tokgrid_session"]
    out = visitor.send("/en/dashboard", "/en/sign-out")
    expect(out.status == 200 and "tokgrid_session" not in visitor.cookies, "still signed in")
    stolen = site.ask("GET", "/en/dashboard", headers={"Cookie": f"tokgrid_session={cookie}"})
    expect(stolen.status == 303, "a session lives on after sign-out")


def way_back(site: Served) -> None:
    """Who has to sign in first is where he wanted to be afterwards, after mistakes, too."""
    Visitor(site).sign_up("alice")
    asked = site.ask("GET", "/zh/admin/audit?user=alice&action=run.add").headers["location"]
    expect(asked == "/zh/sign-in?next=%2Fzh%2Fadmin%2Faudit%3Fuser%3Dalice%26action%3Drun.add", asked)
    visitor = Visitor(site)
    wrong = visitor.send(asked, "/zh/sign-in", user="alice", password="not this one")
    _, _, fields = next(form for form in Links(wrong.text).forms if form[1] == "/zh/sign-in")
    right = {**fields, "user": "alice", "password": "correct horse battery"}
    answer = visitor.post("/zh/sign-in", right, follow=False)
    expect(answer.headers["location"] == "/zh/admin/audit?user=alice&action=run.add", "another page")
    newcomer = Visitor(site)
    newcomer.get("/en/device?code=BCDF-GHJK")
    up = next(link for link in Links(newcomer.last.text).links if link.startswith("/en/sign-up"))
    fields = {**newcomer.form(up, "/en/sign-up"), "user": "bob", "password": "correct horse battery"}
    answer = newcomer.post("/en/sign-up", fields, follow=False)
    expect(answer.headers["location"] == "/en/device?code=BCDF-GHJK", "the code is forgotten")
    long = site.ask("GET", "/en/dashboard?a=" + "%C3%A4" * 660).headers["location"]
    expect(long == "/en/sign-in", f"a long address: {long[:80]}")
    form = Visitor(site).post("/en/dashboard/keys", {}, follow=False)
    expect(form.headers["location"] == "/en/sign-in", "a form leads back to where it was sent")


def other_language(site: Served) -> None:
    """What answers a form leads to a page in the other language, not to the form's address."""
    visitor = Visitor(site)
    visitor.sign_up("alice")
    visitor.upload(RUNS[0].read_bytes())
    uid = site.ask("GET", "/api/v1/runs").json["runs"][0]["id"]
    token = visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    for action, page in (
        ("/en/dashboard/keys", "/zh/dashboard"),
        ("/en/dashboard/setups", "/zh/dashboard"),
        (f"/en/admin/runs/{uid}", "/zh/admin"),
        ("/en/admin/reports/1", "/zh/admin"),
        (f"/en/runs/{uid}/report", f"/zh/runs/{uid}"),
        ("/en/device", "/zh/device"),
    ):
        answer = visitor.post(action, {"csrf": token}, follow=False)
        links = [link for link in Links(answer.text).links if link.startswith("/zh")]
        expect(links == [page], f"{action}: HTTP {answer.status}, {links}")


def names(site: Served) -> None:
    for name in ("", "a", "x" * 40, "a b", "<b>", "../x", "a/b", "a\u200bb", "名字"):
        answer = Visitor(site).sign_up(name)
        expect(answer.status == 422, f"the name {name!r}: HTTP {answer.status}")
    Visitor(site).sign_up("alice")
    taken = Visitor(site).sign_up("ALICE")
    expect(taken.status == 409, f"a taken name: HTTP {taken.status}")
    expect(Visitor(site).sign_up("carol", "short").status == 422, "a short password")


def cookies(site: Served) -> None:
    visitor = Visitor(site)
    visitor.get("/en/sign-up")
    for line in visitor.last.cookies:
        expect("HttpOnly" in line and "SameSite=Lax" in line, line)
    visitor.sign_up("alice")
    before = visitor.cookies["tokgrid_session"]
    expect(len(before) > 30, "a short session")
    for value in ("", "x", "0" * 40, before[:-1], before + "0", "%00", "a" * 5000):
        answer = site.ask("GET", "/en/dashboard", headers={"Cookie": f"tokgrid_session={value}"})
        expect(answer.status in (303, 431), f"cookie {value[:20]!r}: HTTP {answer.status}")
    # a session that was put into the browser before is not the one after signing in
    fixed = Visitor(site)
    fixed.cookies["tokgrid_session"] = "f" * 43
    fixed.send("/en/sign-in", "/en/sign-in", user="alice", password="correct horse battery")
    expect(fixed.cookies["tokgrid_session"] not in ("f" * 43, before), "session fixation")


def forged_forms(site: Served) -> None:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    fields = visitor.form("/en/dashboard", "/en/dashboard/keys")
    other = Visitor(site)
    other.sign_up("mallory")
    foreign = other.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    for token in ("", "x", foreign, fields["csrf"][:-1]):
        answer = visitor.post("/en/dashboard/keys", {"csrf": token, "label": "forged"}, False)
        expect(answer.status == 403, f"token {token[:8]!r}: HTTP {answer.status}")
    headers = {**visitor.headers(), "Content-Type": "application/x-www-form-urlencoded"}
    body = f"csrf={fields['csrf']}&label=forged".encode()
    for name, value in (
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ):
        answer = site.ask("POST", "/en/dashboard/keys", body, {**headers, name: value})
        expect(answer.status == 403, f"{name}: {value}: HTTP {answer.status}")
    answer = site.ask("GET", "/en/dashboard/keys?label=x&csrf=" + fields["csrf"])
    expect(answer.status == 405, f"a form by GET: HTTP {answer.status}")
    expect("forged" not in visitor.get("/en/dashboard").text, "a forged key was made")
    answer = Visitor(site).post("/en/sign-in", {"user": "alice", "password": "x"}, False)
    expect(answer.status == 403, "sign-in without a token")
    origin = {**headers, "Origin": f"http://127.0.0.1:{site.port}", "Sec-Fetch-Site": "same-origin"}
    expect(site.ask("POST", "/en/dashboard/keys", body, origin).status == 200, "an honest form")


def goes_on(site: Served) -> None:
    """The page that was asked for is there after signing up or in, also when that took two tries."""
    good = "correct horse battery"
    newcomer = Visitor(site)
    asked = newcomer.get("/zh/device?a=%26b")
    links = [link for link in Links(asked.text).links if "sign-up" in link]
    expect(links == ["/zh/sign-up?next=%2Fzh%2Fdevice%3Fa%3D%2526b"], f"{links}")
    answer = newcomer.send(links[0], "/zh/sign-up", False, user="alice", password="short")
    expect(answer.status == 422 and 'value="/zh/device?a=%26b"' in answer.text, "forgotten")
    answer = newcomer.send(links[0], "/zh/sign-up", False, user="alice", password=good)
    expect(answer.headers.get("location") == "/zh/device?a=%26b", f"{answer.headers}")
    visitor = Visitor(site)
    visitor.get("/en/dashboard")
    wrong = visitor.send("/en/dashboard", "/en/sign-in", False, user="alice", password="not this")
    expect(wrong.status == 403 and 'value="/en/dashboard"' in wrong.text, "forgotten by a slip")


def redirects(site: Served) -> None:
    Visitor(site).sign_up("alice")
    for where in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:x"):
        visitor = Visitor(site)
        answer = visitor.send(
            "/en/sign-in", "/en/sign-in", False,
            user="alice", password="correct horse battery", next=where,
        )
        expect(answer.status == 303, f"HTTP {answer.status}")
        expect("evil" not in answer.headers["location"], f"led to {answer.headers['location']}")


def keys(site: Served) -> None:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key("first")
    expect(key not in visitor.get("/en/dashboard").text, "a key is shown twice")
    who = site.ask("GET", "/api/v1/user", headers={"Authorization": f"Bearer {key}"})
    expect(who.json["name"] == "alice", f"user: {who.json}")
    for header in ("Bearer tgk_" + "0" * 40, "Bearer", "Bearer " + key[:-1], "Basic x", key):
        answer = site.ask("GET", "/api/v1/user", headers={"Authorization": header})
        expect(answer.status == 401 and answer.json["error"]["code"] == "unauthorized", header[:20])
    # a session is no key: pages of other sites send cookies along
    answer = site.ask("GET", "/api/v1/user", headers=visitor.headers())
    expect(answer.status == 401, f"the API takes a cookie: HTTP {answer.status}")
    for _ in range(9):
        visitor.make_key()
    full = visitor.send("/en/dashboard", "/en/dashboard/keys", label="eleventh")
    expect(full.status == 422, f"an eleventh key: HTTP {full.status}")
    listed = site.ask("GET", "/api/v1/keys", headers={"Authorization": f"Bearer {key}"}).json["keys"]
    expect(len(listed) == 10 and key not in json.dumps(listed), "the list of keys")
    own = [row for row in listed if key.startswith(row["prefix"])][0]
    visitor.post(f"/en/dashboard/keys/{own['id']}", visitor.form("/en/dashboard", "/en/dashboard/keys"))
    gone = site.ask("GET", "/api/v1/user", headers={"Authorization": f"Bearer {key}"})
    expect(gone.status == 401, "a revoked key works")


def drafts(site: Served) -> None:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    answer = visitor.upload(RUNS[0].read_bytes(), draft=True)
    path = answer.headers["location"]
    expect(site.ask("GET", path).status == 404, "everybody sees a draft")
    uid = path.rsplit("/", 1)[1]
    expect(site.ask("GET", f"/api/v1/runs/{uid}/raw").status == 404, "the API shows a draft")
    expect(site.counts() == 0, "a draft is listed")
    other = Visitor(site)
    other.sign_up("mallory")
    token = other.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    answer = other.post(path, {"csrf": token, "state": "public"}, False)
    expect(answer.status == 404, f"somebody else publishes it: HTTP {answer.status}")
    expect(visitor.get(path).status == 200, "its owner does not see it")
    visitor.send(path, path, state="public")
    expect(site.ask("GET", path).status == 200 and site.counts() == 1, "it was not published")
    own = visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    again = visitor.post(path, {"csrf": own, "state": "public"}, False)
    expect(again.status == 303, f"the same form once more: HTTP {again.status}")
    answer = other.post(path, {"csrf": token, "state": "withdrawn"}, False)
    expect(answer.status == 403, f"somebody else withdraws it: HTTP {answer.status}")
    visitor.send(path, path, state="withdrawn")
    expect(site.ask("GET", path).status == 410 and site.counts() == 0, "it was not withdrawn")


def flags(site: Served) -> None:
    """A figure above the bandwidth bound is flagged and shown; its owner cannot undo that."""
    visitor = Visitor(site)
    visitor.sign_up("alice")
    document = json.loads(RUNS[2].read_text(encoding="utf-8"))
    for fact in document["server"]["facts"]:
        if fact["name"] == "memory_bandwidth_bytes_s":
            fact["value"] = "800000000000"
    answer = publish(site, visitor.make_key(), json.dumps(document).encode())
    expect(answer.status == 201 and answer.json["state"] == "flagged", f"{answer.body!r}")
    expect(answer.json["flags"][0]["code"] == "above_bound", f"{answer.json['flags']}")
    path = f"/en/runs/{answer.json['id']}"
    page = site.ask("GET", path)
    expect(page.status == 200 and "look implausible" in page.text, "no warning on its page")
    expect("Flagged" in site.ask("GET", "/en/leaderboard").text, "no warning on the board")
    token = visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]
    answer = visitor.post(path, {"csrf": token, "state": "public"}, False)
    expect(answer.status == 403, f"a flag undone: HTTP {answer.status}")
    visitor.post(path, {"csrf": token, "state": "withdrawn"})
    answer = visitor.post(path, {"csrf": token, "state": "public"}, False)
    expect(answer.status == 403, f"a flag undone by the way round: HTTP {answer.status}")


def once(site: Served) -> None:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    document = RUNS[0].read_bytes()
    dry = publish(site, key, document, "?dry_run=1")
    expect(dry.status == 200 and dry.json["valid"] is True and site.counts() == 0, "dry run")
    first = publish(site, key, document, Idempotency_Key="one")
    again = publish(site, key, document, Idempotency_Key="one")
    expect((first.status, again.status) == (201, 201), f"{first.status} {again.status}")
    expect(first.json["id"] == again.json["id"] and site.counts() == 1, "stored twice")
    other = publish(site, key, RUNS[1].read_bytes(), Idempotency_Key="one")
    expect(other.status == 422, f"the key for another document: HTTP {other.status}")
    same = publish(site, key, document)
    expect(same.status == 409 and same.json["error"]["id"] == first.json["id"], "a duplicate")
    wrong = publish(site, key, document, Idempotency_Key="x" * 129)
    expect(wrong.status == 400, "a key that is too long")


def delete(site: Served) -> None:
    visitor, key, ids = fill(site)
    other = Visitor(site)
    other.sign_up("mallory")
    foreign = {"Authorization": f"Bearer {other.make_key()}"}
    expect(site.ask("DELETE", f"/api/v1/runs/{ids[0]}", headers=foreign).status == 403, "others'")
    own = {"Authorization": f"Bearer {key}"}
    expect(site.ask("DELETE", f"/api/v1/runs/{ids[0]}", headers=own).status == 204, "one's own")
    expect(site.ask("GET", f"/api/v1/runs/{ids[0]}").status == 404, "it is still there")
    expect(visitor.get(f"/en/runs/{ids[0]}").status == 404, "its page is still there")


def device(site: Served) -> None:
    visitor = Visitor(site)
    visitor.sign_up("alice")
    start = site.ask("POST", "/api/v1/device/code", b'{"label": "bench <box>"}', JSON).json
    body = json.dumps({"device_code": start["device_code"]}).encode()
    wait = site.ask("POST", "/api/v1/device/token", body, JSON)
    expect(wait.json["error"]["code"] == "authorization_pending", f"{wait.json}")
    asked = visitor.send("/en/device", "/en/device", code=start["user_code"].lower())
    expect("bench &lt;box&gt;" in asked.text, "what asks is not shown")
    done = visitor.post(
        "/en/device",
        {**visitor.form("/en/device", "/en/device"), "code": start["user_code"], "answer": "yes"},
    )
    expect(done.status == 200, f"HTTP {done.status}")
    got = site.ask("POST", "/api/v1/device/token", body, JSON)
    expect(got.status == 200 or got.json["error"]["code"] == "slow_down", f"{got.json}")
    if got.status == 200:
        who = site.ask("GET", "/api/v1/user", headers={"Authorization": f"Bearer {got.json['key']}"})
        expect(who.json["name"] == "alice", "the key is another's")
    wrong = visitor.send("/en/device", "/en/device", code="BCDF-GHJK")
    expect(wrong.status == 404, f"an unknown code: HTTP {wrong.status}")


def guessing(site: Served) -> None:
    Visitor(site).sign_up("alice")
    visitor = Visitor(site)
    fields = visitor.form("/en/sign-in", "/en/sign-in")
    statuses = [
        visitor.post("/en/sign-in", {**fields, "user": name, "password": "a guess"}).status
        for name in ("alice", "ALICE", "Alice") * 4
    ]
    expect(statuses[-1] == 429 and "retry-after" in visitor.last.headers, f"{statuses}")


def new_password(site: Served) -> None:
    """The old one is asked for; the new one works from then on, elsewhere one has to sign in anew."""
    old, new = "correct horse battery", "staple horse battery"
    visitor, elsewhere = Visitor(site), Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    elsewhere.send("/en/sign-in", "/en/sign-in", user="alice", password=old)
    path = "/en/dashboard/password"
    wrong = visitor.send("/en/dashboard", path, password="not this one", new_password=new)
    expect(wrong.status == 403 and "nothing was changed" in wrong.text, f"HTTP {wrong.status}")
    for short in ("", "short", "x" * 2000):
        answer = visitor.send("/en/dashboard", path, password=old, new_password=short)
        expect(answer.status == 422, f"{len(short)} characters: HTTP {answer.status}")
    expect(elsewhere.get("/en/dashboard").status == 200, "signed out by a try")
    answer = visitor.send("/en/dashboard", path, password=old, new_password=new)
    expect(answer.status == 200 and "was changed" in answer.text, f"HTTP {answer.status}")
    expect("Sign in" in elsewhere.get("/en/dashboard").text, "an old session goes on")
    asked = site.ask("GET", "/api/v1/user", headers={"Authorization": f"Bearer {key}"})
    expect(asked.status == 200, "the key is gone")
    again = Visitor(site).send("/en/sign-in", "/en/sign-in", user="alice", password=old)
    expect(again.status == 403, "the old password works")
    again = Visitor(site).send("/en/sign-in", "/en/sign-in", user="alice", password=new)
    expect(again.status == 200, "the new password does not work")
    statuses = [
        visitor.send("/en/dashboard", path, password="not this one", new_password=new).status
        for _ in range(12)
    ]
    expect(429 in statuses, f"guessed for ever: {statuses}")


TESTS = [
    ("a new password", new_password),
    ("sign-in and sign-out", sign_in),
    ("a sign-in goes on", goes_on),
    ("back after signing in", way_back),
    ("the other language after a form", other_language),
    ("names and passwords", names),
    ("cookies and sessions", cookies),
    ("forged forms", forged_forms),
    ("open redirects", redirects),
    ("API keys", keys),
    ("drafts and withdrawal", drafts),
    ("flagged figures", flags),
    ("retries and duplicates", once),
    ("runs are deleted by their owner", delete),
    ("device login", device),
    ("guessing passwords", guessing),
]
