#!/bin/sh
# test.sh - all that CI runs, and the one command to trust: installs what is needed, then each step
# below. Ends with `N passed, N failed, N skipped`; exits with 1 when anything failed.
#
# The main part is `make test`; the other steps are verbs of the Makefile too.
set -u

cd "$(dirname "$0")" || exit 1
passed=0
failed=0
skipped=0
notes=$(mktemp)
stage=$(mktemp -d)
analysis= # the process that does it
trap '[ -z "$analysis" ] || kill "$analysis" 2>/dev/null; rm -rf "$notes" "$stage"' EXIT
trap 'exit 130' INT TERM

began=$(date +%s)

# fail NAME: a step that is not made of tests, or could not even start.
fail() {
    failed=$((failed + 1))
    echo "failed: $1" >>"$notes"
}

heading() {
    printf '\n==> %s (%s s)\n' "$1" $(($(date +%s) - began))
}

# tests NAME BUILD COMMAND...: runs meson tests, and adds up what they were.
tests() {
    name=$1 log=$2/meson-logs/testlog.json
    shift 2
    heading "$name"
    rm -f "$log"
    status=0
    "$@" || status=$?
    if [ ! -s "$log" ]; then
        fail "$name: could not be built or started (exit status $status)"
        return
    fi
    counts=$(tools/count-tests "$log") || {
        fail "$name: $log cannot be read"
        return
    }
    printf '%s\n' "$counts" | sed -e '$d' -e "s|^\([a-z]*\): |\1: $name: |" >>"$notes"
    # shellcheck disable=SC2046 # three numbers
    set -- $(printf '%s\n' "$counts" | tail -n 1)
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$status" -ne 0 ] && [ "$2" -eq 0 ]; then
        fail "$name: exit status $status although no test failed"
    fi
}

# step NAME COMMAND...: one test made of one command.
step() {
    name=$1
    shift
    heading "$name"
    if "$@"; then
        passed=$((passed + 1))
    else
        fail "$name"
    fi
}

# The installed program answers, and its man pages are clean.
installed() {
    DESTDIR=$stage meson install -C build-ci --no-rebuild --quiet || return 1
    program=$(find "$stage" -name tokgrid -type f -perm -u+x)
    "$program" --version || return 1
    pages=$(find "$stage" -name 'tokgrid*.1' | sort)
    [ -n "$pages" ] || return 1
    for page in $pages; do
        warnings=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || {
            echo "$page: $warnings"
            return 1
        }
    done
    echo "$pages" | sed "s|$stage||"
}

# Static analysis takes minutes of a CPU and the tests mostly wait: it runs beside them in what time
# they leave over.
analyse_beside() {
    idle='chrt --idle 0'
    $idle true 2>/dev/null || idle='nice -n 19'
    $idle tools/check-tidy build-ci >"$stage/tidy" 2>&1 &
    analysis=$!
}

analysed() {
    status=0
    wait "$analysis" || status=$?
    analysis=
    cat "$stage/tidy"
    return $status
}

heading packages
tools/install-packages build engine test check || fail packages

heading 'build'
if make all BUILD=build-ci PRESET=ci; then
    analyse_beside
fi
tests 'gcc, warnings are errors' build-ci make test BUILD=build-ci PRESET=ci
step 'round trip of the published matrices' make roundtrip BUILD=build-ci PRESET=ci
tests 'checks' build-ci tools/run-tests build-ci '' checks
if [ -n "$analysis" ]; then
    step 'static analysis' analysed
fi
tests 'address and undefined-behaviour sanitizers' build-asan make asan
tests 'thread sanitizer' build-tsan make tsan
if make all BUILD=build-fuzz PRESET=fuzz; then
    for target in tests/fuzz/fuzz_*.c; do
        [ -f "$target" ] || continue
        target=$(basename "$target" .c)
        step "$target" tools/fuzz build-fuzz "${target#fuzz_}" 5
    done
else
    fail 'fuzz targets: could not be built'
fi
step 'installation' installed

heading 'in short'
grep '^skipped' "$notes"
grep '^failed' "$notes"
printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
