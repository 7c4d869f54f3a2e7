"""api.py - every call of the API, each answer held against the document that describes it."""

from __future__ import annotations

import gzip
import html
import json
from typing import Any, Callable

from contract import Contract
from served import RUNS, Links, Served, Visitor, expect

NOBODY = "0190d6f0-0000-7000-8000-000000000000"
WRONG_KEY = "tgk_" + "0" * 40


class World:
    """What the calls need: two users with keys, a listed run, one that is withdrawn."""

    def __init__(self, site: Served) -> None:
        self.site = site
        self.api = Contract(site)
        self.visitor = Visitor(site)
        self.visitor.sign_up("alice")
        self.key = self.visitor.make_key()
        other = Visitor(site)
        other.sign_up("mallory")
        self.other_key = other.make_key()
        self.uid = self.publish(RUNS[0].read_bytes())
        self.gone = self.publish(RUNS[1].read_bytes())
        self.api.call("reviseRun", self.gone, key=self.key, query={"state": "withdrawn"})
        self.run = self.api.call("getRun", self.uid).json

    def publish(self, document: bytes, **query: str) -> str:
        answer = self.api.call("createRun", key=self.key, body=document, query=query)
        expect(answer.status == 201, f"{answer.status} {answer.body[:300]!r}")
        return answer.json["id"]

    def expect(self, status: int, name: str, *path: str, **more: Any) -> Any:
        answer = self.api.call(name, *path, **more)
        expect(answer.status == status, f"{name}: {answer.status} {answer.body[:300]!r}")
        return answer.json if answer.body and "json" in answer.headers["content-type"] else None


def changed(path: int, note: str) -> bytes:
    """A document like one of the examples, but another."""
    document = json.loads(RUNS[path].read_text(encoding="utf-8"))
    document.pop("id", None)
    document["notes"] = [*document.get("notes", []), note]
    return json.dumps(document).encode()


# ---- one replay an operation: what succeeds, and what only it refuses ---------------------------


def create_run(w: World) -> None:
    document = RUNS[2].read_bytes()
    key = {"Idempotency-Key": "one"}
    dry = w.expect(200, "createRun", key=w.key, body=document, query={"dry_run": "1"})
    expect(dry["valid"] and dry["dry_run"], f"{dry}")
    first = w.expect(201, "createRun", key=w.key, body=document, headers=key)
    again = w.api.call("createRun", key=w.key, body=document, headers=key)
    expect(again.json == first and again.headers["idempotent-replay"] == "true", "a retry")
    w.expect(422, "createRun", key=w.key, body=RUNS[0].read_bytes(), headers=key)
    same = w.expect(409, "createRun", key=w.key, body=document)
    expect(same["error"]["id"] == first["id"], f"{same}")
    wrong = w.expect(422, "createRun", key=w.key, body={"schema": "tokgrid-run/1"})
    expect(wrong["error"]["code"] == "invalid_run", f"{wrong}")
    packed = gzip.compress(changed(2, "packed"))
    w.expect(201, "createRun", key=w.key, body=packed, headers={"Content-Encoding": "gzip"})


def list_runs(w: World) -> None:
    seen, after = [], ""
    while True:
        page = w.expect(200, "listRuns", query={"limit": "1", "after": after})
        seen += [run["id"] for run in page["runs"]]
        after = page["next"]
        if not after:
            break
    expect(w.uid in seen and w.gone not in seen and len(set(seen)) == len(seen), f"{seen}")
    none = w.expect(200, "listRuns", query={"verified": "1"})
    expect(none == {"runs": [], "next": None}, f"{none}")
    fine = w.expect(200, "listRuns", query={"verified": "0", "order": "fastest"})
    expect(len(fine["runs"]) == len(seen), "verified=0 is all")
    w.expect(400, "listRuns", query={"after": "no-cursor"})


def get_run(w: World) -> None:
    w.expect(200, "getRun", w.uid)
    w.expect(200, "getRun", w.gone, key=w.key)
    w.expect(410, "getRun", w.gone)


