"""reaching.py - getting to the engine: keys, a model that is still loading, a unix socket."""

from __future__ import annotations

import signal
import time

from bench import Bench, Failed, expect
from llama import LlamaServer
from program import Finished
from server import free_port

ONE_CELL = (
    "--contexts 0 --concurrency 1 --prefill-mode none --duration 1s --settle 200ms "
    "--max-output 6000"
)
LIMIT_S = 60.0
LOADING_TRIES = 5
KEY, WRONG_KEY = "sk-right-8c1f0a", "sk-wrong-77aa21"


def _expect_measured(finished: Finished) -> None:
    cell = finished.cell(0, 1)
    expect(cell["total_tok_s"] is not None, f"{cell['status']} ({cell['reason']})")


def _check_secret(finished: Finished, secret: str) -> None:
    """In nothing that was printed or written; the raw samples are read as they are and packed."""
    for path in finished.result_path.parent.iterdir():
        expect(secret.encode() not in path.read_bytes(), f"the key stands in {path.name}")


def test_wrong_key(bench: Bench) -> None:
    with bench.server("tiny", ["--api-key", KEY]) as server:
        finished = bench.start(
            server.wait_ready(), f"{ONE_CELL} --api-key {WRONG_KEY}"
        ).finish(LIMIT_S)
    expect(finished.code == 1, f"exit code {finished.code}")
    lines = finished.stderr.strip().splitlines()
    expect(len(lines) == 1 and "key" in lines[0] and "401" in lines[0], f"stderr: {lines}")
    expect(not finished.result_path.exists(), "there is a result")
    _check_secret(finished, WRONG_KEY)


def test_right_key(bench: Bench) -> None:
    with bench.server("tiny", ["--api-key", KEY]) as server:
        finished = bench.run(server.wait_ready(), ONE_CELL, {"TOKGRID_API_KEY": KEY})
    _expect_measured(finished)
    # The pages that need the key were read too.
    expect(finished.result["server"]["max_running"] == 4, f"{finished.result['server']}")
    expect(finished.cell(0, 1)["server_output_tokens"] is not None, "no metrics")
    _check_secret(finished, KEY)


def _hold_while_loading(server: LlamaServer) -> bool:
    """True: the server answers 503 and is stopped. False: it was ready before we looked."""
    while (status := server.status("/health")) != 503:
        server.check_runs()
        if status == 200:
            return False
    server.signal(signal.SIGSTOP)
    return True


def test_loading(bench: Bench) -> None:
    """The engine is held while it loads, until tokgrid has asked; then both go on."""
    for _ in range(LOADING_TRIES):
        with bench.server("large", port=free_port()) as server:
            if not _hold_while_loading(server):
                continue
            program = bench.start(server.url(), ONE_CELL)
            time.sleep(0.3)
            server.signal(signal.SIGCONT)
            finished = program.finish(LIMIT_S)
        if "is loading" in finished.stdout:
            expect(finished.code == 0, f"exit code {finished.code}: {finished.stderr.strip()}")
            bench.check_document(finished.result)
            _expect_measured(finished)
            return
    raise Failed(f"in {LOADING_TRIES} tries tokgrid never met an engine that was loading")


def test_unix_socket(bench: Bench) -> None:
    with bench.server("tiny", unix_socket=bench.folder() / "engine.sock") as server:
        url = server.wait_ready()
        finished = bench.run(url, ONE_CELL)
    expect(url.startswith("unix:/"), url)
    _expect_measured(finished)
    expect(finished.result["server"]["url"] == url, f"{finished.result['server']}")
    expect(finished.result["engine"]["name"] == "llama.cpp", f"{finished.result['engine']}")


TESTS = [
    ("a wrong API key", test_wrong_key),
    ("the right API key, which is kept nowhere", test_right_key),
    ("a model that is still loading", test_loading),
    ("a unix socket", test_unix_socket),
]
