"""moderation.py - reports, the moderators' pages, cards, setups: what they do, and for whom."""

from __future__ import annotations

import json
import re

from served import RUNS, Answer, Links, Served, Visitor, expect, publish
from story import check_pages, crawl

JSON = {"Content-Type": "application/json"}


def implausible() -> bytes:
    """A run whose figures lie above what its memory can be read at."""
    document = json.loads(RUNS[2].read_text(encoding="utf-8"))
    for fact in document["server"]["facts"]:
        if fact["name"] == "memory_bandwidth_bytes_s":
            fact["value"] = "800000000000"
    return json.dumps(document).encode()


def people(site: Served) -> tuple[Visitor, Visitor, Visitor]:
    """The first account is the moderator's; then an owner, and somebody who looks on."""
    moderator, owner, reader = Visitor(site), Visitor(site), Visitor(site)
    for visitor, name in ((moderator, "mod"), (owner, "alice"), (reader, "bob")):
        visitor.sign_up(name)
    return moderator, owner, reader


def token(visitor: Visitor) -> str:
    return visitor.form("/en/dashboard", "/en/dashboard/keys")["csrf"]


def decide(visitor: Visitor, uid: str, decision: str, reason: str = "") -> Answer:
    fields = {"csrf": token(visitor), "decision": decision, "reason": reason}
    return visitor.post(f"/en/admin/runs/{uid}", fields, False)


def state(site: Served, uid: str) -> str:
    answer = site.ask("GET", f"/api/v1/runs/{uid}")
    return answer.json["state"] if answer.status == 200 else answer.json["error"]["code"]


def reports(site: Served) -> None:
    moderator, owner, reader = people(site)
    uid = publish(site, owner.make_key(), RUNS[0].read_bytes()).json["id"]
    page = f"/en/runs/{uid}"
    expect("Sign in to report" in site.ask("GET", page).text, "nobody is asked to sign in")
    expect(f"{page}/report" not in owner.get(page).text, "an owner reports himself")
    hostile = "<script>alert(1)</script> \u202egnp"
    sent = reader.send(page, f"{page}/report", reason="implausible", text=hostile)
    expect(sent.status == 200 and "moderators will look" in sent.text, f"HTTP {sent.status}")
    again = reader.send(page, f"{page}/report", reason="identity", text="it is a 3060")
    expect(again.status == 200, f"another report: HTTP {again.status}")
    queue = moderator.get("/en/admin").text
    expect(queue.count('class="reports"') == 1, "the queue has no report")
    expect("it is a 3060" in queue and "alert(1)" not in queue, "one open report per user")
    key = {"Authorization": f"Bearer {moderator.make_key()}", **JSON}
    path = f"/api/v1/runs/{uid}/reports"
    made = site.ask("POST", path, json.dumps({"reason": "spam", "text": hostile}).encode(), key)
    expect(made.status == 201 and made.json["reason"] == "spam", f"{made.body!r}")
    queue = moderator.get("/en/admin").text
    expect("<script>alert" not in queue and "\u202e" not in queue, "a report is markup")
    expect(queue.count("/en/admin/reports/") == 2, "two reports are open")
    for body, field in (
        ({"reason": "because"}, "reason"),
        ({"reason": "spam", "text": "x" * 2001}, "text"),
        ({"reason": "spam", "words": "x"}, "words"),
        ({"text": "x"}, "reason"),
        ({"reason": 7}, "reason"),
    ):
        answer = site.ask("POST", path, json.dumps(body).encode(), key)
        expect(400 <= answer.status < 500, f"{body}: HTTP {answer.status}")
        expect(answer.json["error"]["field"] == field, f"{body}: {answer.json}")
    expect(site.ask("POST", path, b"{}", JSON).status == 401, "a report without a key")
    for number in re.findall(r"/en/admin/reports/(\d+)", queue):
        fields = {"csrf": token(moderator), "resolution": "looked at it"}
        answer = moderator.post(f"/en/admin/reports/{number}", fields, False)
        expect(answer.status == 303, f"resolving: HTTP {answer.status}")
    expect("Nothing is waiting" in moderator.get("/en/admin").text, "it waits on")
    expect(state(site, uid) == "public", "a report alone changed the run")


