#!/bin/sh
# mkmodel_test.sh MKMODEL - TAP test of tools/mkmodel: same seed same bytes, a sound header, sizes
# within bounds, and usage errors that exit 2 with one line. Needs no engine.
set -u

mkmodel=${1:?usage: mkmodel_test.sh MKMODEL}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0

# check NAME STATUS: one TAP line.
check() {
    count=$((count + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
    fi
}

make_model() {
    "$mkmodel" "$@" >/dev/null 2>"$dir/err"
}

# size_within FILE MIN MAX
size_within() {
    bytes=$(wc -c <"$1") && [ "$bytes" -ge "$2" ] && [ "$bytes" -le "$3" ]
}

# u32_at FILE OFFSET: the little-endian number there.
u32_at() {
    od -An -tu1 -j "$2" -N 4 "$1" | awk '{ print $1 + 256 * ($2 + 256 * ($3 + 256 * $4)) }'
}

# refused NAME ARGUMENTS...: exit 2, one line on stderr, no file.
refused() {
    name=$1
    shift
    rm -f "$dir/bad"
    "$mkmodel" -o "$dir/bad" "$@" >"$dir/out" 2>"$dir/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ] && [ ! -e "$dir/bad" ]
    check "refuses $name" $?
}

echo 1..23

make_model --size tiny --seed 7 -o "$dir/a" && make_model --size tiny --seed 7 -o "$dir/b"
check 'writes the tiny model' $?
cmp -s "$dir/a" "$dir/b"
check 'same seed, same bytes' $?
make_model --size tiny --seed 8 -o "$dir/c" && ! cmp -s "$dir/a" "$dir/c"
check 'other seed, other bytes' $?
[ "$(head -c 4 "$dir/a")" = GGUF ]
check 'magic' $?
[ "$(u32_at "$dir/a" 4)" -eq 3 ]
check 'format version 3' $?
[ "$(u32_at "$dir/a" 8)" -eq 21 ]
check 'three tensors and nine for each of two layers' $?
grep -aq 'tokgrid random-weights tiny' "$dir/a"
check 'the name says random-weights' $?
size_within "$dir/a" 1000000 5000000
check 'tiny is a few megabytes' $?
[ ! -e "$dir/a.part" ]
check 'leaves no partial file' $?

make_model --size tiny --type f16 -o "$dir/f16" && size_within "$dir/f16" 500000 2500000
check 'f16' $?
make_model --size tiny --type q8_0 -o "$dir/q8" && size_within "$dir/q8" 250000 1500000
check 'q8_0' $?
make_model --size tiny --layers 4 -o "$dir/deep" && [ "$(u32_at "$dir/deep" 8)" -eq 39 ]
check '--layers overrides the size' $?
make_model --size demo -o "$dir/demo" && size_within "$dir/demo" 80000000 130000000
check 'demo is about 100 MB' $?
"$mkmodel" --help | grep -q '^usage: mkmodel'
check '--help' $?

refused 'an unknown option' --frobnicate
refused 'an unknown size' --size huge
refused 'an unknown type' --type q3_k
refused 'a missing value' --seed
refused 'a seed that is not a number' --seed 12x
refused 'a number out of range' --layers 0
refused 'heads that do not divide' --heads 4 --kv-heads 3
refused 'a stray argument' stray

"$mkmodel" --size tiny -o "$dir/no/such/folder" >/dev/null 2>"$dir/err"
[ $? -eq 1 ] && [ "$(wc -l <"$dir/err")" -eq 1 ]
check 'an unwritable file exits 1 with one line' $?
