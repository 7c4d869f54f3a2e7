#!/usr/bin/env python3
"""test_harness.py - the harness tested by itself: `test_harness.py [--jobs N]`; prints TAP.

First the parts that need no process (values of case files, claims, invariants), then cases that
must fail, each with the words its failure must show, then all cases of selftest/, which drive the
scripted server with curl.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, Callable

sys.dont_write_bytecode = True

import assertions
import invariants
import runner
from casefile import CaseError, Line, duration, read_case, trigger
from replies import Moment, read_plan, script_line, settings_manual

HERE = Path(__file__).resolve().parent


def lines(text: str) -> list[Line]:
    return [Line("x:1", line) for line in text.split("\n") if line.strip()]


def refused(action: Callable[[], Any]) -> str:
    """The words of the error that `action` must raise."""
    try:
        action()
    except (CaseError, assertions.ClaimError) as error:
        return str(error)
    raise AssertionError("no error")


# ---- values ----------------------------------------------------------------------------------


def test_durations() -> None:
    for text, seconds in (("20ms", 0.02), ("1.5s", 1.5), ("100us", 1e-4), ("2m", 120.0)):
        assert abs(duration(text, "x") - seconds) < 1e-12, text
    for text in ("", "20", "ms", "-1s", "1 s", "1h"):
        assert "expected a time" in refused(lambda text=text: duration(text, "x")), text  # type: ignore[misc]


def test_triggers() -> None:
    when = trigger("at open 2 + 300ms", "x")
    assert (when.kind, when.count, when.delay_s) == ("open", 2, 0.3)
    assert not when.reached(9, 9, 1) and when.reached(0, 0, 2)
    assert trigger("after 2s", "x").reached(0, 0, 0)
    assert trigger("at request 5", "x").reached(5, 0, 0)
    assert "after TIME" in refused(lambda: trigger("at once", "x"))


def test_settings() -> None:
    plan = read_plan(
        lines('models = a, "b\\u0007"\nslots = 4\ntoken = 5ms\nfail = cut after 3 only 2')
    )
    settings = plan.settings
    assert (settings.models, settings.slots, settings.token) == (["a", "b\x07"], 4, 0.005)
    assert settings.fail and settings.fail.hits(2, 0) and not settings.fail.hits(3, 0)
    plan = read_plan(lines("stretch = -20\nidle = 300ms\nfail = stall after 60 once 2"))
    settings = plan.settings
    assert (settings.stretch, settings.idle, settings.forgotten) == (-20, 0.3, None)
    assert settings.fail and settings.fail.hits(9, 2) and not settings.fail.hits(9, 1)
    for text, words in (
        ("slot = 4", "unknown setting: slot"),
        ("slots = many", "expected a whole number"),
        ("done = yes", "expected on or off"),
        ("stretch = --20", "expected a whole number"),
        ("engine = ollamma", "expected one of plain, vllm"),
        ("fail = badly after 3", "expected `HOW after TOKENS"),
        ("write = glue", "expected whole, byte"),
        ("    lost", "an indented line outside a script"),
        ("script GET /x", "nothing stands under it"),
        ("reply GET /x {}", "expected a status"),
        ("slots", "expected `name = value`"),
    ):
        found = refused(lambda text=text: read_plan(lines(text)))  # type: ignore[misc]
        assert words in found, f"{text}: {found}"


def test_routes() -> None:
    plan = read_plan(
        lines(
            "reply GET /a times 2 503 busy\n"
            "reply GET /a skip 1 after 1s 200 late\n"
            'reply POST /v1/* when n unless m 400 X-Y:z {"detail": "a  b"}\n'
            "reply * * open 2 429"
        )
    )
    early, late = Moment(0.5, 0, None), Moment(2, 0, None)

    def status(method: str, path: str, moment: Moment) -> int | None:
        route = plan.route(method, path, moment)
        return route.reply.status if route and route.reply else None

    assert [status("GET", "/a", early) for _ in range(3)] == [503, 503, None]
    assert [status("GET", "/a", late) for _ in range(2)] == [None, 200]
    assert status("POST", "/v1/x", Moment(0, 0, {"n": 1})) == 400
    assert status("POST", "/v1/x", Moment(0, 0, {"n": 1, "m": 1})) is None
    assert status("PUT", "/", Moment(0, 2, None)) == 429
    inner = read_plan(lines("reply POST / when a.b 400"))
    for body, fits in (({"a": {"b": 1}}, True), ({"a": {"b": False}}, False), ({"a": 1}, False)):
        assert bool(inner.route("POST", "/", Moment(0, 0, body))) == fits, body
    reply = plan.routes[2].reply
    assert reply and reply.body == b'{"detail": "a  b"}'
    assert reply.headers == [("X-Y", "z"), ("Content-Type", "application/json")]


def test_scripts() -> None:
    ops = script_line(Line("x:1", r"  a\r\n\x00\~ ~20ms~ \sb ~drip 1ms~ c ~reset~"))
    kinds = [op.kind for op in ops]
    assert kinds == ["bytes", "pause", "bytes", "drip", "bytes", "reset"], kinds
    assert ops[0].data == b"a\r\n\0~" and ops[2].data == b" b" and ops[1].seconds == 0.02
    assert "partner" in refused(lambda: script_line(Line("x:1", "a ~close")))
    plan = read_plan(lines("stream POST /s\n    ~repeat 2~\n    a~n~b\n    ~5ms~ ~end~\n    c"))
    ops = plan.routes[0].script
    assert [op.kind for op in ops] == ["bytes", "pause", "bytes", "pause", "bytes"]
    assert ops[0].data.endswith(b"\r\n\r\na1b") and ops[2].data == b"a2b" and ops[4].data == b"c"
    for text in ("~repeat 2~ a", "a ~end~"):
        words = refused(lambda: read_plan(lines(f"script GET /\n    {text}")))
        assert "pairs" in words, words
    assert "unknown escape" in refused(lambda: script_line(Line("x:1", r"a\q")))


def test_case_files() -> None:
    for text, words in (
        ("[about]\nx\n", "no [command]"),
        ("[command]\ntrue\n", "[about] is missing"),
        ("hello\n", "text before the first section"),
        ("[about]\nx\n[usage]\nrun => URL\n[command]\ntrue\n", "stands instead of"),
        ("[about]\nx\n[usage]\nrun\n", "expected `ARGUMENTS => REGEX`"),
        ("[about]\nx\n[command]\ntrue\n[exti]\n1\n", "unknown section [exti]"),
        ("[about]\nx\n[command]\ntrue\n[command 1]\ntrue\n", "stands here twice"),
        ("[about]\nx\n[command 2]\ntrue\n", "step 2 has no [command]"),
        ("[about]\nx\n[command]\ntrue\n[exit zero]\n", "takes a step's number"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "t.case")
            path.write_text(text)
            found = refused(lambda path=path: read_case(path))  # type: ignore[misc]
            assert words in found, f"{text!r}: {found}"


def test_usage_section() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.case")
        path.write_text("[about]\nx\n[usage]\nrun => URL\nshow => RUN\n[requests]\nx absent\n")
        steps = read_case(path).steps
    assert [step.get("command")[0].text for step in steps] == ["tokgrid run", "tokgrid show"]
    assert steps[1].get("stderr")[1].text == "error RUN" and steps[1].has("requests")


def test_lines_that_make_no_sense() -> None:
    for text, words in (
        ("[stdout]\nhas x\n", "expected one of empty"),
        ("[stdout]\nmatches (\n", "unterminated subpattern"),
        ("[stderr]\nlines many\n", "`lines` takes a number"),
        ("[result]\ndecode\n", "expected `PATH OPERATOR VALUE`"),
        ("[exit]\nzero\n", "[exit] is one number"),
        ("[signal]\nBANG after 1s\n", "unknown signal BANG"),
        ("[signal]\nINT now\n", "expected `after TIME`"),
        ("[case]\nspeed = 3\n", "unknown option of [case]: speed"),
        ("[case]\nneeds = luck\n", "unknown need: luck"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "t.case")
            path.write_text("[about]\nx\n[command]\ntrue\n" + text)
            found = refused(lambda path=path: runner.load(path))  # type: ignore[misc]
            assert words in found, f"{text!r}: {found}"


def test_manual_is_complete() -> None:
    manual = (HERE / "README.md").read_text(encoding="utf-8")
    assert settings_manual() in manual, "README.md has not what `server.py --settings` prints"


# ---- claims ----------------------------------------------------------------------------------

DOCUMENT = {
    "decode": [
        {"context_tokens": 0, "concurrency": 1, "status": "valid", "marks": [], "rate": 9.8},
        {"context_tokens": 0, "concurrency": 2, "status": "queued", "marks": ["inferred"]},
    ],
    "server": {"url": "http://a/v1", "limit": None},
}


def test_claims_that_hold() -> None:
    for claim in (
        'decode[context=0,concurrency=2].status == "queued"',
        "decode[0].rate ~ 10 +- 3%",
        "decode[0].rate ~ 10 +- 0.2",
        "decode[*].status isnt null",
        'some decode[*].marks has "inferred"',
        'decode[0].marks lacks "inferred"',
        "decode[-1].rate absent",
        "decode[concurrency=7] absent",
        "server.limit is null",
        "server.limit exists",
        "server.url matches ^http://[a-z]/v1$",
        'server.url has "//"',
        "count decode[status=error] == 0",
        "count decode[*] == 2",
        "max decode[*].concurrency == 2",
        "sum decode[*].concurrency == 3",
        "distinct decode[*].context_tokens == 1",
        "decode[*].concurrency <= 2",
        "decode[*].concurrency is number",
    ):
        assert assertions.check(claim, DOCUMENT) is None, claim


def test_claims_that_fail() -> None:
    for claim, words in (
        ('decode[*].status == "valid"', 'found "queued"'),
        ("decode[0].rate > 10", "found 9.8"),
        ("decode[0].rate ~ 10 +- 1%", "found 9.8"),
        ("decode[concurrency=7].rate > 0", "the path finds nothing"),
        ("decode[1].rate > 0", "found nothing"),
        ("decode[1].rate is null", "found nothing"),
        ("server.url < 3", "found"),
        ("count decode[*] == 3", "count is 2"),
        ("decode[0].concurrency == true", "found 1"),
    ):
        found = assertions.check(claim, DOCUMENT)
        assert found and words in found, f"{claim}: {found}"


def test_claims_that_are_none() -> None:
    for claim in (
        "decode",
        "decode[0].x == yes",
        "decode[0].x < true",
        "decode[0].x ~ 3",
        "decode[0].x is big",
        "decode[x].y == 1",
    ):
        refused(lambda claim=claim: assertions.check(claim, DOCUMENT))  # type: ignore[misc]


# ---- invariants ------------------------------------------------------------------------------


def spread(n: int, p50: float | None = None) -> dict[str, Any]:
    return {"n": n, "p50": p50, "p90": None, "p99": None, "max": p50}


def good_result() -> dict[str, Any]:
    cell = {
        "context_tokens": 0,
        "concurrency": 2,
        "status": "valid",
        "marks": [],
        "reason": None,
        "total_tok_s": 200.0,
        "output_tokens": 200,
        "measured_s": 1.0,
        "per_request_tok_s": 100.0,
        "itl_ms": spread(2, 10.0),
        "ttft_ms": spread(2, 30.0),
        "gap_ms": spread(40, 10.0),
        "avg_active": 2.0,
        "token_source": "usage_final",
        "ci95": {"low": 190.0, "high": 210.0},
    }
    none = {"status": "over_capacity", "reason": "too much", "marks": []}
    row = {
        "context_tokens": 1024,
        "status": "valid",
        "marks": [],
        "reason": None,
        "total_tok_s": 10000.0,
        "ttft_ms": spread(3, 100.0),
        "prompt_tokens": 1024,
        "cached_tokens": 24,
    }
    return {
        "schema": "tokgrid-run/1",
        "decode": [cell, {"context_tokens": 0, "concurrency": 4, **none}],
        "prefill": [row],
    }


def test_invariants() -> None:
    assert list(invariants.violations(good_result())) == []
    changes: tuple[tuple[str, Callable[[dict[str, Any]], Any], str], ...] = (
        ("schema", lambda r: r.update(schema="other/1"), "schema: 'other/1'"),
        ("total", lambda r: r["decode"][0].update(output_tokens=150), "150 tokens in 1.0 s"),
        ("pace", lambda r: r["decode"][0].update(per_request_tok_s=99.0), "but itl_ms.p50 10.0"),
        ("active", lambda r: r["decode"][0].update(avg_active=2.1), "avg_active 2.1 at C = 2"),
        ("prefill", lambda r: r["prefill"][0].update(cached_tokens=0), "is not 1024 - 0"),
        ("numbers", lambda r: r["decode"][1].update(total_tok_s=1.0), "with total_tok_s = 1.0"),
        ("spread", lambda r: r["decode"][1].update(itl_ms=spread(1, 1.0)), "with itl_ms.p50"),
        ("reason", lambda r: r["decode"][1].update(reason=None), "without a reason"),
        ("status", lambda r: r["decode"][0].update(status="fine"), "status 'fine'"),
        ("marks", lambda r: r["decode"][0].update(marks=["odd"]), "marks ['odd']"),
        ("p90", lambda r: r["decode"][0]["ttft_ms"].update(p90=30.0), "64 are needed"),
        ("order", lambda r: r["decode"][0]["gap_ms"].update(max=9.0), "not in order"),
        ("twice", lambda r: r["decode"][1].update(concurrency=2), "stands there twice"),
        ("source", lambda r: r["decode"][0].update(token_source=None), "token_source None"),
        ("interval", lambda r: r["decode"][0]["ci95"].update(high=199.0), "outside its interval"),
        ("nan", lambda r: r["decode"][0].update(power_w=float("nan")), "power_w: nan"),
        ("text", lambda r: r.update(notes=["a\x1b[2Jb"]), "notes[0]: control characters"),
    )
    for name, change, words in changes:
        result = copy.deepcopy(good_result())
        change(result)
        found = list(invariants.violations(result))
        assert len(found) == 1 and words in found[0], f"{name}: {found}"
    result = good_result()
    result["decode"][0].update(avg_active=2.5, marks=["foreign_load"])
    assert list(invariants.violations(result)) == []


def test_published_results_keep_the_invariants() -> None:
    for path in sorted((HERE.parent / "data" / "published").glob("*.json")):
        found = list(invariants.violations(json.loads(path.read_text(encoding="utf-8"))))
        assert found == [], f"{path.name}: {found[:3]}"


# ---- cases that must fail --------------------------------------------------------------------

WRITE = """
[file write.py]
import json, os
os.makedirs("runs")
with open("runs/a.json", "w") as file:
    file.write(RESULT)
