#!/bin/sh
# demo.sh - from a fresh clone to a measured matrix: what is needed to build, then `make demo`.
set -eu

cd "$(dirname "$0")"
tools/install-packages build engine
exec make demo
