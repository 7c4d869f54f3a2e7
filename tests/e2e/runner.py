#!/usr/bin/env python3
"""runner.py - runs end-to-end cases: `runner.py --tokgrid build/tokgrid [PATTERN…]`.

A case is a file: what a server does, what command is run against it, what must come of it; see
README.md. Each runs in a folder of its own with a server of its own. Output is TAP; the exit code
is 1 when a case failed and 2 when the cases could not be run at all.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

sys.dont_write_bytecode = True

import assertions
import invariants
from casefile import Case, CaseError, Line, Step, duration, read_case, trigger
from replies import Plan, read_plan
from surroundings import NEEDS, make_certificates, schema_check
from watched import Command, Finished, Poke, ScriptedServer, ServerLog

HERE = Path(__file__).resolve().parent
LIMIT_S = 30.0
SECRET_PART = 8  # characters of a secret that tell it
SANITIZER = re.compile(
    r"(Address|Leak|Thread|Memory|UndefinedBehavior)Sanitizer|runtime error:|^==[0-9]+== ", re.M
)
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE")
SHOWN_LINES = 12


# ---- what a run of cases shares --------------------------------------------------------------


@dataclass
class Shared:
    """Options and things made once."""

    tokgrid: str
    wrap: list[str]
    slow: float
    keep: bool
    titles: bool
    root: Path
    certificates: Path | None = None
    validate: Callable[[Any], Iterator[str]] | None = None


# ---- one case --------------------------------------------------------------------------------


@dataclass
class Outcome:
    """How a case went."""

    name: str
    title: str = ""
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)
    skip: str | None = None
    folder: Path | None = None


@dataclass
class Loaded:
    """A case whose every line was understood."""

    case: Case
    plan: Plan | None
    limit_s: float
    needs: list[str]
    secrets: list[str]


def load(path: Path) -> Loaded:
    case = read_case(path)
    options = case.options()
    for name, line in options.items():
        if name not in ("limit", "needs", "secret"):
            raise CaseError(f"{line.where}: unknown option of [case]: {name}")
    limit = options.get("limit")
    needs = options["needs"].text.replace(",", " ").split() if "needs" in options else []
    for need in needs:
        if need not in NEEDS:
            raise CaseError(f"{options['needs'].where}: unknown need: {need}")
    plan = read_plan(case.single["server"]) if "server" in case.single else None
    if plan and plan.settings.listen == "ipv6":
        needs.append("ipv6")
    if plan and plan.settings.listen == "tls":
        needs.append("openssl")
    for step in case.steps:
        check_syntax(step)
    if any(step.has("samples") for step in case.steps):
        needs.append("zstd")
    secrets = options["secret"].text.split() if "secret" in options else []
    return Loaded(
        case, plan, duration(limit.text, limit.where) if limit else LIMIT_S, needs, secrets
    )


def check_syntax(step: Step) -> None:
    """Raise CaseError for any line of the step that makes no sense."""
    for line in step.get("signal"):
        read_poke(line)
    read_exit(step)
    for name in ("stdout", "stderr"):
        for line in step.get(name):
            if line.text.strip() != "controls":
                check_text(line, "{}")
    for name in ("result", "samples", "requests"):
        for line in step.get(name):
            if line.text.strip() != "none" and not line.text.startswith("file "):
                check_claim(line, {})


def check_claim(line: Line, document: Any) -> str | None:
    try:
        return assertions.check(line.text, document)
    except (assertions.ClaimError, re.error) as error:
        raise CaseError(f"{line.where}: {error}") from None


def read_poke(line: Line) -> Poke:
    name, _, when = line.text.strip().partition(" ")
    try:
        number = signal.Signals[f"SIG{name}"]
    except KeyError:
        raise CaseError(f"{line.where}: unknown signal {name}") from None
    return Poke(number, trigger(when, line.where))


def read_exit(step: Step) -> int:
    lines = step.get("exit")
    if not lines:
        return 0
    if len(lines) > 1 or not lines[0].text.strip().isdigit():
        raise CaseError(f"{lines[0].where}: [exit] is one number")
    return int(lines[0].text)


class CaseRun:
    """One case being run: a folder, a server, its steps, and what was wrong."""

    def __init__(self, loaded: Loaded, shared: Shared) -> None:
        self.loaded = loaded
        self.case = loaded.case
        self.shared = shared
        self.folder = shared.root / self.case.name
        self.work = self.folder / "work"
        self.problems: list[str] = []
        self.server: ScriptedServer | None = None
        self.given: set[Path] = set()
        self.seen_results: dict[Path, Any] = {}

    def problem(self, where: str, words: str) -> None:
        self.problems.append(f"{where}: {words}")

    # ---- preparing ----------------------------------------------------------------------------

    def prepare(self) -> None:
        self.work.mkdir(parents=True)
        for name, text in self.case.files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            self.given.add(path)
        if self.loaded.plan:
            self.server = ScriptedServer(
                self.case.path, self.folder, self.shared.certificates, self.mark()
            )

    def mark(self) -> str:
        return str(self.folder)

    def placeholders(self) -> dict[str, str]:
        values = {"$DIR": str(self.work), "$TOKGRID": self.shared.tokgrid}
        if self.server:
            values["$URL"] = self.server.url
            values["$PORT"] = self.server.url.rpartition(":")[2]
            values["$SOCKET"] = self.server.url.removeprefix("unix:")
        if self.shared.certificates:
            values["$CA"] = str(self.shared.certificates / "ca.pem")
        if len(self.seen_results) == 1:
            values["$RESULT"] = str(next(iter(self.seen_results)))
        return values

    def fill_in(self, line: Line) -> str:
        values = self.placeholders()

        def value(match: re.Match[str]) -> str:
            if match[0] not in values:
                raise CaseError(f"{line.where}: {match[0]} stands for nothing here")
            return values[match[0]]

        return re.sub(r"\$[A-Z]+\b", value, line.text)

    def environment(self) -> dict[str, str]:
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.work),
            "TMPDIR": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }
        environment |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        for line in self.case.single.get("env", []):
            name, equals, value = self.fill_in(line).strip().partition("=")
            if equals:
                environment[name] = value
            else:
                environment.pop(name.lstrip("-"), None)
        return environment

    # ---- running ------------------------------------------------------------------------------

    def run(self) -> None:
        try:
            self.prepare()
            for step in self.case.steps:
                self.run_step(step)
        except (CaseError, RuntimeError) as error:
            self.problems.append(str(error))
        finally:
            if self.server:
                self.server.stop()
        if self.server:
            self.check_server(self.server)

    def arguments(self, step: Step) -> list[str]:
        words: list[str] = []
        for line in step.get("command"):
            try:
                words += shlex.split(self.fill_in(line))
            except ValueError as error:
                raise CaseError(f"{line.where}: {error}") from None
        if words[0] == "tokgrid":
            words[:1] = [*self.shared.wrap, self.shared.tokgrid]
        return words

    def run_step(self, step: Step) -> None:
        stem = self.folder / f"step{step.number}"
        command = Command(
            arguments=self.arguments(step),
            folder=self.work,
            environment=self.environment(),
            stdin="".join(line.text + "\n" for line in step.get("stdin")).encode(),
            stdout=stem.with_suffix(".stdout"),
            stderr=stem.with_suffix(".stderr"),
            limit_s=self.loaded.limit_s * self.shared.slow,
            mark=self.mark(),
            pokes=[read_poke(line) for line in step.get("signal")],
        )
        try:
            finished = command.run(self.server.log if self.server else None)
        except OSError as error:
            raise RuntimeError(f"cannot run {command.arguments[0]}: {error}") from None
        before = len(self.problems)
        self.check_end(step, finished)
        self.check_stream(step, "stdout", command.stdout)
        self.check_stream(step, "stderr", command.stderr)
        self.check_results(step)
        self.check_samples(step)
        self.check_requests(step)
        self.check_secrets(step)
        if len(self.problems) > before:
            self.problems.append(f"step {step.number} was: {shlex.join(command.arguments)}")
            self.show_tail("stdout", command.stdout)
            self.show_tail("stderr", command.stderr)

    def show_tail(self, name: str, path: Path) -> None:
        lines = path.read_text(errors="backslashreplace").splitlines()
        for line in lines[-SHOWN_LINES:]:
            shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line[:300])
            self.problems.append(f"  {name}| {shown}")

    # ---- checking -----------------------------------------------------------------------------

    def check_end(self, step: Step, finished: Finished) -> None:
        wanted = read_exit(step)
        if finished.code != wanted:
            words = f"expected exit code {wanted}, got {finished.words()}"
            self.problem(f"[exit] of step {step.number}", f"{words} after {finished.seconds:.1f} s")
        if finished.leftovers:
            self.problem("processes", f"left running (killed now): {finished.leftovers}")
        if finished.code is not None and not finished.signalled:
            self.problem("[signal]", "the command ended before its moment came")

    def check_stream(self, step: Step, name: str, path: Path) -> None:
        text = path.read_bytes().decode("utf-8", "backslashreplace")
        allowed = any(line.text.strip() == "controls" for line in step.get(name))
        if not allowed:
            text = text.replace("\r\n", "\n")
        if SANITIZER.search(text):
            self.problem(name, "a sanitizer or valgrind complains")
        for line in step.get(name):
            if line.text.strip() == "controls":
                continue
            words = check_text(Line(line.where, self.fill_in(line)), text)
            if words:
                self.problem(f"[{name}] {line.where}: {line.text.strip()}", words)
        control = None if allowed else re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        if control:
            around = text[max(0, control.start() - 30) : control.start() + 30]
            self.problem(name, f"a raw control character in {around!r}")

    def check_results(self, step: Step) -> None:
        results = self.find_results()
        for path, document in results.items():
            self.check_result_file(path, document)
        self.seen_results = results
        claims = step.get("result")
        if not claims:
            return
        if claims[0].text.strip() == "none":
            if results:
                self.problem("[result]", f"expected none, found {[p.name for p in results]}")
            return
        if claims[0].text.startswith("file "):
            path = self.work / self.fill_in(claims[0])[len("file ") :].strip()
            claims = claims[1:]
        elif len(results) == 1:
            path = next(iter(results))
        else:
            self.problem("[result]", f"expected one result, found {[p.name for p in results]}")
            return
        if path not in results:
            self.problem("[result]", f"there is no result {path.name}")
            return
        self.check_claims("result", claims, results[path])

    def find_results(self) -> dict[Path, Any]:
        """Every result the commands wrote, parsed. Half-written files are problems."""
        results = {}
        for path in sorted(self.work.rglob("*")):
            if path in self.given or not path.is_file():
                continue
            if re.search(r"\.(tmp|part)\b|~$", path.name):
                self.problem("files", f"{path.relative_to(self.work)} was left behind")
            if path.suffix != ".json":
                continue
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                self.problem("files", f"{path.relative_to(self.work)} is no JSON: {error}")
                continue
            if isinstance(document, dict) and str(document.get("schema")).startswith(
                "tokgrid-run/"
            ):
                results[path] = document
        return results

    def check_result_file(self, path: Path, document: dict[str, Any]) -> None:
        for words in invariants.violations(document):
            self.problem(path.name, words)
        if self.shared.validate:
            for words in self.shared.validate(document):
                self.problem(path.name, words)
        samples = document.get("samples") or {}
        if samples.get("file") and samples.get("blake2b"):
            beside = path.parent / samples["file"]
            if not beside.is_file():
                self.problem(path.name, f"samples.file {samples['file']} is not beside it")
            elif (
                hashlib.blake2b(beside.read_bytes(), digest_size=32).hexdigest()
                != samples["blake2b"]
            ):
                self.problem(path.name, f"samples.blake2b is not the digest of {beside.name}")

    def check_claims(self, section: str, claims: list[Line], document: Any) -> None:
        for line in claims:
            found = check_claim(Line(line.where, self.fill_in(line)), document)
            if found:
                self.problem(f"[{section}] {line.where}: {line.text.strip()}", found)

    def check_samples(self, step: Step) -> None:
        """The raw samples beside the one result, as {"samples": [...]}."""
        claims = step.get("samples")
        if not claims:
            return
        if len(self.seen_results) != 1:
            self.problem("[samples]", f"expected one result, found {len(self.seen_results)}")
            return
        path, document = next(iter(self.seen_results.items()))
        lines = unpacked(path.parent / document["samples"]["file"]).splitlines()
        samples = [json.loads(line) for line in lines]
        self.check_claims("samples", claims, {"samples": samples})

    def check_requests(self, step: Step) -> None:
        if not step.has("requests"):
            return
        if not self.server:
            raise CaseError(f"{self.case.path.name}: [requests] without [server]")
        self.check_claims("requests", step.get("requests"), self.server.log.document())

    def check_secrets(self, step: Step) -> None:
        """No secret, nor eight characters of one, in anything the command printed or wrote."""
        paths = [p for p in self.work.rglob("*") if p.is_file() and p not in self.given]
        paths += [self.folder / f"step{step.number}.{name}" for name in ("stdout", "stderr")]
        for path in paths:
            text = read_plain(path)
            for secret in self.loaded.secrets:
                count = max(1, len(secret) - SECRET_PART + 1)
                parts = [secret[at : at + SECRET_PART] for at in range(count)]
                found = next((part for part in parts if part.encode() in text), None)
                if secret.encode() in text:
                    self.problem("secret", f"{secret!r} stands in {path.name}")
                elif found:
                    self.problem("secret", f"{found!r} of {secret!r} stands in {path.name}")

    def check_server(self, server: ScriptedServer) -> None:
        log: ServerLog = server.log
        log.update()
        for why in log.faults:
            self.problem("server.py", f"failed itself: {why.strip().splitlines()[-1]}")
        for why in log.bad:
            self.problem("server.py", f"got no HTTP request: {why}")
        if server.complaints():
            self.problem("server.py", server.complaints().splitlines()[-1])


def unpacked(path: Path) -> bytes:
    command = ["zstd", "--decompress", "--stdout", str(path)]
    return subprocess.run(command, capture_output=True, check=False).stdout


def read_plain(path: Path) -> bytes:
    """A file's bytes; of a compressed one, where zstd is there, what it holds as well."""
    text = path.read_bytes()
    if path.suffix == ".zst" and shutil.which("zstd"):
        text += unpacked(path)
    return text