def report_limits(site: Served) -> None:
    _, owner, reader = people(site)
    key = owner.make_key()
    uid = publish(site, key, RUNS[0].read_bytes()).json["id"]
    draft = publish(site, key, RUNS[1].read_bytes(), "?state=draft").json["id"]
    fields = {"csrf": token(reader), "reason": "spam", "text": ""}
    answer = reader.post(f"/en/runs/{draft}/report", fields, False)
    expect(answer.status == 404, f"somebody's draft: HTTP {answer.status}")
    answer = reader.post(f"/en/runs/{uid}/report", {**fields, "csrf": "x"}, False)
    expect(answer.status == 403, f"a forged report: HTTP {answer.status}")
    answer = site.ask("POST", f"/en/runs/{uid}/report", b"reason=spam")
    expect(answer.status in (303, 403), f"not signed in: HTTP {answer.status}")
    statuses = [reader.post(f"/en/runs/{uid}/report", fields, False).status for _ in range(25)]
    expect(statuses[0] == 303 and statuses[-1] == 429, f"{statuses}")


def decisions(site: Served) -> None:
    """From flagged to public and back, and what an owner can do meanwhile."""
    moderator, owner, _ = people(site)
    uid = publish(site, owner.make_key(), implausible()).json["id"]
    page = f"/en/runs/{uid}"
    shown = site.ask("GET", page).text
    expect("allows" in shown and "look implausible" in shown, "figure and bound are not told")
    found = re.search(r"one request got ([\d.]+) tok/s; .* allows ([\d.]+) tok/s", shown)
    expect(found and float(found[1]) > float(found[2]), "the flag does not say by how much")
    for place in ("/en/runs", "/en/leaderboard", "/en/users/alice", "/en/", f"/en/compare?run={uid}"):
        expect("Flagged" in site.ask("GET", place).text, f"{place} shows no mark")
    expect("已标记" in site.ask("GET", "/zh/leaderboard").text, "no mark in Chinese")
    queue = moderator.get("/en/admin").text
    expect(uid in queue and "#c-" in queue and "allows" in queue, "the queue lacks the flag")
    expect('<li class="count"><b>1</b>' in queue, "the count is not in the navigation")
    own = token(owner)

    def move(to: str) -> int:
        return owner.post(page, {"csrf": own, "state": to}, False).status

    expect(decide(moderator, uid, "withdraw").status == 422, "withdrawn without a reason")
    expect(decide(moderator, uid, "nonsense").status == 422, "an unknown decision")
    expect(decide(moderator, uid, "accept").status == 303 and state(site, uid) == "public", "accept")
    expect("look implausible" not in site.ask("GET", page).text, "the warning stays")
    expect(decide(moderator, uid, "flag", "odd <b>card</b>").status == 303, "flag")
    shown = site.ask("GET", page).text
    expect(state(site, uid) == "flagged" and "odd &lt;b&gt;card" in shown, "a moderator's flag")
    expect(move("public") == 403 and move("withdrawn") == 303 and move("public") == 403, "undone")
    expect(decide(moderator, uid, "accept").status == 303, "accept what is withdrawn")
    expect(state(site, uid) == "withdrawn", "a moderator published it against its owner's will")
    expect(move("public") == 303 and state(site, uid) == "public", "its owner may again")
    expect(decide(moderator, uid, "withdraw", "made up").status == 303, "withdraw")
    gone = site.ask("GET", page)
    expect(gone.status == 410 and "made up" not in gone.text, f"HTTP {gone.status}")
    expect("made up" in owner.get(page).text, "the owner does not learn why")
    expect(move("public") == 403 and site.counts() == 0, "published anew after a withdrawal")
    expect(decide(moderator, uid, "flag", "for all to see").status == 303, "flag")
    expect(state(site, uid) == "flagged" and site.counts() == 1, "back with a warning")
    expect(decide(moderator, uid, "verify").status == 303, "verify")
    expect("Verified" in site.ask("GET", "/en/runs").text, "not shown as verified")
    expect(decide(moderator, uid, "unverify").status == 303, "unverify")
    expect(">Verified<" not in site.ask("GET", page).text, "still verified")


