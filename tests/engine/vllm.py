"""vllm.py - vLLM on this machine's CPU: small, single-threaded, and without compiling anything.

Four requests run at once and the rest queue; the KV cache holds two requests of full length.
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from server import EngineServer, ServerError, free_port

RUNNING = 4
CONTEXT = 8192
BLOCK = 128
BLOCKS = 2 * CONTEXT // BLOCK
NICE = 10


def _environment(python: Path, folder: Path) -> dict[str, str]:
    """One thread, wherever the system puts it; nothing is looked up, reported or kept elsewhere."""
    openmp = python.parents[1] / "lib/libiomp5.so"  # the wheel wants Intel's
    return {
        **os.environ,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LD_PRELOAD": str(openmp),
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
    }


class VllmServer(EngineServer):
    """One OpenAI-compatible server of vLLM. Importing it takes most of a minute."""

    name = "vllm"
    start_s = 600.0
    ends_by = signal.SIGTERM  # so that it ends its own children
    prefix = "vllm:"
    running = "num_requests_running"
    waiting = "num_requests_waiting"
    generated = "generation_tokens_total"

    def __init__(
        self, python: str, model: Path, folder: Path, options: list[str] | None = None
    ) -> None:
        self.port = free_port()
        command = ["nice", "-n", str(NICE), python, "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(model), "--served-model-name", "random-weights"]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--dtype", "float32"]
        command += ["--max-model-len", str(CONTEXT), "--max-num-seqs", str(RUNNING)]
        command += ["--block-size", str(BLOCK), "--num-gpu-blocks-override", str(BLOCKS)]
        command += ["--enforce-eager", *(options or [])]
        super().__init__(command, folder, _environment(Path(python), folder))

    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cache_config(self) -> dict[str, str]:
        """The labels in which it tells how its KV cache is made."""
        line = re.search(r"^vllm:cache_config_info\{(.*)\} 1.0$", self.metrics_text(), re.MULTILINE)
        if not line:
            raise ServerError("no vllm:cache_config_info")
        return dict(re.findall(r'(\w+)="([^"]*)"', line[1]))

    def answered(self, request: str) -> int:
        """How often its log says that it answered this request ("POST /tokenize") well."""
        return self.log.read_text(errors="replace").count(f'"{request} HTTP/1.1" 200')

    def kill_engine(self) -> None:
        """Kills the process that runs the model; the one that speaks HTTP is told by its end."""
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"EngineCore" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(int(child), signal.SIGKILL)
                return
        raise ServerError("no child of the server is the engine")
