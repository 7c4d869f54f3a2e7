"""contract.py - the API held against its own description.

A Contract reads /api/v1/openapi.json and makes every request by an operation's id. Each answer must
have a status that the description names, a body that its schema holds, and the headers it promises;
what has been seen is kept, so that what has not been can be told.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from served import Answer, Failed, Served, Skipped, expect

try:
    import jsonschema
except ImportError:  # python3-jsonschema
    jsonschema = None

JSON = {"Content-Type": "application/json"}
VERBS = ("get", "post", "patch", "delete")
SOMETIMES = {"Idempotent-Replay"}  # headers that only some of the answers have


class Contract:
    def __init__(self, site: Served) -> None:
        if not jsonschema:
            raise Skipped("python3-jsonschema is not installed")
        self.site = site
        self.document = site.ask("GET", "/api/v1/openapi.json").json
        self.root = self.document["servers"][0]["url"]
        self.operations: dict[str, tuple[str, str, dict[str, Any]]] = {}
        for path, item in self.document["paths"].items():
            for verb in VERBS:
                if verb in item:
                    name = item[verb]["operationId"]
                    expect(name not in self.operations, f"twice: {name}")
                    self.operations[name] = (verb.upper(), path, item[verb])
        self.seen: dict[str, set[int]] = {name: set() for name in self.operations}

    def parameters(self, name: str, place: str) -> list[dict[str, Any]]:
        return [row for row in self.operations[name][2]["parameters"] if row["in"] == place]

    def validate(self, schema: dict[str, Any], value: Any, words: str) -> None:
        whole = {**schema, "components": self.document["components"]}
        fault = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(whole).iter_errors(value)
        )
        expect(not fault, f"{words}: {fault and (list(fault.absolute_path), fault.message[:300])}")

    def call(
        self,
        name: str,
        *path: str,
        key: str | None = None,
        query: dict[str, str] | None = None,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request; `body` is bytes as they are, or what becomes JSON."""
        verb, template, row = self.operations[name]
        for value in path:
            before, _, rest = template.partition("{")
            template = before + urllib.parse.quote(value, safe="") + rest.partition("}")[2]
        if "{" in template:
            raise Failed(f"{name}: too few parts of the path: {template}")
        target = self.root + template + ("?" + urllib.parse.urlencode(query) if query else "")
        sent = dict(headers or {})
        if key:
            sent["Authorization"] = f"Bearer {key}"
        if body is not None:
            sent = {**JSON, **sent}
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = self.site.ask(verb, target, body, sent)
        self.check(name, row, answer)
        return answer

    def check(self, name: str, row: dict[str, Any], answer: Answer) -> None:
        words = f"{name}: HTTP {answer.status} {answer.body[:200]!r}"
        promised = row["responses"].get(str(answer.status))
        expect(promised, f"{words} is not described")
        self.seen[name].add(answer.status)
        for header in promised.get("headers", {}):
            if header not in SOMETIMES:
                expect(header.lower() in answer.headers, f"{words}: without {header}")
        content = promised.get("content")
        if not content:
            expect(not answer.body, f"{words}: a body that is not described")
            return
        kind = answer.headers["content-type"].partition(";")[0]
        expect(kind in content, f"{words}: {kind} is not described")
        if kind == "application/json":
            self.validate(content[kind]["schema"], answer.json, words)

    def not_seen(self) -> list[str]:
        """Every status of every operation that was described and never answered."""
        return [
            f"{name} {status}"
            for name, (_, _, row) in self.operations.items()
            for status in row["responses"]
            if status != "default" and int(status) not in self.seen[name]
        ]
