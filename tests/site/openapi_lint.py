#!/usr/bin/env python3
"""openapi_lint.py - the API's document is OpenAPI 3.1, says somebody else's validator.

    python3 tests/site/openapi_lint.py --tokgrid build/tokgrid --folder build/openapi

The validator of lint-requirements.txt is installed in a virtual environment in the folder, once.
TAP on standard output. It skips, and says why, when the packages cannot be had.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from served import Failed, Served

REQUIREMENTS = Path(__file__).resolve().parent / "lint-requirements.txt"
INSTALL_S = 240


def install(folder: Path) -> str:
    """The Python that has the validator; an empty one and the reason when there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    python, done = folder / "bin/python", folder / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="ascii")
    if done.exists() and done.read_text(encoding="ascii") == wanted:
        return str(python)
    done.unlink(missing_ok=True)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--only-binary", ":all:",
         "--disable-pip-version-check", "-r", str(REQUIREMENTS)],
    ):
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=INSTALL_S, check=False
            )
        except subprocess.TimeoutExpired:
            print("1..0 # SKIP the packages of lint-requirements.txt do not come")
            return ""
        if ended.returncode != 0:
            lines = (ended.stderr or ended.stdout).strip().splitlines() or ["no reason given"]
            print(f"1..0 # SKIP cannot install lint-requirements.txt: {lines[-1][:200]}")
            return ""
    done.write_text(wanted, encoding="ascii")
    return str(python)


def fetch(tokgrid: str, to: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="tokgrid-openapi-"))
    site = Served(str(Path(tokgrid).resolve()), folder)
    try:
        answer = site.ask("GET", "/api/v1/openapi.json")
        if answer.status != 200:
            raise Failed(f"HTTP {answer.status}")
        to.write_bytes(answer.body)
    finally:
        site.stop()
    shutil.rmtree(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description="is the API's document OpenAPI 3.1?")
    parser.add_argument("--tokgrid", required=True, metavar="PROGRAM")
    parser.add_argument("--folder", required=True, metavar="FOLDER", type=Path)
    options = parser.parse_args()
    python = install(options.folder)
    if not python:
        return 0
    document = options.folder / "openapi.json"
    fetch(options.tokgrid, document)
    ended = subprocess.run(
        [python, "-m", "openapi_spec_validator", "--schema", "3.1", str(document)],
        capture_output=True,
        text=True,
        check=False,
    )
    print("1..1")
    print(f"{'ok' if ended.returncode == 0 else 'not ok'} 1 - OpenAPI 3.1")
    for line in (ended.stdout + ended.stderr).splitlines()[:40]:
        print(f"# {line}")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