def get_document(w: World) -> None:
    answer = w.api.call("getRunDocument", w.uid)
    expect(answer.body == RUNS[0].read_bytes(), "the document is another")
    w.expect(410, "getRunDocument", w.gone)


def revise_run(w: World) -> None:
    document = changed(0, "the driver was named")
    note = {"note": "driver named"}
    w.expect(400, "reviseRun", w.uid, key=w.key, body=document)
    w.expect(400, "reviseRun", w.uid, key=w.key)
    w.expect(400, "reviseRun", w.uid, key=w.key, query=note)
    w.expect(403, "reviseRun", w.uid, key=w.other_key, query={"state": "withdrawn"})
    w.expect(410, "reviseRun", w.gone, key=w.other_key, query={"state": "public"})
    w.expect(422, "reviseRun", w.uid, key=w.key, body={"schema": "x"}, query=note)
    once = {"Idempotency-Key": "revise"}
    run = w.expect(200, "reviseRun", w.uid, key=w.key, body=document, query=note, headers=once)
    expect((run["revision"], run["state"], run["id"]) == (2, "public", w.uid), f"{run}")
    again = w.expect(200, "reviseRun", w.uid, key=w.key, body=document, query=note, headers=once)
    expect(again == run, "a retry is another revision")
    w.expect(422, "reviseRun", w.gone, key=w.key, body=document, query=note, headers=once)
    expect(w.api.call("getRunDocument", w.uid).body == document, "the old document is shown")
    draft = w.publish(changed(0, "a draft"), state="draft")
    w.expect(404, "getRun", draft)
    w.expect(409, "reviseRun", draft, key=w.key, body=document, query=note)
    both = {"state": "public", "note": "ready"}
    run = w.expect(200, "reviseRun", draft, key=w.key, body=changed(0, "ready"), query=both)
    expect((run["revision"], run["state"]) == (2, "public"), f"{run}")
    run = w.expect(200, "reviseRun", draft, key=w.key, query={"state": "withdrawn"})
    expect(run["state"] == "withdrawn", f"{run}")
    w.expect(410, "getRun", draft)


def delete_run(w: World) -> None:
    uid = w.publish(changed(1, "to be removed"))
    w.expect(403, "deleteRun", uid, key=w.other_key)
    w.expect(410, "deleteRun", w.gone, key=w.other_key)
    w.expect(204, "deleteRun", uid, key=w.key)
    w.expect(404, "getRun", uid)


def revisions(w: World) -> None:
    rows = w.expect(200, "listRevisions", w.uid)["revisions"]
    expect([row["revision"] for row in rows] == [2, 1], f"{rows}")
    expect(rows[0]["note"] == "driver named" and rows[0]["user"] == "alice", f"{rows}")
    w.expect(410, "listRevisions", w.gone)


def revision_document(w: World) -> None:
    old = w.api.call("getRevisionDocument", w.uid, "1")
    expect(old.body == RUNS[0].read_bytes(), "the first document is another")
    for number in ("0", "3", "-1", "x", "99999999999999999999"):
        w.expect(404, "getRevisionDocument", w.uid, number)
    w.expect(410, "getRevisionDocument", w.gone, "1")


def leaderboard(w: World) -> None:
    for metric in ("single", "total", "prefill", "ttft", "per_joule"):
        w.expect(200, "getLeaderboard", query={"metric": metric})
    rows = w.expect(200, "getLeaderboard", query={"metric": "total", "concurrency": "1"})["rows"]
    expect(rows and all(row["concurrency"] == 1 for row in rows), f"{rows[:1]}")
    table = w.api.call("getLeaderboard", query={"format": "csv"})
    expect(table.headers["content-type"].startswith("text/csv"), "no table")


def models(w: World) -> None:
    rows = w.expect(200, "listModels", query={"order": "speed"})["models"]
    expect(w.run["base_model"] in [row["name"] for row in rows], f"{rows}")


def model(w: World) -> None:
    organization, name = w.run["model"].split("/")
    found = w.expect(200, "getModel", organization, name)
    expect(found["model"]["name"] == w.run["base_model"], f"{found['model']}")
    expect(w.run["model"] in [row["name"] for row in found["variants"]], f"{found['variants']}")
    expect(found["best_single"], "no best")


