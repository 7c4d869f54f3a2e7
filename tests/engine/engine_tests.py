#!/usr/bin/env python3
"""engine_tests.py - tokgrid against a real engine: llama-server with a model of random weights.

    python3 tests/engine/engine_tests.py --tokgrid build/tokgrid --mkmodel build/mkmodel

The engine is what tools/get-engine finds or fetches; where it cannot, all is skipped. tap.py has
the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "tests/e2e"))  # invariants, surroundings

import ending
import limits
import measuring
import reaching
import tap

TESTS: tap.Tests = [
    *measuring.TESTS,
    *ending.TESTS,
    *limits.TESTS,
    *reaching.TESTS,
]

if __name__ == "__main__":
    sys.exit(tap.run(TESTS, "get-engine", "build/engine"))
