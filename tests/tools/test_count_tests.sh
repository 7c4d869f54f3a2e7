#!/bin/sh
# test_count_tests.sh COUNT - the closing line of test.sh rests on count-tests, so it is tested too.
set -eu

count=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

cat >"$log" <<'LOG'
{"name": "tokgrid:unit / all_good", "stdout": "1..2\nok 1 - a\nok 2 - b\n", "result": "OK", "returncode": 0}
{"name": "tokgrid:e2e / mixed", "stdout": "# note\n1..4\nok 1 - c # 0.2 s\nnot ok 2 - d # 0.1 s\n#   ok then\nok 3 - e # SKIP no IPv6\nok 4\n", "result": "ERROR", "returncode": 1}
{"name": "tokgrid:unit / crashed", "stdout": "1..3\nok 1 - f\n", "result": "ERROR", "returncode": -11}
{"name": "tokgrid:checks / plain", "stdout": "ok, whatever\n", "result": "OK", "returncode": 0}
{"name": "tokgrid:checks / wrong", "stdout": "src/a.c: bad\n", "result": "FAIL", "returncode": 1}
{"name": "tokgrid:engine / engine", "stdout": "trying\nSKIP: no network\n", "result": "SKIP", "returncode": 77}
{"name": "tokgrid:unit / slow", "stdout": "", "result": "TIMEOUT", "returncode": -15}
LOG

expected='failed: mixed: d
skipped: mixed: e SKIP no IPv6
failed: crashed: error, exit status -11
failed: wrong: fail, exit status 1
skipped: engine: SKIP: no network
failed: slow: timeout, exit status -15
6 4 2'
found=$("$count" "$log")
if [ "$found" != "$expected" ]; then
    printf 'expected:\n%s\nfound:\n%s\n' "$expected" "$found"
    exit 1
fi
