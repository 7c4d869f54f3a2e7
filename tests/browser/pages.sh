#!/bin/sh
# pages.sh TOKGRID FOLDER [SCRIPT] - brings together what the tests need in FOLDER, then runs SCRIPT,
# pages.mjs by default.
#
# TAP on standard output. Where node, npm, a browser or npm's registry is missing, it skips and says
# which; nothing but the packages of package-lock.json is fetched, and nothing is installed outside
# FOLDER.
set -eu

tokgrid=$(realpath "$1") folder=$2 script=${3:-pages.mjs}
here=$(cd "$(dirname "$0")" && pwd)

skip() {
    echo "1..0 # SKIP $*"
    exit 0
}

command -v node >/dev/null || skip 'node is not installed'
command -v npm >/dev/null || skip 'npm is not installed'
node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' ||
    skip "node $(node --version) is too old: 20.19 or later is needed"
for name in ${BROWSER:-chromium chromium-browser google-chrome}; do
    browser=$(command -v "$name") && break
done
[ -n "${browser:-}" ] || skip 'Chromium is not installed'

mkdir -p "$folder"
folder=$(cd "$folder" && pwd) # fontconfig wants whole paths
cp "$here"/*.mjs "$here/package.json" "$folder"
if ! cmp -s "$here/package-lock.json" "$folder/node_modules/.complete"; then
    cp "$here/package-lock.json" "$folder"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$folder/npm.log" 2>&1 ||
        skip "npm cannot install the packages: $(grep -m 1 -i error "$folder/npm.log" || true)"
    cp "$folder/package-lock.json" "$folder/node_modules/.complete"
fi

exec node "$folder/$script" "$tokgrid" "$browser" "$(dirname "$here")" "$folder"