def drafts_are_their_owners(site: Served) -> None:
    moderator, owner, _ = people(site)
    uid = publish(site, owner.make_key(), implausible(), "?state=draft").json["id"]
    for decision in ("accept", "flag", "withdraw"):
        expect(decide(moderator, uid, decision, "x").status == 403, f"{decision} of a draft")
    expect(state(site, uid) == "not_found", "a draft was published")
    owner.post(f"/en/runs/{uid}", {"csrf": token(owner), "state": "public"})
    expect(state(site, uid) == "flagged", "publishing a draft takes its flags away")


def strangers(site: Served) -> None:
    """No page and no action of moderators is anybody else's."""
    moderator, owner, _ = people(site)
    uid = publish(site, owner.make_key(), implausible()).json["id"]
    pages = ["/en/admin", "/zh/admin", "/en/admin/users", "/en/admin/audit"]
    for page in pages:
        expect(owner.get(page).status == 403, f"{page}: HTTP {owner.last.status}")
        expect(site.ask("GET", page).status == 303, f"{page} without an account")
    expect("/en/admin" not in owner.get("/en/").text, "a link to what is not theirs")
    forms = {
        f"/en/admin/runs/{uid}": {"decision": "accept"},
        "/en/admin/reports/1": {"resolution": "x"},
        "/en/admin/users/alice": {"change": "moderator"},
        "/en/admin/users/mod": {"change": "disable"},
    }
    for path, fields in forms.items():
        answer = owner.post(path, {**fields, "csrf": token(owner)}, False)
        expect(answer.status == 403, f"{path}: HTTP {answer.status}")
        answer = moderator.post(path, {**fields, "csrf": token(owner)}, False)
        expect(answer.status == 403, f"{path} with another's token: HTTP {answer.status}")
        expect(site.ask("GET", path).status == 405, f"{path} by GET")
    expect(state(site, uid) == "flagged", "somebody decided")
    expect(owner.get("/en/admin").status == 403, "somebody became a moderator")


def users(site: Served) -> None:
    moderator, owner, reader = people(site)
    page = moderator.get("/en/admin/users").text
    expect(all(f">{name}</a>" in page for name in ("mod", "alice", "bob")), "users are missing")
    found = moderator.get("/en/admin/users?q=AL").text
    expect(">alice</a>" in found and ">bob</a>" not in found, "the search")

    def change(by: Visitor, name: str, what: str) -> int:
        return by.post(
            f"/en/admin/users/{name}", {"csrf": token(by), "change": what}, False
        ).status

    for what in ("no-moderator", "disable"):
        expect(change(moderator, "mod", what) == 403, f"the last moderator: {what}")
    expect("last moderator" in moderator.last.text, "it is not said why")
    expect(change(moderator, "nobody", "disable") == 404, "a user who does not exist")
    expect(change(moderator, "bob", "nonsense") == 400, "a change that does not exist")
    expect(change(moderator, "alice", "disable") == 303, "disable")
    expect(site.ask("GET", "/en/dashboard", headers=owner.headers()).status == 303, "signed in")
    expect(change(moderator, "alice", "enable") == 303, "enable")
    expect(change(moderator, "bob", "moderator") == 303, "promote")
    expect(reader.get("/en/admin").status == 200, "the new moderator sees no queue")
    expect(change(moderator, "mod", "no-moderator") == 303, "one may go when another is there")
    expect(moderator.get("/en/admin").status == 403, "a former moderator")
    expect(change(reader, "bob", "disable") == 403, "now that one is the last")


