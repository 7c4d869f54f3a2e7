#!/bin/sh
# test_check_layers.sh CHECK - check-layers accepts what the table allows and names what it does not.
set -eu

check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# expect STATUS WORDS FILE LINE: a tree with this one line.
expect() {
    rm -rf "$tree/src"
    mkdir -p "$tree/$(dirname "$3")"
    printf '%s\n' "$4" >"$tree/$3"
    status=0
    out=$("$check" "$tree" 2>&1) || status=$?
    case "$status $out" in
    "$1 "*"$2"*) ;;
    *)
        echo "$3: $4: expected status $1 and '$2', got status $status and '$out'"
        failed=1
        ;;
    esac
}

expect 0 '' src/report/page.c '#include "model/result.h"'
expect 0 '' src/base/buf.c '#include <stdio.h>'
expect 0 '' src/cmd/main.c 'printf("%d", exit(1));'
expect 0 '' src/net/url.c 'snprintf(out, size, "%d", v);'
expect 0 '' src/base/mem.c 'fprintf(stderr, "out of memory");'
expect 0 '' src/base/buf.h ' * like printf(3)'
expect 1 'base may not use stats' src/base/buf.c '#include "stats/hist.h"'
expect 1 'src/net/sse.h:1: net may not use model' src/net/sse.h '  #  include "model/plan.h"'
expect 1 'load may not use report' src/load/cell.c '#include "report/table.h"'
expect 1 'tui may not use load' src/tui/screen.c '#include "load/run.h"'
expect 1 'stats may not use model' src/stats/hist.c '#include "model/plan.h"'
expect 1 'does not name a layer' src/base/buf.c '#include "buf.h"'
expect 1 'misc is no layer' src/misc/util.c 'int x;'
expect 1 'only cmd prints or exits' src/load/run.c '    exit(1);'
expect 1 'only cmd prints or exits' src/net/loop.c '    fprintf(stderr, "lost");'
exit $failed