"""

FAILING = {
    "exit": ("[command]\npython3 -c 'exit(3)'\n", "expected exit code 0, got exit code 3"),
    "killed": (
        "[command]\npython3 -c 'import os; os.kill(os.getpid(), 11)'\n",
        "got signal SIGSEGV",
    ),
    "hang": (
        "[case]\nlimit = 500ms\n[command]\npython3 -c 'import time; time.sleep(60)'\n",
        "it did not end in time",
    ),
    "leftover": (
        "[command]\nsh -c 'setsid sleep 60 >/dev/null 2>&1 &'\n",
        "left running (killed now)",
    ),
    "unsignalled": ("[command]\ntrue\n[signal]\nINT after 5s\n", "ended before its moment"),
    "stdout": ("[command]\necho hello\n[stdout]\ncontains goodbye\n", "goodbye: not there"),
    "lacks": ("[command]\necho hello\n[stdout]\nlacks ell\n", "it is there"),
    "lines": ("[command]\nprintf 'a\\nb\\n'\n[stdout]\nlines 1\n", "found 2 lines"),
    "empty": ("[command]\necho x\n[stdout]\nempty\n", "found 1 lines"),
    "error": ("[command]\necho tokgrid: no\n[stdout]\nerror yes\n", "no match in: tokgrid: no"),
    "controls": ("[command]\nprintf 'a\\033[2J'\n", "a raw control character"),
    "sanitizer": (
        "[command]\nsh -c 'echo ERROR: AddressSanitizer: x >&2'\n",
        "a sanitizer or valgrind complains",
    ),
    "secret": (
        "[case]\nsecret = xyzzy\n[command]\nsh -c 'echo a xyzzy > f'\n",
        "'xyzzy' stands in f",
    ),
    "part of a secret": (
        "[case]\nsecret = xyzzy-plugh\n[command]\nsh -c 'echo a zzy-plug > f'\n",
        "'zzy-plug' of 'xyzzy-plugh' stands in f",
    ),
    "no result": ("[command]\ntrue\n[result]\na == 1\n", "expected one result, found []"),
    "half a result": (
        WRITE.replace("RESULT", "'{\"schema\": '") + "[command]\npython3 write.py\n",
        "runs/a.json is no JSON",
    ),
    "bad result": (
        WRITE.replace("RESULT", "json.dumps({'schema': 'tokgrid-run/1', 'decode': []})")
        + "[command]\npython3 write.py\n",
        "a.json: prefill: not an array",
    ),
    "left behind": ("[command]\ntouch a.json.tmp\n", "a.json.tmp was left behind"),
    "claim": (
        "[server]\n[command]\ncurl -s $URL/v1/models\n[requests]\nrequests[0].path == 1\n",
        'found "/v1/models"',
    ),
    "placeholder": ("[command]\necho $URL\n", "$URL stands for nothing here"),
    "program": ("[command]\nno-such-program\n", "cannot run no-such-program"),
    "not HTTP": (
        "[server]\n[file c.py]\nimport socket, sys\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "s.sendall(b'hello\\r\\n\\r\\n')\ns.recv(9)\n[command]\npython3 c.py $PORT\n",
        "got no HTTP request",
    ),
}


def run_cases(arguments: list[str]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = runner.main(arguments)
    return code, output.getvalue()


def test_failing_cases() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, _) in FAILING.items():
            path = Path(folder, name.replace(" ", "-") + ".case")
            path.write_text("[about]\nMust fail.\n\n" + text)
        code, output = run_cases(["--cases", folder, "--tokgrid", "true", "--keep"])
    assert code == 1, output
    tests = output.split("\nnot ok ")
    for name, (_, words) in FAILING.items():
        about = next(one for one in tests if f"- {name.replace(' ', '-')} #" in one)
        assert words in about, f"{name}: {about}"
    root = Path(output.rpartition("files: ")[2].strip())
    shutil.rmtree(root)


def test_selection() -> None:
    folder = ["--cases", str(HERE / "selftest")]
    code, output = run_cases([*folder, "--list", "04?-*", "stream"])
    assert code == 0 and output.startswith("010-stream"), output
    assert output.count("\n") == 5, output
    assert run_cases([*folder, "no-such-case"])[0] == 2


# ---- running ---------------------------------------------------------------------------------


def main() -> int:
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    selftest = sorted((HERE / "selftest").glob("*.case"))
    print(f"1..{len(tests) + len(selftest)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(tests, start=1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("\n".join(f"#   {line}" for line in traceback.format_exc().splitlines()))
    code, output = run_cases(
        ["--cases", str(HERE / "selftest"), "--tokgrid", "true", *sys.argv[1:]]
    )
    for line in output.splitlines():
        verdict, found, rest = line.partition("ok ")
        number_text, dash, name = rest.partition(" - ")
        if found and dash and number_text.isdigit():
            print(f"{verdict}ok {int(number_text) + len(tests)} - {name}")
        elif not line.startswith("1.."):
            print(line)
    return 1 if failed or code else 0


if __name__ == "__main__":
    sys.exit(main())