def model_alone(w: World) -> None:
    document = json.loads(changed(2, "without an organization"))
    document["subject"]["model"] = "homemade-7b"
    w.publish(json.dumps(document).encode())
    found = w.expect(200, "getModelWithoutOrganization", "homemade-7b")
    expect(found["model"]["organization"] is None, f"{found['model']}")


def organizations(w: World) -> None:
    rows = w.expect(200, "listOrganizations")["organizations"]
    expect(w.run["organization"] in [row["name"] for row in rows], f"{rows}")


def organization(w: World) -> None:
    found = w.expect(200, "getOrganization", w.run["organization"])
    expect(found["organization"]["runs"] > 0 and found["models"], f"{found}")


def hardwares(w: World) -> None:
    rows = w.expect(200, "listHardware", query={"class": "DISCRETE_GPU"})["hardware"]
    expect(w.run["hardware"] in [row["slug"] for row in rows], f"{rows}")


def hardware(w: World) -> None:
    found = w.expect(200, "getHardware", w.run["hardware"])
    expect(found["hardware"]["title"] == w.run["hardware_title"] and found["best_total"], "another")


def user_by_name(w: World) -> None:
    found = w.expect(200, "getUser", "alice")
    expect(found["name"] == "alice" and found["runs"] > 0, f"{found}")


def search(w: World) -> None:
    word = w.run["base_model"].split("/")[-1]
    found = w.expect(200, "search", query={"q": word, "limit": "3"})["results"]
    expect({"model", "run"} <= {row["kind"] for row in found}, f"{found}")
    for row in found:
        expect(w.site.ask("GET", row["url"]).status == 200, f"{row} leads nowhere")
    w.expect(400, "search")


def calculate(w: World) -> None:
    plain = w.expect(200, "calculate")
    query = {"memory_gb": "25.8", "kind": "dense", "corrections": "compute,split"}
    answer = w.expect(200, "calculate", query=query)
    expect(answer["inputs"]["memory_gb"] == 25.8, f"{answer['inputs']}")
    expect(answer["inputs"]["corrections"] == ["compute", "split"], f"{answer['inputs']}")
    expect(w.expect(200, "calculateFromBody") == plain, "no body is not the defaults")
    for states in ({"floor_tok_s": "900000"}, {"memory_gb": "10"}, {"kv_heads": "10000"}):
        w.expect(200, "calculate", query=states)
    w.expect(400, "calculate", query={"read_context": "40000", "allocated_context": "1000"})


def calculate_body(w: World) -> None:
    body = {"memory_gb": 25.8, "bandwidth_gb_s": 936, "split": "pipeline", "devices": 2}
    query = {name: str(value) for name, value in body.items()}
    expect(
        w.expect(200, "calculateFromBody", body=body) == w.expect(200, "calculate", query=query),
        "query and body differ",
    )
    none = w.expect(200, "calculateFromBody", body={"corrections": []})
    expect(none["inputs"]["corrections"] == [], f"{none['inputs']}")
    for wrong in ({"memory": 1}, {"devices": 1.5}, {"memory_gb": "24"}, {"split": "x"}, [], 5):
        w.expect(400, "calculateFromBody", body=wrong)
    fault = w.expect(400, "calculateFromBody", body={"memory": 1})["error"]
    expect((fault["code"], fault["field"]) == ("unknown_field", "memory"), f"{fault}")


def openapi(w: World) -> None:
    plain = w.expect(200, "getOpenApi")
    packed = w.api.call("getOpenApi", headers={"Accept-Encoding": "gzip"})
    expect(packed.headers["content-encoding"] == "gzip" and packed.json == plain, "not packed")