def audit(site: Served) -> None:
    moderator, owner, reader = people(site)
    uid = publish(site, owner.make_key(), implausible()).json["id"]
    page = f"/en/runs/{uid}"
    reader.send(page, f"{page}/report", reason="other", text="")
    decide(moderator, uid, "flag", "odd")
    decide(moderator, uid, "verify")
    moderator.post("/en/admin/users/bob", {"csrf": token(moderator), "change": "disable"})
    owner.send("/en/dashboard", "/en/dashboard/setups", name="box")
    Visitor(site).send("/en/sign-in", "/en/sign-in", user="alice", password="not this one")
    whole = moderator.get("/en/admin/audit?limit=200").text
    offered = set(re.findall(r'<option value="([a-z._]+)"', whole))
    told = set(re.findall(r"<code>([a-z._]+)</code>", whole))
    expect(told <= offered, f"not offered to look for: {told - offered}")
    for action in ("run.add", "run.review", "run.verify", "report.add", "user.disable",
                   "session.refuse", "setup.put"):
        expect(action in told, f"{action} is not in the log")
        rows = moderator.get(f"/en/admin/audit?action={action}").text
        expect(set(re.findall(r"<code>([a-z._]+)</code>", rows)) == {action}, action)
    narrowed = moderator.get(f"/en/admin/audit?user=mod&target={uid}").text
    expect(narrowed.count("<code>run.") == 2 and "odd" in narrowed, "user and run")
    expect("Nothing matches" in moderator.get("/en/admin/audit?user=nobody").text, "nobody")
    first = moderator.get("/en/admin/audit?limit=2").text
    following = [link for link in Links(first).links if "after=" in link]
    expect(following and moderator.get(following[0]).status == 200, "no second page")
    stale = moderator.get(following[0].replace("limit=2", "limit=2&action=run.add"))
    expect(stale.status == 400, f"a cursor of another list: HTTP {stale.status}")


def pages_are_whole(site: Served) -> None:
    moderator, owner, reader = people(site)
    uid = publish(site, owner.make_key(), implausible()).json["id"]
    reader.send(f"/en/runs/{uid}", f"/en/runs/{uid}/report", reason="other", text="look")
    for lang in ("en", "zh"):
        check_pages(crawl(moderator, [f"/{lang}/admin", f"/{lang}/runs/{uid}"], limit=60))
    for page in ("admin", "admin/users", "admin/audit", f"runs/{uid}", "dashboard"):
        english = Links(moderator.get(f"/en/{page}").text).words
        chinese = Links(moderator.get(f"/zh/{page}").text).words
        said = {w for w in english if len(w.split()) > 3 and not any(c.isdigit() for c in w)}
        expect(not said & set(chinese), f"/zh/{page} says in English: {said & set(chinese)}")


def command_line(site: Served) -> None:
    """tokgrid admin works on the store while the site serves it."""
    moderator, owner, _ = people(site)
    uid = publish(site, owner.make_key(), implausible()).json["id"]

    def admin(*args: str, code: int = 0) -> str:
        done = site.command("admin", *args)
        expect(done.returncode == code, f"{args}: {done.returncode} {done.stderr}")
        return done.stdout if code == 0 else done.stderr

    queue = json.loads(admin("queue", "--json"))
    expect([row["id"] for row in queue] == [uid] and queue[0]["flags"], f"{queue}")
    expect("allows" in admin("queue"), "the queue as text")
    expect("reason" in admin("withdraw", uid, code=1), "withdrawn without a reason")
    expect("withdrawn" in admin("withdraw", uid, "--reason", "made up"), "withdraw")
    expect(state(site, uid) == "withdrawn", "the site does not know")
    expect("flagged" in admin("flag", uid, "--reason", "odd"), "flag")
    expect(json.loads(admin("verify", uid, "--json"))[0]["verified"] is True, "verify")
    expect("verified" not in admin("unverify", uid), "unverify")
    expect("not one of" in admin("remove", uid, code=2), "an action that does not exist")
    expect("usage" in admin("accept", code=2), "no run")
    expect(admin("users", "nobody") == "there is no such user\n", "an empty list")
    for stray in (["users", "mod", "--moderator"], ["audit", "mod"], ["queue", "--user", "mod"],
                  ["user", "mod", "--reason", "x"]):
        expect(f"'admin {stray[0]}' takes no" in admin(*stray, code=2), f"{stray} was ignored")
    expect("there is no run" in admin("accept", uid[::-1], code=1), "a run that does not exist")
    expect("last moderator" in admin("user", "mod", "--no-moderator", code=1), "the last one")
    expect("moderator" in admin("user", "alice", "--moderator"), "promote")
    expect(owner.get("/en/admin").status == 200, "not a moderator on the site")
    made = json.loads(admin("user", "mod", "--new-password", "--json"))
    expect(">Sign in</h1>" in moderator.get("/en/admin").text, "a session outlives the password")
    moderator.send("/en/sign-in", "/en/sign-in", user="mod", password=made[0]["new_password"])
    expect(moderator.get("/en/admin").status == 200, "the new password does not work")
    names = [row["name"] for row in json.loads(admin("users", "--json"))]
    expect(names == ["alice", "bob", "mod"], f"{names}")
    expect([r["name"] for r in json.loads(admin("users", "b", "--json"))] == ["bob"], "by prefix")
    log = json.loads(admin("audit", "--about", uid, "--json"))
    expect(log[-1]["action"] == "run.add" and log[0]["from"] == "command line", f"{log[0]}")
    expect(len(json.loads(admin("audit", "--limit", "3", "--json"))) == 3, "the limit")


