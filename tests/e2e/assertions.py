"""assertions.py - one line, one claim about a JSON document.

    decode[context=0,concurrency=2].status == "queued"
    decode[concurrency=8].avg_active ~ 4 +- 10%
    prefill[*].marks has "cache_hit"
    some requests[path=/v1/models].headers.authorization == "Bearer k"
    count requests[status=400] == 0

A claim holds when it does for every value its path finds, and the path finds one at least.
README.md has the whole list. Failures come back as text that shows what was found.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Callable

QUANTIFIERS = ("every", "some", "count", "max", "min", "sum", "distinct")


class ClaimError(Exception):
    """The line is no claim."""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True)
class Selector:
    """What stands in brackets: an index, * or conditions on fields."""

    index: int | None = None
    where: tuple[tuple[str, str], ...] = ()

    def pick(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            return []
        if self.index is not None:
            inside = -len(value) <= self.index < len(value)
            return [value[self.index]] if inside else []
        return [item for item in value if all(_field_is(item, *pair) for pair in self.where)]


def _field_is(item: Any, name: str, wanted: str) -> bool:
    """`context` is short for `context_tokens`; a dotted name goes down."""
    for part in name.split("."):
        if not isinstance(item, dict):
            return False
        item = item.get(part, item.get(f"{part}_tokens"))
    if isinstance(item, str):
        return item == wanted
    return json.dumps(item) == wanted


Path = tuple["str | Selector", ...]


def parse_path(text: str) -> Path:
    steps: list[str | Selector] = []
    for match in re.finditer(r"\.?([A-Za-z0-9_-]+)|\[([^\]]*)\]|(.)", text):
        name, inside, wrong = match.groups()
        if wrong:
            raise ClaimError(f"bad path: {text}")
        steps.append(name if name else _selector(inside, text))
    return tuple(steps)


def _selector(inside: str, path: str) -> Selector:
    if inside == "*":
        return Selector()
    if re.fullmatch(r"-?[0-9]+", inside):
        return Selector(index=int(inside))
    pairs = []
    for part in inside.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ClaimError(f"bad path: {path}")
        pairs.append((name.strip(), value.strip()))
    return Selector(where=tuple(pairs))


def find(document: Any, path: Path) -> list[Any]:
    """Every value the path leads to; MISSING for a field that is not there."""
    values = [document]
    for step in path:
        found: list[Any] = []
        for value in values:
            if isinstance(step, Selector):
                found += step.pick(value)
            else:
                found.append(value.get(step, MISSING) if isinstance(value, dict) else MISSING)
        values = found
    return values


# ---- comparing -------------------------------------------------------------------------------

Test = Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(operator: str, right: Any) -> Test:
    if not _number(right):
        raise ClaimError(f"{operator} needs a number, found: {right}")
    tests: dict[str, Test] = {
        "<": lambda left: bool(left < right),
        "<=": lambda left: bool(left <= right),
        ">": lambda left: bool(left > right),
        ">=": lambda left: bool(left >= right),
    }
    test = tests[operator]
    return lambda left: _number(left) and test(left)


def _near(text: str) -> Test:
    match = re.fullmatch(r"(-?[0-9.]+) *\+- *([0-9.]+)(%?)", text)
    if not match:
        raise ClaimError(f"expected `~ NUMBER +- NUMBER` or `+- N%`, found: ~ {text}")
    middle, width = float(match[1]), float(match[2])
    if match[3]:
        width *= abs(middle) / 100
    return lambda left: _number(left) and abs(left - middle) <= width


def _has(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return right in left if isinstance(left, (list, dict)) else False


KINDS: dict[str, Test] = {
    "null": lambda value: value is None,
    "number": _number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "true": lambda value: value is True,
    "false": lambda value: value is False,
}


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ClaimError(f"expected a JSON value, found: {text}") from None


def _test(operator: str, text: str) -> Test:
    if operator in ("exists", "absent"):
        wanted = operator == "exists"
        return lambda left: (left is not MISSING) == wanted
    if operator in ("is", "isnt"):
        if text not in KINDS:
            raise ClaimError(f"`{operator}` takes one of {', '.join(KINDS)}, found: {text}")
        kind = KINDS[text]
        return lambda left: left is not MISSING and kind(left) == (operator == "is")
    if operator == "~":
        return _near(text)
    if operator == "matches":
        pattern = re.compile(text)
        return lambda left: isinstance(left, str) and bool(pattern.search(left))
    right = _literal(text)
    if operator == "==":
        return lambda left: (
            bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
        )
    if operator == "!=":
        return lambda left: left is not MISSING and bool(left != right)
    if operator == "has":
        return lambda left: _has(left, right)
    if operator == "lacks":
        return lambda left: left is not MISSING and not _has(left, right)
    return _ordered(operator, right)


OPERATORS = r"==|!=|<=|>=|<|>|~|exists|absent|isnt|is|has|lacks|matches"
CLAIM = re.compile(
    rf"^(?:({'|'.join(QUANTIFIERS)}) +)?((?:[^\s\[]|\[[^\]]*\])+) +({OPERATORS})(?: +(.+))?$"
)


def check(claim: str, document: Any) -> str | None:
    """None when the claim holds, else what was found. ClaimError when it is no claim."""
    match = CLAIM.match(claim.strip())
    if not match:
        raise ClaimError(f"expected `PATH OPERATOR VALUE`, found: {claim}")
    quantifier = match[1] or "every"
    test = _test(match[3], (match[4] or "").strip())
    values = find(document, parse_path(match[2]))
    if quantifier not in ("every", "some"):
        return _aggregate(quantifier, values, test)
    if match[3] == "absent" and not values:
        return None
    passed = [test(value) for value in values]
    if values and (all(passed) if quantifier == "every" else any(passed)):
        return None
    if not values:
        return f"the path finds nothing (nearest: {nearest(document, match[2])})"
    wrong = [_short(value) for value, ok in zip(values, passed) if not ok]
    return f"found {', '.join(wrong[:5])}" + (
        f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    )


AGGREGATES: dict[str, Callable[[list[float]], float]] = {"max": max, "min": min, "sum": sum}


def _aggregate(quantifier: str, values: list[Any], test: Test) -> str | None:
    present = [value for value in values if value is not MISSING]
    if quantifier == "count":
        result: Any = len(present)
    elif quantifier == "distinct":
        result = len({json.dumps(value, sort_keys=True) for value in present})
    else:
        numbers = [value for value in present if _number(value)]
        if not numbers:
            return "no numbers there"
        result = AGGREGATES[quantifier](numbers)
    return None if test(result) else f"{quantifier} is {result}"


def _short(value: Any) -> str:
    text = repr(value) if value is MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "…"


def nearest(document: Any, path: str) -> str:
    """The longest beginning of the path that finds something, with what is there."""
    steps = parse_path(path)
    for length in range(len(steps) - 1, -1, -1):
        values = [value for value in find(document, steps[:length]) if value is not MISSING]
        if values:
            return _short(values[0])
    return "nothing"