def agent(w: World) -> None:
    d = w.expect(200, "getAgentDocument")
    expect({row["id"] for row in d["operations"]} == set(w.api.operations), "other operations")
    expect(w.run["hardware"] in [row["slug"] for row in d["hardware"]], "no hardware")
    expect(w.run["engine"] in [row["name"] for row in d["engines"]], "no engines")
    whole = json.loads(changed(2, "agent"))
    for row in d["required_fields"]:
        broken = {name: value for name, value in whole.items() if name != row["field"]}
        answer = w.expect(422, "createRun", key=w.key, body=broken)
        expect(row["field"] in json.dumps(answer["error"]), f"{row['field']}: {answer}")
    for path in (d["openapi"], d["documentation"], d["authentication"]["dashboard"]):
        expect(w.visitor.get(path).status == 200, f"{path} leads nowhere")


def own_user(w: World) -> None:
    expect(w.expect(200, "getOwnUser", key=w.key)["name"] == "alice", "another")


def keys(w: World) -> None:
    rows = w.expect(200, "listKeys", key=w.key)["keys"]
    expect(rows and "key" not in rows[0], f"{rows}")


def key_create(w: World) -> None:
    made = w.expect(201, "createKey", key=w.other_key, body={"label": "spare"})["key"]
    expect(w.expect(200, "getOwnUser", key=made)["name"] == "mallory", "another's key")
    once = {"Idempotency-Key": "k"}
    w.expect(400, "createKey", key=w.other_key, body={"label": "x"}, headers=once)
    for number in range(8):
        w.expect(201, "createKey", key=w.other_key, body={"label": f"spare {number}"})
    w.expect(422, "createKey", key=w.other_key, body={"label": "one too many"})
    w.expect(400, "createKey", key=w.other_key, body={})


def key_delete(w: World) -> None:
    last = w.expect(200, "listKeys", key=w.other_key)["keys"][-1]
    w.expect(404, "deleteKey", str(last["id"]), key=w.key)
    w.expect(204, "deleteKey", str(last["id"]), key=w.other_key)


def setups(w: World) -> None:
    for name in ("one", "two"):
        body = {"name": name, "settings": {"memory_gb": 24}, "default": True}
        w.expect(201, "putSetup", key=w.key, body=body)
    rows = w.expect(200, "listSetups", key=w.key)["setups"]
    expect([(row["name"], row["default"]) for row in rows] == [("one", False), ("two", True)],
           f"{rows}")
    expect(w.expect(200, "listSetups", key=w.other_key)["setups"] == [], "others' setups")


def setup_put(w: World) -> None:
    once = {"Idempotency-Key": "setup"}
    body = {"name": "three", "settings": {"notes": ["\u4e24\u5f20 3090"]}}
    first = w.api.call("putSetup", key=w.key, body=body, headers=once)
    again = w.api.call("putSetup", key=w.key, body=body, headers=once)
    expect(first.json == again.json and "idempotent-replay" in again.headers, "a retry")
    expect(first.json["settings"] == body["settings"], f"{first.json}")
    w.expect(422, "putSetup", key=w.key, body={**body, "name": "four"}, headers=once)
    large = {"name": "large", "settings": {"text": "x" * (65 << 10)}}
    w.expect(422, "putSetup", key=w.key, body=large)
    w.expect(400, "putSetup", key=w.key, body={"name": "x", "settings": "text"})


def setup_delete(w: World) -> None:
    row = w.expect(200, "listSetups", key=w.key)["setups"][0]
    w.expect(404, "deleteSetup", str(row["id"]), key=w.other_key)
    w.expect(204, "deleteSetup", str(row["id"]), key=w.key)
    w.expect(404, "deleteSetup", str(row["id"]), key=w.key)


def report_run(w: World) -> None:
    body = {"reason": "implausible", "text": "faster than its memory"}
    report = w.expect(201, "reportRun", w.uid, key=w.other_key, body=body)
    expect(report == {"run": w.uid, **body}, f"{report}")
    report = w.expect(201, "reportRun", w.uid, key=w.other_key, body={"reason": "spam"})
    expect(report["text"] == "", f"{report}")
    w.expect(400, "reportRun", w.uid, key=w.other_key, body={"reason": "dislike"})
    w.expect(400, "reportRun", w.uid, key=w.other_key, body={**body, "text": "x" * 5000})
    w.expect(410, "reportRun", w.gone, key=w.other_key, body=body)