def imported(site: Served) -> None:
    """What comes in by tokgrid import is judged as an upload is."""
    run = site.folder / "run.json"
    run.write_bytes(implausible())
    done = site.command("import", "--json", "run.json")
    expect(done.returncode == 0, done.stderr)
    made = json.loads(done.stdout)
    expect(made["state"] == "flagged", f"{made}")
    expect("look implausible" in site.ask("GET", f"/en/runs/{made['id']}").text, "no warning")
    claim = json.loads(RUNS[0].read_text(encoding="utf-8"))
    gpu = claim["hardware"]["gpus"][0]["name"]
    expect("3090" in gpu, gpu)  # known to read 936 GB/s
    claim["server"]["facts"] = [
        {"name": "weight_bytes_per_token", "value": "30000000000", "source": "a guess"},
        {"name": "memory_bandwidth_bytes_s", "value": "9000000000000", "source": "a dream"},
    ]
    run.write_text(json.dumps(claim), encoding="utf-8")
    done = site.command("import", "--json", "run.json")
    expect(done.returncode == 0, done.stderr)
    expect(json.loads(done.stdout)["state"] == "flagged", "a dreamt bandwidth is believed")


def cards(site: Served) -> None:
    moderator, owner, _ = people(site)
    key = owner.make_key()
    uid = publish(site, key, RUNS[0].read_bytes()).json["id"]
    draft = publish(site, key, RUNS[1].read_bytes(), "?state=draft").json["id"]
    for path, words in ((f"/runs/{uid}.svg", "on "), (f"/zh/runs/{uid}.svg", "运行于")):
        answer = site.ask("GET", path)
        expect(answer.headers["content-type"] == "image/svg+xml", f"{answer.headers}")
        expect(answer.text.startswith("<svg ") and words in answer.text, f"{path}: no card")
    expect(site.ask("GET", f"/runs/{draft}.svg").status == 404, "a draft has a card")
    expect(site.ask("GET", "/runs/nonsense.svg").status == 404, "a card of nothing")
    expect(site.ask("GET", "/runs/.svg").status == 404, "a card of no name")
    page = site.ask("GET", f"/en/runs/{uid}").text
    where = f"http://127.0.0.1:{site.port}/en/runs/{uid}"
    expect(f'property="og:image" content="{where}.svg"' in page, "no og:image")
    expect(f"]({where}.svg)]({where})" in page, "no Markdown to embed")
    expect("og:image" not in owner.get(f"/en/runs/{draft}").text, "a draft is shared")
    # nobody's page says another's host, however he called the site
    other = site.ask("GET", f"/en/runs/{uid}", headers={"Host": "evil.example"}).text
    expect("http://evil.example/en/" in other, "the host is not the visitor's own")
    expect("evil" not in site.ask("GET", f"/en/runs/{uid}").text, "a kept page names another host")
    decide(moderator, uid, "flag", "odd")
    expect("implausible" in site.ask("GET", f"/runs/{uid}.svg").text, "the card has no warning")


