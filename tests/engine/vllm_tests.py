#!/usr/bin/env python3
"""vllm_tests.py - tokgrid against vLLM on this machine's CPU, with a model of random weights.

    python3 tests/engine/vllm_tests.py --tokgrid build/tokgrid --mkmodel build/mkmodel

The engine is what tools/get-vllm has installed or installs; where it cannot, all is skipped. tap.py
has the rest. No part of `make test`, since it takes about ten minutes: `make test-vllm`.
"""

from __future__ import annotations

import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
sys.path.append(str(PROJECT / "tests/e2e"))  # invariants, surroundings

import tap
import vllm_measuring

if __name__ == "__main__":
    sys.exit(tap.run(vllm_measuring.TESTS, "get-vllm", "build/vllm"))
