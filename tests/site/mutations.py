"""mutations.py - a valid run spoiled at random, in its bytes and in its structure: stored when it is
still valid, refused with a reason when not, and never anything else.

Each mutant follows from its number alone. `python3 tests/site/mutations.py N` prints the Nth;
TOKGRID_TEST_MUTATIONS is how many are sent."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from typing import Any, Callable

from served import RUNS, Served, Visitor, expect, publish
from uploads import HOSTILE_TEXTS, HOSTILE_VALUES, ROOT, Sender, expect_clear, expect_flat
from uploads import in_turns, small_document, stored

sys.path.append(str(ROOT / "tests/e2e"))
from surroundings import schema_check  # noqa: E402

MUTANTS = int(os.environ.get("TOKGRID_TEST_MUTATIONS", "10000"))
WARM = 0.3  # of them; what is allocated later must stay
IMPORTED_AT_ONCE = 500
GROWTH_MIB = 16

ID = "0193a1b2-0000-7000-8000-{:012d}"
BASE = json.dumps(small_document())
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0000", b"\\ud800", b"null", b"true",
          b"-", b"0", b"1e999", b"9" * 40, b"\xff", b"\xc3", b"\x00", b"\n", b" ", b'"a":1,',
          b"/*", b"NaN"]


# ---- in the bytes -------------------------------------------------------------------------------


def mutate_bytes(chance: random.Random, body: bytearray) -> None:
    at = chance.randrange(len(body))
    size = min(chance.choice((1, 1, 2, 4, 16, 200)), len(body) - at)
    piece = bytes(body[at : at + size])
    match chance.randrange(7):
        case 0:
            body[at] ^= 1 << chance.randrange(8)
        case 1:
            body[at] = chance.randrange(256)
        case 2:
            del body[at : at + size]
        case 3:
            body[at:at] = piece
        case 4:
            to = chance.randrange(len(body))
            body[to:to] = piece
        case 5:
            body[at : at + chance.randrange(2)] = chance.choice(TOKENS)
        case 6:
            digits = [i for i in range(at, min(at + 60, len(body))) if body[i : i + 1].isdigit()]
            for i in digits[:3]:
                body[i] = ord(chance.choice("0123456789.-eE"))


# ---- in the structure ---------------------------------------------------------------------------


def containers(value: Any) -> list[Any]:
    """Every object and array in it that has something in it, itself first."""
    found = []
    left = [value]
    while left:
        one = left.pop()
        inside = one.values() if isinstance(one, dict) else one if isinstance(one, list) else []
        if inside:
            found.append(one)
        left.extend(inside)
    return found


def mutate_structure(chance: random.Random, document: dict[str, Any]) -> None:
    inside = chance.choice(containers(document))
    name = chance.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
    value = inside[name]
    other = chance.choice(containers(document))
    match chance.randrange(9):
        case 0:
            del inside[name]
        case 1:
            inside[name] = chance.choice(HOSTILE_VALUES)
        case 2:
            inside[name] = chance.choice(HOSTILE_TEXTS)
        case 3 if isinstance(value, (int, float)):
            inside[name] = value * chance.choice((-1, 0, 0.5, 1.0001, 2, 10, 1e9))
        case 4 if isinstance(value, str):
            inside[name] = value[: chance.randrange(len(value) + 1)] + chance.choice(HOSTILE_TEXTS)
        case 5 if isinstance(inside, dict):
            inside[chance.choice((name.upper(), name + "s", "", "id"))] = inside.pop(name)
        case 6 if isinstance(inside, list):
            inside.extend(json.loads(json.dumps(inside)) * chance.randrange(1, 4))
        case 7:
            inside[name] = chance.choice(([value], {"value": value}, str(value)))
        case _:
            inside[name] = json.loads(json.dumps(chance.choice(list(other.values())
                                      if isinstance(other, dict) else other)))


def mutant(number: int) -> bytes:
    chance = random.Random(number)
    text = BASE.replace(json.loads(BASE)["id"], ID.format(number))
    if number % 2:
        document = json.loads(text)
        for _ in range(chance.choice((1, 1, 1, 2, 5))):
            if containers(document):
                mutate_structure(chance, document)
        return json.dumps(document).encode()
    body = bytearray(text.encode())
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if body:
            mutate_bytes(chance, body)
    return bytes(body)


# ---- the test -----------------------------------------------------------------------------------


def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    expect(len({name for name, _ in pairs}) == len(pairs), "a key stands twice in what was accepted")
    return dict(pairs)


def expect_valid(site: Served, accepted: dict[int, bytes]) -> None:
    """By the schema, as another program reads it, and by `tokgrid import`."""
    faults_of = schema_check(ROOT / "schema/tokgrid-run-1.schema.json")
    for number, body in accepted.items():
        document = json.loads(body, object_pairs_hook=without_twins)
        for fault in faults_of(document) if faults_of else ():
            expect(False, f"mutant {number} was accepted: {fault}")
        (site.folder / f"{number}.json").write_bytes(body)
    names = [f"{number}.json" for number in accepted]
    for at in range(0, len(names), IMPORTED_AT_ONCE):
        done = subprocess.run(
            [site.tokgrid, "import", "--db", "copy.db", "--owner", "alice", *names[at:][:IMPORTED_AT_ONCE]],
            cwd=site.folder, capture_output=True, text=True, timeout=120 * site.slow,
        )
        expect(done.returncode == 0, f"accepted, but not valid: {done.stderr}")


def mutations(site: Served) -> None:
    accepted: dict[int, bytes] = {}
    warm: list[int] = []
    count = int(MUTANTS / site.slow)
    lock = threading.Lock()
    done = 0

    def send(sender: Sender, number: int) -> None:
        nonlocal done
        body = mutant(number)
        if expect_clear(sender.publish(body), f"mutant {number}"):
            accepted[number] = body
        with lock:
            done += 1
            if done == int(count * WARM):
                warm.append(site.memory_kib())

    in_turns(site, list(range(count)), send)
    expect_flat(site, warm[0], GROWTH_MIB)
    expect(count / 50 < len(accepted) < count / 2, f"{len(accepted)} of {count} were accepted")
    expect(stored(site) == len(accepted), f"{len(accepted)} accepted, {stored(site)} stored")
    expect_valid(site, accepted)
    visitor = Visitor(site)
    visitor.sign_up("alice")
    answer = publish(site, visitor.make_key(), RUNS[0].read_bytes())
    expect(answer.status == 201, f"it takes nothing any more: HTTP {answer.status}")


TESTS: list[tuple[str, Callable[[Served], None]]] = [
    ("uploads: mutations of a valid run", mutations),
]

if __name__ == "__main__":
    sys.stdout.buffer.write(mutant(int(sys.argv[1])))