def check_text(line: Line, text: str) -> str | None:
    """One line of [stdout] or [stderr]; None when it holds."""
    word, _, rest = line.text.strip().partition(" ")
    if word not in TEXT_CHECKS:
        raise CaseError(f"{line.where}: expected one of {', '.join(TEXT_CHECKS)}, found: {word}")
    try:
        return TEXT_CHECKS[word](rest, text)
    except (assertions.ClaimError, re.error) as error:
        raise CaseError(f"{line.where}: {error}") from None


def _check_lines(wanted: str, text: str) -> str | None:
    if not wanted.isdigit():
        raise assertions.ClaimError(f"`lines` takes a number, found: {wanted}")
    count = len(text.splitlines())
    return None if count == int(wanted) else f"found {count} lines"


def _check_error(pattern: str, text: str) -> str | None:
    errors = [line for line in text.splitlines() if line.startswith("tokgrid: ")]
    found = re.compile(pattern)
    if len(errors) != 1:
        return f"expected one line that begins with `tokgrid: `, found {len(errors)}"
    return None if found.search(errors[0]) else f"no match in: {errors[0]}"


def _check_json(claim: str, text: str) -> str | None:
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"is no JSON: {error}"
    return assertions.check(claim, document)


TEXT_CHECKS: dict[str, Callable[[str, str], str | None]] = {
    "empty": lambda _, text: None if not text else f"found {len(text.splitlines())} lines",
    "contains": lambda rest, text: None if rest in text else "not there",
    "lacks": lambda rest, text: None if rest not in text else "it is there",
    "matches": lambda rest, text: None if re.search(rest, text, re.M) else "no match",
    "line": lambda rest, text: None if rest in text.splitlines() else "no such line",
    "lines": _check_lines,
    "error": _check_error,
    "json": _check_json,
}


