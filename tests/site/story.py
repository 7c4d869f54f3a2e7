"""story.py - from an empty folder to published runs, and every page between them."""

from __future__ import annotations

import csv
import io
import json
import urllib.parse

from served import RUNS, Answer, Links, Served, Visitor, expect, publish

LANGUAGES = ("en", "zh")


def crawl(visitor: Visitor, starts: list[str], limit: int = 600) -> dict[str, Answer]:
    """Every page that links lead to; sorted and filtered lists count once."""
    seen: dict[str, Answer] = {}
    left = list(starts)
    while left:
        path = left.pop()
        path = urllib.parse.urldefrag(path)[0]
        if path in seen or len(seen) >= limit:
            continue
        answer = visitor.get(path)
        seen[path] = answer
        if not answer.headers.get("content-type", "").startswith("text/html"):
            continue
        for link in Links(answer.text).links:
            expect(link.startswith(("/", "#")), f"{path} leads elsewhere: {link}")
            if link.startswith("/") and link.count("&") < 3:
                left.append(link)
    return seen


def check_pages(seen: dict[str, Answer]) -> None:
    for path, answer in seen.items():
        expect(answer.status == 200, f"{path}: HTTP {answer.status}")
        policy = answer.headers["content-security-policy"]
        expect("'unsafe" not in policy and "default-src 'none'" in policy, f"{path}: {policy}")
        if answer.headers["content-type"].startswith("text/html"):
            faults = Links(answer.text).inline
            expect(not faults, f"{path}: {faults[:3]}")


def story(site: Served) -> None:
    visitor = Visitor(site)
    first = visitor.get("/")
    expect(first.status == 200 and '<html lang="en"' in first.text, "no first page")
    if not site.database.is_postgres:
        expect((site.folder / "tokgrid.db").exists(), "no tokgrid.db was made")
    check_pages(crawl(visitor, [f"/{lang}/" for lang in LANGUAGES]))

    expect(visitor.sign_up("alice").status == 200, f"sign-up: {visitor.last.text[-600:]}")
    expect("alice" in visitor.get("/en/dashboard").text, "no dashboard")
    answer = visitor.upload(RUNS[0].read_bytes())
    expect(answer.status == 303, f"upload: HTTP {answer.status}: {answer.text[-900:]}")
    key = visitor.make_key()
    for path in RUNS[1:]:
        answer = publish(site, key, path.read_bytes())
        expect(answer.status == 201, f"{path.name}: {answer.status} {answer.body!r}")

    for path in RUNS:
        document = json.loads(path.read_text(encoding="utf-8"))
        model = document["subject"]["model"] or document["subject"]["served_model"]
        expect_everywhere(site, model, document)
    seen = crawl(visitor, ["/en/", "/zh/"], limit=1500)
    expect(len(seen) > 60, f"only {len(seen)} pages")
    check_pages(seen)


def expect_everywhere(site: Served, model: str, document: dict) -> None:
    runs = site.ask("GET", "/api/v1/runs").json["runs"]
    mine = [run for run in runs if run["model"] == model]
    expect(mine, f"{model} is not listed")
    run = mine[0]
    organization = run["organization"]
    for lang in LANGUAGES:
        places = {
            f"/{lang}/runs": run["title"],
            f"/{lang}/runs/{run['id']}": run["title"],
            f"/{lang}/models": model.split("/")[-1].split("-AWQ")[0][:8],
            f"/{lang}/models/{model}": model,
            f"/{lang}/hardware": run["hardware_title"],
            f"/{lang}/hardware/{run['hardware']}": run["id"],
            f"/{lang}/leaderboard": run["id"],
            f"/{lang}/users/alice": run["title"],
        }
        if organization:
            places[f"/{lang}/organizations/{organization}"] = run["title"]
        for place, words in places.items():
            answer = site.ask("GET", place)
            expect(answer.status == 200, f"{place}: HTTP {answer.status}")
            expect(words in answer.text, f"{place} does not show {words!r}")
    raw = site.ask("GET", f"/api/v1/runs/{run['id']}/raw")
    expect(json.loads(raw.body) == document, "the raw document is another")


def fill(site: Served) -> tuple[Visitor, str, list[str]]:
    """An account with a key, and the ids of every run, published."""
    visitor = Visitor(site)
    visitor.sign_up("alice")
    key = visitor.make_key()
    ids = []
    for path in RUNS:
        answer = publish(site, key, path.read_bytes())
        expect(answer.status == 201, f"{path.name}: {answer.status} {answer.body[:300]!r}")
        ids.append(answer.json["id"])
    return visitor, key, ids


def boards(site: Served) -> None:
    fill(site)
    page = site.ask("GET", "/en/leaderboard").text
    expect("all but simulated" in page and "all but" not in site.ask("GET", "/en/runs").text,
           "it is not said that simulated runs stand apart")
    for metric in ("single", "total", "prefill", "ttft"):
        answer = site.ask("GET", f"/api/v1/leaderboard?metric={metric}")
        rows = answer.json["rows"]
        expect(rows, f"the board {metric} is empty")
        values = [row["value"] for row in rows]
        expect(values == sorted(values, reverse=metric != "ttft"), f"{metric}: {values}")
        expect({row["metric"] for row in rows} == {metric}, f"{metric} holds others")
        expect({row["status"] for row in rows} == {"valid"}, f"{metric} holds cells not valid")
    table = site.ask("GET", "/api/v1/leaderboard?metric=total&format=csv").text
    lines = list(csv.DictReader(io.StringIO(table)))
    expect(lines and float(lines[0]["value"]) > 0, "the CSV is empty")
    shown = site.ask("GET", "/en/leaderboard?metric=total&context=16384&concurrency=4").text
    expect("<td>16K</td><td>4</td>" in shown, "the board at one point shows others")
    wrong = site.ask("GET", "/en/leaderboard?metric=nonsense")
    expect(wrong.status == 400, f"an unknown board: HTTP {wrong.status}")