def device_code(w: World) -> None:
    w.expect(200, "beginDeviceLogin")
    w.expect(200, "beginDeviceLogin", body={"label": "bench-box"})


def device_token(w: World) -> None:
    start = w.expect(200, "beginDeviceLogin", body={"label": "bench-box"})
    fields = w.visitor.form("/en/device", "/en/device")
    fields.update(code=start["user_code"], answer="yes")
    expect(w.visitor.post("/en/device", fields).status == 200, "not approved")
    body = {"device_code": start["device_code"]}
    key = w.expect(200, "pollDeviceLogin", body=body)["key"]
    expect(w.expect(200, "getOwnUser", key=key)["name"] == "alice", "another's key")
    fault = w.expect(400, "pollDeviceLogin", body=body)["error"]
    expect(fault["code"] == "expired_token", f"{fault}")


REPLAYS: dict[str, Callable[[World], None]] = {
    "createRun": create_run,
    "listRuns": list_runs,
    "getRun": get_run,
    "getRunDocument": get_document,
    "reviseRun": revise_run,
    "deleteRun": delete_run,
    "listRevisions": revisions,
    "getRevisionDocument": revision_document,
    "getLeaderboard": leaderboard,
    "listModels": models,
    "getModel": model,
    "getModelWithoutOrganization": model_alone,
    "listOrganizations": organizations,
    "getOrganization": organization,
    "listHardware": hardwares,
    "getHardware": hardware,
    "getUser": user_by_name,
    "search": search,
    "calculate": calculate,
    "calculateFromBody": calculate_body,
    "getOpenApi": openapi,
    "getAgentDocument": agent,
    "getOwnUser": own_user,
    "listKeys": keys,
    "createKey": key_create,
    "deleteKey": key_delete,
    "reportRun": report_run,
    "listSetups": setups,
    "putSetup": setup_put,
    "deleteSetup": setup_delete,
    "beginDeviceLogin": device_code,
    "pollDeviceLogin": device_token,
}


# ---- what all of them refuse --------------------------------------------------------------------


def parts(w: World, name: str, there: bool) -> list[str]:
    """Parts of the path that lead to something, or to nothing."""
    organization_name, model_name = w.run["model"].split("/")
    good = {
        "uid": w.uid,
        "n": "1",
        "id": "999999999",
        "organization": organization_name,
        "name": {"getModel": model_name, "getUser": "alice"}.get(name, w.run["organization"]),
        "slug": w.run["hardware"],
    }
    if name == "getModelWithoutOrganization":
        good["name"] = "homemade-7b"
    wanted = [row["name"] for row in w.api.parameters(name, "path")]
    return [(good if there else {"uid": NOBODY}).get(part, "no-such-thing") for part in wanted]


def needed(w: World, name: str) -> dict[str, str]:
    rows = w.api.parameters(name, "query")
    return {row["name"]: row["example"] for row in rows if row["required"]}


def common(w: World, name: str) -> None:
    """Unknown parameters, wrong keys, ETags, bodies of the wrong kind, names of nothing."""
    verb, _, row = w.api.operations[name]
    path, query = parts(w, name, True), needed(w, name)
    key = None if {} in row["security"] else w.key
    fault = w.expect(400, name, *path, key=key, query={**query, "nonsense": "1"})["error"]
    expect((fault["code"], fault["field"]) == ("unknown_parameter", "nonsense"), f"{fault}")
    w.expect(401, name, *path, key=WRONG_KEY, query=query)
    if key:
        w.expect(401, name, *path, query=query)
    if "404" in row["responses"]:
        change = {"state": "public"} if name == "reviseRun" else query
        body = {"reason": "other"} if name == "reportRun" else None
        w.expect(404, name, *parts(w, name, False), key=key, query=change, body=body)
    if "304" in row["responses"]:
        tag = w.api.call(name, *path, key=key, query=query).headers["etag"]
        w.expect(304, name, *path, key=key, query=query, headers={"If-None-Match": tag})
    if "requestBody" in row:
        text = {"Content-Type": "text/plain"}
        w.expect(415, name, *path, key=key, body=b"{}", headers=text)
        w.expect(413, name, *path, key=key, body=b" " * (9 << 20))
        for junk in (b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 100000):
            answer = w.api.call(name, *path, key=key, body=junk, query=query)
            expect(answer.status in (400, 422), f"{name}: {answer.status} for {junk[:20]!r}")