def title_of(case: Case) -> str:
    """The first sentence of what it is about."""
    text = " ".join(line.text.strip() for line in case.single["about"]).strip()
    return re.split(r"(?<=\.)\s+(?=[A-Z])", text)[0]


def run_case(loaded: Loaded, shared: Shared) -> Outcome:
    outcome = Outcome(loaded.case.name, title_of(loaded.case) if shared.titles else "")
    missing = [need for need in loaded.needs if not NEEDS[need]()]
    if missing:
        outcome.skip = f"needs {', '.join(missing)}"
        return outcome
    start = time.monotonic()
    run = CaseRun(loaded, shared)
    run.run()
    outcome.seconds = time.monotonic() - start
    outcome.problems = run.problems
    outcome.folder = run.folder
    if not run.problems and not shared.keep:
        shutil.rmtree(run.folder)
        outcome.folder = None
    return outcome


# ---- all cases -------------------------------------------------------------------------------


def select_cases(folder: Path, patterns: list[str]) -> list[Path]:
    """All cases, or those whose name contains or matches one of the patterns."""
    paths = sorted(folder.glob("*.case"))
    if not patterns:
        return paths
    chosen = [
        path
        for path in paths
        if any(p in path.stem or fnmatch.fnmatchcase(path.stem, p) for p in patterns)
    ]
    for pattern in patterns:
        if not any(pattern in p.stem or fnmatch.fnmatchcase(p.stem, pattern) for p in paths):
            raise CaseError(f"no case fits {pattern}")
    return chosen


