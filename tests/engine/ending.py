"""ending.py - runs that end before their time: the engine dies, or the user has seen enough."""

from __future__ import annotations

import json
import signal
import subprocess
import time

from bench import Bench, expect
from llama import LlamaServer
from program import Finished, Program

END_LIMIT_S = 60.0
THREE_CELLS = (
    "--contexts 0 --concurrency 1,2,4 --prefill-mode none --duration 3s --settle 200ms "
    "--max-output 6000"
)


def _begin(bench: Bench, server: LlamaServer) -> Program:
    """A run of three cells, in the window of the second, or close to it."""
    program = bench.start(server.wait_ready(), THREE_CELLS)
    program.wait_line("[ 1/3]", END_LIMIT_S)

    def two_at_once() -> bool:
        return server.metrics()["requests_processing"] == 2

    program.wait_until("two requests at once", two_at_once, END_LIMIT_S)
    on_disk = json.loads(program.result_path.read_text(encoding="utf-8"))
    expect([cell["status"] for cell in on_disk["decode"]][:1] == ["valid"], "no cell on disk yet")
    time.sleep(1)
    return program


def _check(bench: Bench, finished: Finished, ended_by: str) -> None:
    """One good cell, one that was broken off, one that never ran; and all of it can be read."""
    bench.check_document(finished.result)
    run = finished.result["run"]
    expect(run["ended_by"] == ended_by, f"ended_by {run['ended_by']}")
    expect(run["complete"] is False, "the run calls itself complete")
    cells = [finished.cell(0, level) for level in (1, 2, 4)]
    statuses = [cell["status"] for cell in cells]
    expect(statuses == ["valid", "error", "skipped"], f"statuses {statuses}")
    bench.note(f"the broken cell: {cells[1]['reason']}")
    expect(all(cell["reason"] for cell in cells[1:]), "a cell without a reason")
    expect(cells[1]["total_tok_s"] is None, "the broken cell has a rate")
    shown = subprocess.run(
        [bench.tokgrid, "show", str(finished.result_path)], capture_output=True, text=True
    )
    expect(shown.returncode == 0, f"show: {shown.stderr}")
    rate = f"{cells[0]['total_tok_s']:,.1f}"
    expect(rate in shown.stdout, f"show does not show {rate}")


def test_engine_dies(bench: Bench) -> None:
    with bench.server("middle") as server:
        program = _begin(bench, server)
        server.signal(signal.SIGKILL)
        finished = program.finish(END_LIMIT_S)
    expect(finished.code == 1, f"exit code {finished.code}")
    lines = finished.stderr.strip().splitlines()
    expect(len(lines) == 1 and "gone" in lines[0], f"stderr: {lines}")
    _check(bench, finished, "server_gone")


def test_interrupt(bench: Bench) -> None:
    with bench.server("middle") as server:
        program = _begin(bench, server)
        program.signal(signal.SIGINT)
        finished = program.finish(END_LIMIT_S)
        expect(finished.code == 130, f"exit code {finished.code}: {finished.stderr.strip()}")
        _check(bench, finished, "interrupted")
        server.generated_when_idle()  # nothing goes on being generated


TESTS = [
    ("the engine is killed in the second cell", test_engine_dies),
    ("Ctrl-C in the second cell", test_interrupt),
]
