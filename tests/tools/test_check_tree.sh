#!/bin/sh
# test_check_tree.sh CHECK - check-tree names what no file may hold, and lets the rest pass.
set -eu

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools"
cp "$1" "$tree/tools/check-tree"
home=/ho; home=${home}me # spelled so that this file holds none itself
todo=TO; todo=${todo}DO
failed=0

# expect STATUS WORDS FILE LINE: a tree with this one line.
expect() {
    rm -rf "$tree/src" "$tree/tests"
    mkdir -p "$tree/$(dirname "$3")"
    printf '%b\n' "$4" >"$tree/$3"
    status=0
    out=$("$tree/tools/check-tree" 2>&1) || status=$?
    case "$status $out" in
    "$1 "*"$2"*) ;;
    *)
        echo "$3: $4: expected status $1 and '$2', got status $status and '$out'"
        failed=1
        ;;
    esac
}

expect 0 '' src/a.c 'int x;'
expect 0 '' tests/data/a.txt '\tdata may hold anything'
expect 0 '' src/a.c "/var$home/ada"
expect 1 'path of a machine: src/a.c:1' src/a.c "\"$home/ada/run\""
expect 1 'path of a machine' tests/data/a.txt "$home/ada"
expect 1 'tab: ' src/a.c '\tint x;'
expect 1 'trailing space: ' src/a.c 'int x; '
expect 1 'unfinished: ' src/a.c "/* $todo */"
expect 1 'space in a file name: ' 'src/a b.c' 'int x;'
exit $failed