def report(number: int, outcome: Outcome) -> None:
    """One test of the TAP output."""
    verdict = "not ok" if outcome.problems else "ok"
    after = f" # SKIP {outcome.skip}" if outcome.skip else f" # {outcome.seconds:.1f} s"
    title = f": {outcome.title}" if outcome.title else ""
    print(f"{verdict} {number} - {outcome.name}{title}{after}")
    for problem in outcome.problems:
        print("\n".join(f"#   {line}" for line in problem.splitlines()))
    if outcome.folder:
        print(f"#   kept: {outcome.folder}")
    sys.stdout.flush()


def run_all(cases: list[Loaded], shared: Shared, jobs: int) -> int:
    """Run them, report in order; returns how many failed."""
    failed = 0
    print(f"1..{len(cases)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run_case, loaded, shared) for loaded in cases]
        try:
            for number, future in enumerate(futures, start=1):
                outcome = future.result()
                report(number, outcome)
                failed += bool(outcome.problems)
        except KeyboardInterrupt:
            for future in futures:
                future.cancel()
            raise
    return failed


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="runs tokgrid's end-to-end cases; prints TAP")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a name, or a glob")
    parser.add_argument("--tokgrid", default="build/tokgrid", help="the program under test")
    parser.add_argument("--cases", type=Path, default=HERE / "cases", help="folder of .case files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--wrap", default="", help='put in front of tokgrid, e.g. "valgrind -q"')
    parser.add_argument("--slow", type=float, default=1.0, help="multiplies every time limit")
    parser.add_argument("--keep", action="store_true", help="keep the folders of good cases too")
    parser.add_argument("--titles", action="store_true", help="report what each case is about")
    parser.add_argument("--list", action="store_true", help="print names and purposes")
    parser.add_argument(
        "--schema", type=Path, default=HERE.parents[1] / "schema" / "tokgrid-run-1.schema.json"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    try:
        cases = [load(path) for path in select_cases(options.cases, options.patterns)]
    except (CaseError, OSError) as error:
        print(f"runner.py: {error}", file=sys.stderr)
        return 2
    if options.list:
        for loaded in cases:
            print(f"{loaded.case.name:32} {title_of(loaded.case)}")
        return 0
    root = Path(tempfile.mkdtemp(prefix="tokgrid-e2e."))
    tokgrid = shutil.which(options.tokgrid) or options.tokgrid
    shared = Shared(
        tokgrid=str(Path(tokgrid).resolve()),
        wrap=shlex.split(options.wrap),
        slow=options.slow,
        keep=options.keep,
        titles=options.titles,
        root=root,
    )
    shared.validate = schema_check(options.schema)
    if shared.validate is None:
        print("# results are not checked against the schema (python3-jsonschema, or no schema)")
    if any(case.plan and case.plan.settings.listen == "tls" for case in cases):
        if NEEDS["openssl"]():
            shared.certificates = root / "certificates"
            make_certificates(shared.certificates)
    failed = run_all(cases, shared, options.jobs)
    if failed:
        print(f"# {failed} of {len(cases)} cases failed; files: {root}")
    elif not options.keep:
        shutil.rmtree(root)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