def setups(site: Served) -> None:
    moderator, owner, _ = people(site)
    made = owner.send(
        "/en/dashboard", "/en/dashboard/setups",
        name="box", engine="vllm", hardware="<b>3090</b>", launch_command="vllm serve x\n  --port 1",
    )
    expect(made.status == 200 and "&lt;b&gt;3090" in made.text, f"HTTP {made.status}")
    secret = owner.send(
        "/en/dashboard", "/en/dashboard/setups",
        name="leak", launch_command="vllm serve x --api-key sk-very-secret",
    )
    expect(secret.status == 422 and "very-secret" not in secret.text, "a secret is kept")
    for fields in ({"name": ""}, {"name": "x" * 65}, {"name": "y", "model": "x" * 8001}):
        answer = owner.send("/en/dashboard", "/en/dashboard/setups", **fields)
        expect(answer.status == 422, f"{list(fields)}: HTTP {answer.status}")
    uid = publish(site, owner.make_key(), RUNS[0].read_bytes()).json["id"]
    path = f"/en/runs/{uid}"
    kept = owner.send(path, f"{path}/setup")
    expect(kept.status == 200 and "Qwen3-Coder" in kept.text, f"from a run: HTTP {kept.status}")
    answer = moderator.post(f"{path}/setup", {"csrf": token(moderator)}, False)
    expect(answer.status == 403, f"from somebody else's run: HTTP {answer.status}")
    numbers = re.findall(r"/en/dashboard/setups/(\d+)", owner.get("/en/dashboard").text)
    expect(len(numbers) == 2, f"{numbers}")
    change = {"csrf": token(owner), "change": "default"}
    for number in numbers:
        owner.post(f"/en/dashboard/setups/{number}", change)
        expect(owner.get("/en/dashboard").text.count(">Default</span>") == 1, "one default")
    foreign = {"csrf": token(moderator), "change": "default"}
    for what in ("default", "delete"):
        answer = moderator.post(
            f"/en/dashboard/setups/{numbers[0]}", {**foreign, "change": what}, False
        )
        expect(answer.status == 404, f"{what} of another's: HTTP {answer.status}")
    owner.post(f"/en/dashboard/setups/{numbers[0]}", {**change, "change": "delete"})
    expect(len(re.findall(r"/en/dashboard/setups/\d+", owner.get("/en/dashboard").text)) == 1, "")
    wrong = owner.post(f"/en/dashboard/setups/{numbers[1]}", {**change, "change": "x"}, False)
    expect(wrong.status == 400, f"an unknown change: HTTP {wrong.status}")


def corrections(site: Served) -> None:
    page = site.ask("GET", "/en/calculator?decoding=speculative").text
    expect(page.count('name="corrections"') == 5 and page.count(" checked") == 4, "no switches")
    expect("plain formulas:" in page, "the plain figure is not told")
    some = site.ask("GET", "/en/calculator?corrections=none&corrections=split").text
    expect(some.count(" checked") == 1, "one switch")
    expect("corrections=none,split" in some, "presets forget the switches")
    off = site.ask("GET", "/en/calculator?decoding=speculative&corrections=none").text
    expect("plain formulas:" not in off and " checked" not in off, "all off")
    wrong = site.ask("GET", "/en/calculator?corrections=magic").text
    expect('role="alert"' in wrong and "magic" in wrong, "an unknown correction")


TESTS = [
    ("reports of a run", reports),
    ("reports are limited", report_limits),
    ("moderators decide", decisions),
    ("drafts are their owners'", drafts_are_their_owners),
    ("moderators' pages are no one else's", strangers),
    ("users, and the last moderator", users),
    ("the audit log", audit),
    ("moderation in both languages", pages_are_whole),
    ("moderation by command", command_line),
    ("imports are judged alike", imported),
    ("cards of runs", cards),
    ("saved setups", setups),
    ("the calculator's corrections", corrections),
]
