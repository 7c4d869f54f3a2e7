#!/usr/bin/env python3
"""commands.py TOKGRID [DATA] - import and db as their users run them; TAP on standard output.

With TOKGRID_TEST_POSTGRES (unit/store/with-postgres) the second store is a database there.
"""

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

TOKGRID = os.path.abspath(sys.argv[1])
DATA = Path(sys.argv[2]).absolute()
PUBLISHED = [DATA / "published/qwen3.5-27b.json", DATA / "published/qwen3-coder-30b.json"]


def run(*args, code=0, env=None, stdin=None):
    done = subprocess.run([TOKGRID, *map(str, args)], capture_output=True, text=True, input=stdin,
                          timeout=120, env={**os.environ, **(env or {})})
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    return done.stderr if code else done.stdout


def imports_files():
    ids = run("import", *PUBLISHED).split()
    assert len(ids) == 2 and all(len(one) == 36 for one in ids), ids
    assert stat.S_IMODE(os.stat("tokgrid.db").st_mode) == 0o600
    assert "here already, as " + ids[0] in run("import", PUBLISHED[0], code=1)
    other = json.loads(run("import", "--json", "--owner", "ada", PUBLISHED[0]))
    assert other["id"] not in ids
    assert run("db", "check") == "everything agrees\n"


def refuses_what_is_no_result():
    document = json.loads(PUBLISHED[0].read_text())
    document["decode"][0]["total_tok_s"] *= 2
    assert "total_tok_s" in run("import", "-", code=1, stdin=json.dumps(document))
    assert "surprise" in run("import", "-", code=1, stdin=json.dumps({**document, "surprise": 1}))
    assert "valid JSON" in run("import", DATA / "published/qwen3.5-27b.facts.txt", code=1)
    assert "user name" in run("import", "--owner", "a b", PUBLISHED[1], code=1)
    some = [PUBLISHED[0], "missing.json", DATA / "measured/example.json", "."]
    done = subprocess.run([TOKGRID, "import", "--db", "some.db", "--owner", "eve", *map(str, some)],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and len(done.stdout.split()) == 2, done
    assert len(done.stderr.splitlines()) == 2 and "missing.json" in done.stderr, done
    assert "--db" in run("import", "--bd", "x.db", PUBLISHED[1], code=2)
    assert run("db", "check") == "everything agrees\n"


def takes_secrets_out():
    document = json.loads((DATA / "measured/example.json").read_text())
    document["engine"]["launch_command"] = "vllm serve x --api-key sk-very-secret"
    run("import", "--db", "secret.db", "--draft", "-", stdin=json.dumps(document))
    copy = Path("secret.db").read_bytes()
    if Path("secret.db-wal").exists():
        copy += Path("secret.db-wal").read_bytes()
    assert b"very-secret" not in copy and b"--api-key ***" in copy


def environment_says_where():
    run("import", PUBLISHED[0], env={"TOKGRID_DB": "elsewhere.db"})
    assert Path("elsewhere.db").exists()


def backs_up():
    run("db", "backup", "copy.db")
    assert run("db", "check", "--db", "copy.db") == "everything agrees\n"
    assert "File exists" in run("db", "backup", "copy.db", code=1)
    assert "no such database" in run("db", "backup", "b.db", "--db", "none.db", code=1)
    assert not Path("none.db").exists() and not Path("b.db").exists()


def migrates():
    target = os.environ.get("TOKGRID_TEST_POSTGRES", "target.db")
    assert run("db", "migrate", "tokgrid.db", target).endswith(" rows copied\n")
    assert run("db", "check", "--db", target) == "everything agrees\n"
    assert "not empty" in run("db", "migrate", "tokgrid.db", target, code=1)
    run("import", "--db", target, "--owner", "bob", PUBLISHED[1])
    assert run("db", "check", "--db", target) == "everything agrees\n"
    run("db", "migrate", target, "back.db")
    assert run("db", "check", "--db", "back.db") == "everything agrees\n"


def regroups_models():
    before = run("admin", "model", "Qwen3.5-27B")
    assert "is counted with" in before, before
    told = json.loads(run("admin", "model", "--json", "--base", "made/Original-9B",
                          "cyankiwi/Qwen3.5-27B-AWQ-4bit"))
    assert told[0]["base"] == "made/Original-9B" and told[0]["runs"] > 0, told
    assert "no model" in run("admin", "model", "no/such", "--base", "x", code=1)
    assert "usage" in run("admin", "model", code=2)
    assert run("db", "check") == "everything agrees\n"


def finds_damage():
    damaged = bytearray(Path("copy.db").read_bytes())
    middle = len(damaged) // 2
    damaged[middle:middle + 8192] = bytes(8192)
    Path("damaged.db").write_bytes(damaged)
    run("db", "check", "--db", "damaged.db", code=1)


def says_how_it_is_used():
    for args in (("db", "frob"), ("db", "backup"), ("db", "migrate", "a"), ("db", "check", "x")):
        assert "usage: tokgrid db" in run(*args, code=2)
    url = "postgresql://u:secret@127.0.0.1:1/none"
    assert "secret" not in run("db", "check", "--db", url, code=1)


CASES = [imports_files, refuses_what_is_no_result, takes_secrets_out, environment_says_where,
         backs_up, migrates, regroups_models, finds_damage, says_how_it_is_used]


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, case in enumerate(CASES, 1):
            name = case.__name__.replace("_", " ")
            try:
                case()
                print(f"ok {number} - {name}")
            except (AssertionError, subprocess.TimeoutExpired, ValueError) as error:
                failed += 1
                print(f"not ok {number} - {name}")
                print("# " + str(error).replace("\n", "\n# "))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
