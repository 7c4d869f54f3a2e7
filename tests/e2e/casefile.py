"""casefile.py - reads a .case file: named sections of lines, and the small values in them.

A case is plain text: `[section]` or `[section argument]` alone on a line opens a section that goes
on to the next one. README.md is the manual. This module knows which sections exist and what a
duration or a trigger looks like; what the lines of a section mean is for whoever uses them
(replies.py for [server], runner.py for the rest). Every error names the file and the line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

# Free text: every line counts, comments and blank lines included.
VERBATIM = {"about", "file", "stdin"}
# Once per case.
SINGLE = {"about", "case", "env", "server", "usage"}
# Once per step: `[command]` is step 1, `[command 2]` step 2, and so on.
STEPPED = {"command", "stdin", "signal", "exit", "stdout", "stderr", "result", "samples", "requests"}

HEADER = re.compile(r"^\[([a-z]+)(?: +([^\]]+))?\]\s*$")
DURATION = re.compile(r"^([0-9]+(?:\.[0-9]+)?)(us|ms|s|m)$")
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


class CaseError(Exception):
    """The case file is wrong; the text is fit to print."""


@dataclass(frozen=True)
class Line:
    """One line and where it stands ("012-x.case:14")."""

    where: str
    text: str


@dataclass
class Step:
    """One command and what is expected of it."""

    number: int
    lines: dict[str, list[Line]] = field(default_factory=dict)

    def has(self, section: str) -> bool:
        return section in self.lines

    def get(self, section: str) -> list[Line]:
        return self.lines.get(section, [])


@dataclass
class Case:
    """A whole file."""

    path: Path
    single: dict[str, list[Line]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.stem

    def options(self) -> dict[str, Line]:
        """The `name = value` lines of [case]."""
        found: dict[str, Line] = {}
        for line in self.single.get("case", []):
            name, value = key_value(line)
            found[name] = Line(line.where, value)
        return found


def key_value(line: Line) -> tuple[str, str]:
    """Split `name = value`."""
    name, equals, value = line.text.partition("=")
    if not equals or not name.strip():
        raise CaseError(f"{line.where}: expected `name = value`, found: {line.text}")
    return name.strip(), value.strip()


def duration(text: str, where: str) -> float:
    """Seconds in `20ms`, `1.5s`, `100us`, `2m`."""
    match = DURATION.match(text.strip())
    if not match:
        raise CaseError(f"{where}: expected a time such as 20ms or 1.5s, found: {text}")
    return float(match[1]) * SECONDS[match[2]]


@dataclass(frozen=True)
class Trigger:
    """A moment: `after 2s`, `at request 5`, `at chat 3` or `at open 2`, each with ` + 300ms`.

    `request` counts all requests, `chat` those that generate, `open` the generations that are
    open at the same time (queued ones included). `after` counts from the command's start.
    """

    kind: str
    count: int
    delay_s: float

    def reached(self, requests: int, chats: int, most_open: int) -> bool:
        seen = {"after": 0, "request": requests, "chat": chats, "open": most_open}[self.kind]
        return seen >= self.count


def trigger(text: str, where: str) -> Trigger:
    after = re.fullmatch(r"after (\S+)", text.strip())
    if after:
        return Trigger("after", 0, duration(after[1], where))
    at = re.fullmatch(r"at (request|chat|open) ([0-9]+)(?: *\+ *(\S+))?", text.strip())
    if not at:
        raise CaseError(f"{where}: expected `after TIME` or `at request|chat|open N`: {text}")
    return Trigger(at[1], int(at[2]), duration(at[3], where) if at[3] else 0.0)


class _Reader:
    """The state of reading one file."""

    def __init__(self, path: Path) -> None:
        self.case = Case(path)
        self.steps: dict[int, Step] = {}
        self.lines: list[Line] | None = None
        self.verbatim = False
        self.file_lines: dict[str, list[Line]] = {}

    def open_section(self, name: str, argument: str | None, where: str) -> None:
        self.verbatim = name in VERBATIM
        if name == "file":
            if not argument:
                raise CaseError(f"{where}: [file NAME] needs a name")
            self.lines = self.file_lines.setdefault(argument, [])
        elif name in STEPPED:
            if argument is not None and not argument.isdigit():
                raise CaseError(f"{where}: [{name} N] takes a step's number, found: {argument}")
            number = int(argument or 1)
            step = self.steps.setdefault(number, Step(number))
            if name in step.lines:
                raise CaseError(f"{where}: [{name}] of step {number} stands here twice")
            self.lines = step.lines[name] = []
        else:
            if name in self.case.single:
                raise CaseError(f"{where}: [{name}] stands here twice")
            self.lines = self.case.single[name] = []

    def take(self, line: Line) -> None:
        header = HEADER.match(line.text)
        if header and header[1] in SINGLE | STEPPED | {"file"}:
            self.open_section(header[1], header[2], line.where)
            return
        if header and not self.verbatim:
            raise CaseError(f"{line.where}: unknown section [{header[1]}]")
        blank = not line.text.strip() or line.text.lstrip().startswith("#")
        if self.lines is None:
            if not blank:
                raise CaseError(f"{line.where}: text before the first section")
        elif self.verbatim or not blank:
            self.lines.append(line)

    def expand_usage(self, lines: list[Line]) -> None:
        """[usage]: a step for each `ARGUMENTS => REGEX`; what the case says itself goes last."""
        own = self.steps.pop(1, Step(1))
        if self.steps or own.has("command"):
            raise CaseError(f"{self.case.path.name}: [usage] stands instead of [command]")
        for number, line in enumerate(lines, start=1):
            arguments, arrow, words = line.text.partition(" => ")
            if not arrow:
                raise CaseError(f"{line.where}: expected `ARGUMENTS => REGEX`")
            wanted = {
                "command": [f"tokgrid {arguments.strip()}"],
                "exit": ["2"],
                "stdout": ["empty"],
                "stderr": ["lines 1", f"error {words.strip()}"],
            }
            step = Step(number)
            step.lines = {
                name: [Line(line.where, text) for text in texts] for name, texts in wanted.items()
            }
            self.steps[number] = step
        self.steps[len(lines)].lines |= own.lines

    def finish(self) -> Case:
        case = self.case
        for name, lines in self.file_lines.items():
            while lines and not lines[-1].text:
                lines.pop()
            case.files[name] = "".join(line.text + "\n" for line in lines)
        if "usage" in case.single:
            self.expand_usage(case.single["usage"])
        case.steps = [self.steps[number] for number in sorted(self.steps)]
        for position, step in enumerate(case.steps, start=1):
            if step.number != position or not step.get("command"):
                raise CaseError(f"{case.path.name}: step {step.number} has no [command]")
        if not case.steps:
            raise CaseError(f"{case.path.name}: no [command]")
        if not any(line.text.strip() for line in case.single.get("about", [])):
            raise CaseError(f"{case.path.name}: [about] is missing or empty")
        return case


def read_case(path: Path) -> Case:
    reader = _Reader(path)
    # Not splitlines(): it would split at form feeds and other marks inside a [file].
    for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        reader.take(Line(f"{path.name}:{number}", text))
    return reader.finish()