def bounds(w: World, name: str) -> None:
    """Every parameter: what its schema forbids is refused by its name, its default is not."""
    path = parts(w, name, True)
    for row in w.api.parameters(name, "query"):
        schema, wrong = row["schema"], []
        if "maximum" in schema:
            wrong += [str(schema["maximum"] * 2 + 1), str(schema["minimum"] - 1), "x", "nan"]
        if "enum" in schema:
            wrong.append("no-such-word")
        if "maxLength" in schema:
            wrong.append("x" * (schema["maxLength"] + 1))
        if schema.get("type") == "array":
            wrong.append("no-such-word")
        if "pattern" in schema:
            wrong.append("many")
        key = None if {} in w.api.operations[name][2]["security"] else w.key
        for value in wrong:
            query = {**needed(w, name), row["name"]: value}
            fault = w.expect(400, name, *path, key=key, query=query)
            expect(fault["error"]["field"] == row["name"], f"{row['name']}={value[:30]}: {fault}")
        if "default" in schema and key is None:
            value = schema["default"]
            value = ",".join(value) if isinstance(value, list) else str(value)
            w.expect(200, name, *path, query={**needed(w, name), row["name"]: value})


def exhaust(w: World, name: str, limits: list[dict[str, Any]]) -> None:
    """Too often, whatever is asked. Buckets fill up again meanwhile, so it may take a few more."""
    key = None if {} in w.api.operations[name][2]["security"] else w.key
    path = parts(w, name, False)
    body = {"label": "x", "device_code": "x", "reason": "other"}
    for _ in range(3 * max(row["count"] for row in limits)):
        more: dict[str, Any] = {}
        if "requestBody" in w.api.operations[name][2]:
            fields = w.api.operations[name][2]["requestBody"]["content"]["application/json"]
            known = fields["schema"].get("properties", {})
            more["body"] = {field: body[field] for field in body if field in known}
            if name == "putSetup":
                more["body"] = {"name": "x", "settings": {}}
        if w.api.call(name, *path, key=key, **more).status == 429:
            return
    expect(False, f"{name} is not limited")


def replay(site: Served) -> None:
    """The document walked: no operation without a replay, no status without an answer."""
    w = World(site)
    missing = set(w.api.operations) ^ set(REPLAYS)
    expect(not missing, f"operations and replays differ: {sorted(missing)}")
    for name in REPLAYS:
        REPLAYS[name](w)
    for name in w.api.operations:
        common(w, name)
        bounds(w, name)
    limits = w.api.call("getAgentDocument").json["limits"]
    for name, (_, _, row) in w.api.operations.items():
        if "429" in row["responses"]:
            exhaust(w, name, limits)
    expect(not w.api.not_seen(), f"described, never answered: {w.api.not_seen()}")


def pages(site: Served) -> None:
    """The page for people has every call, in both languages, and is linked from everywhere."""
    api = Contract(site)
    for lang, word in (("en", "Parameters"), ("zh", "参数")):
        home = site.ask("GET", f"/{lang}/")
        expect(f"/{lang}/api" in Links(home.text).links, "no link to it")
        page = site.ask("GET", f"/{lang}/api")
        expect(page.status == 200 and word in page.text, f"{page.status}")
        for name, (_, path, row) in api.operations.items():
            expect(f'id="{name}"' in page.text and path in page.text, f"{name} is not there")
            english = row["summary"] in html.unescape(page.text)
            expect(english == (lang == "en"), f"{name}: {lang}")
        packed = site.ask("GET", f"/{lang}/api", headers={"Accept-Encoding": "gzip"})
        expect(packed.text == page.text, "packed it is another")


TESTS = [
    ("the API as it is described", replay),
    ("the API's page", pages),
]
