"""surroundings.py - what cases need of the machine: certificates, a schema check, features."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any, Callable, Iterator


def make_certificates(folder: Path) -> None:
    """A CA and a server certificate for this machine's loopback names, by the openssl command."""
    folder.mkdir()
    names = "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost\n"
    (folder / "names").write_text(names)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    days = ["-days", "2"]
    for command in (
        ["req", "-x509", *key, *days, "-subj", "/CN=tokgrid test CA"]
        + ["-keyout", "ca.key", "-out", "ca.pem"],
        ["req", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
        ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", *days]
        + ["-CAcreateserial", "-extfile", "names", "-out", "server.pem"],
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)


def schema_check(path: Path) -> Callable[[Any], Iterator[str]] | None:
    """Validation by the JSON Schema, where python3-jsonschema and the schema exist."""
    try:
        import jsonschema  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return None
    if not path.exists():
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)

    def validate(document: Any) -> Iterator[str]:
        for error in validator.iter_errors(document):
            place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.path)
            yield f"schema: {place.lstrip('.') or 'the document'}: {error.message[:200]}"

    return validate


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


NEEDS: dict[str, Callable[[], bool]] = {
    "ipv6": has_ipv6,
    "openssl": lambda: shutil.which("openssl") is not None,
    "zstd": lambda: shutil.which("zstd") is not None,
    "curl": lambda: shutil.which("curl") is not None,
}