def paging(site: Served) -> None:
    """A page at a time, every list shows each row once; boards go on counting."""
    _, _, ids = fill(site)
    for path in ("/en/runs?limit=1", "/en/leaderboard?metric=total&limit=1", "/en/users/alice"):
        seen, at = [], path
        for _ in range(len(ids)):
            page = site.ask("GET", at)
            expect(page.status == 200, f"{at}: HTTP {page.status}")
            seen += [uid for uid in ids if f"/en/runs/{uid}" in page.text]
            following = [link for link in Links(page.text).links if "after=" in link]
            if "leaderboard" in path:
                rank = f"<td>{len(seen)}</td><td class=\"best\">"
                expect(rank in page.text, f"{at}: the rank {len(seen)} is not shown")
            if not following:
                break
            at = following[-1]
        expect(sorted(seen) == sorted(ids), f"{path}: {len(seen)} rows, {len(set(seen))} runs")


def compare(site: Served) -> None:
    _, _, ids = fill(site)
    answer = site.ask("GET", f"/en/compare?run={ids[0]}&run={ids[1]}")
    expect(answer.status == 200 and "×</b>" in answer.text, "no ratios")
    many = "&".join(f"run={uid}" for uid in ids)
    expect(site.ask("GET", f"/zh/compare?{many}&view=ttft").status == 200, "three runs")
    expect(site.ask("GET", "/en/compare").status == 200, "none chosen")
    expect(site.ask("GET", "/en/compare?run=nonsense").status == 404, "an unknown run")


def calculator(site: Served) -> None:
    _, _, ids = fill(site)
    page = site.ask("GET", "/en/calculator").text
    expect(">36.0<" in page and ">102.6<" in page, "the defaults have other figures")
    expect(site.ask("GET", f"/en/calculator?run={ids[1]}").text.count("measured") > 1, "overlay")
    wrong = site.ask("GET", "/en/calculator?memory-gb=much").text
    expect("memory-gb" in wrong and 'role="alert"' in wrong, "a wrong input is not told about")
    small = site.ask("GET", "/en/calculator?memory-gb=8").text
    expect("The weights do not fit" in small, "resident-fail is not told about")


def search(site: Served) -> None:
    fill(site)
    for words in ("qwen", "3090", "alice", "Qwen3.5-27B"):
        page = site.ask("GET", "/en/search?q=" + urllib.parse.quote(words)).text
        expect('class="found"' in page, f"nothing found for {words}")
    page = site.ask("GET", "/en/search?q=" + urllib.parse.quote("<script>x")).text
    expect("<script>x" not in page, "the question is markup")


def conditional(site: Served) -> None:
    fill(site)
    first = site.ask("GET", "/en/leaderboard", headers={"Accept-Encoding": "gzip"})
    expect(first.headers["content-encoding"] == "gzip", "not compressed")
    tag = first.headers["etag"]
    again = site.ask("GET", "/en/leaderboard", headers={"If-None-Match": tag})
    expect(again.status == 304 and not again.body, f"HTTP {again.status}")
    style = [link for link in Links(first.text).links if link.endswith(".css")][0]
    expect("immutable" in site.ask("GET", style).headers["cache-control"], "style is not kept")


def kept_pages(site: Served) -> None:
    """Pages are kept for all, and never shown when they are out of date, or to another visitor."""
    visitor, key, ids = fill(site)
    other = Visitor(site)
    for _ in range(3):
        expect(ids[0] in site.ask("GET", "/en/leaderboard").text, "the board lacks a run")
        expect("alice" in visitor.get("/en/models").text, "the page forgets who is signed in")
        expect('href="/en/dashboard"' not in other.get("/en/models").text, "another's page")
    expect(not other.cookies, f"a page without a form sets cookies: {other.cookies}")
    headers = {"Authorization": f"Bearer {key}"}
    expect(site.ask("DELETE", f"/api/v1/runs/{ids[0]}", headers=headers).status == 204, "delete")
    for path in ("/en/leaderboard", "/api/v1/runs", "/en/runs", "/en/"):
        expect(ids[0] not in site.ask("GET", path).text, f"{path} shows a run that is gone")
    expect(site.ask("GET", f"/en/runs/{ids[0]}").status == 404, "the page of a run that is gone")


def no_network_words(site: Served) -> None:
    """Both languages have every word: no page in Chinese repeats an English heading."""
    for page in ("", "leaderboard", "runs", "models", "hardware", "calculator", "get-started"):
        english = Links(site.ask("GET", f"/en/{page}").text).words
        chinese = Links(site.ask("GET", f"/zh/{page}").text).words
        said = {w for w in english if len(w.split()) > 3 and not any(c.isdigit() for c in w)}
        same = said & set(chinese)
        expect(not same, f"/zh/{page} says in English: {sorted(same)[:3]}")


def restart(site: Served) -> None:
    fill(site)
    code = site.stop()
    expect(code == 0, f"exit code {code}")
    site.start()
    expect(site.counts() == len(RUNS), "runs are gone after a restart")


TESTS = [
    ("the whole story", story),
    ("boards rank one class each", boards),
    ("a page at a time", paging),
    ("runs compared cell by cell", compare),
    ("the calculator", calculator),
    ("search", search),
    ("tags, compression, kept files", conditional),
    ("pages that are kept", kept_pages),
    ("both languages are whole", no_network_words),
    ("a restart keeps everything", restart),
]
