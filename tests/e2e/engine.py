"""engine.py - a pretend inference engine: slots, a queue, a clock, a prefix cache, counters.

It computes nothing. A generation waits for a slot, takes the time its prompt would need, then
yields one piece of text after the other at the set pace. Everything is decided by the settings and
by what was asked, so that a case can say in advance what a client must find. Token counts of
prompts are a function of their text alone.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any, AsyncGenerator

from replies import Settings

BLOCK = 16  # tokens of a block of the prefix cache
REMEMBERED = 64  # prompts the prefix cache knows
STRETCHED = 1000  # tokens from which on `stretch` counts
EASY = "count from"  # what a prompt says, in any case, whose answer is easy to guess
NO_LIMIT = 100000  # tokens of output when nobody sets a limit

WORDS = (
    "the harbour wakes before the town and counts its boats while rain walks over slate roofs "
    "a baker lights the oven two gulls argue about a crust and the ferry bell answers someone "
    "writes a letter nobody asked for under a lamp that hums in b flat until morning comes with "
    "nets coffee chalk ropes engines laughter and a list of small repairs to be done by noon"
).split()
UNICODE = ["Schönheit ", "naïve ", "東京 ", "🦊", "é", "Ω ", "क्षत्रिय ", "👩‍🚀 ", "ﷺ ", "\u00a0"]
CONTROL = [
    "\x1b[2J",
    "\x07",
    "\x1b]0;owned\x07",
    "\r",
    "\x9b31m",
    "\x00",
    "plain ",
    "\x7f",
    "\u202e",
]


@dataclass
class Piece:
    """The text of one event."""

    text: str
    tokens: int
    thinking: bool


@dataclass(eq=False)
class Generation:
    """One request inside the engine."""

    number: int
    id: str
    prompt: str
    prompt_tokens: int
    max_tokens: int
    ignore_eos: bool
    min_tokens: int = 0
    cached: int = 0
    tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    finish: str = ""
    gone: asyncio.Event = field(default_factory=asyncio.Event)


def output_limit(body: dict[str, Any]) -> int | None:
    """The tokens a request asks for, under either name."""
    asked = body.get("max_completion_tokens", body.get("max_tokens"))
    return asked if isinstance(asked, int) else None


class Engine:
    """Slots and counters. All of it belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.running: list[Generation] = []
        self.waiting: deque[tuple[Generation, asyncio.Future[None]]] = deque()
        self.open: set[Generation] = set()  # admitted and not released: running, waiting, broken
        self.started = 0
        self.most_open = 0
        self.has_failed = False  # the one failure of a `fail` that happens once
        self.prompts: deque[str] = deque(maxlen=REMEMBERED)
        # Totals per label set, as a server with several engines shows them.
        self.output_total = [0] * settings.labels
        self.prompt_total = [0] * settings.labels
        self.cached_total = [0] * settings.labels
        self.firsts = [0] * settings.labels  # generations that have a token
        # The same of the generations that are over.
        self.output_ended = [0] * settings.labels
        self.prompt_ended = [0] * settings.labels
        self.cached_ended = [0] * settings.labels
        self.prefill_s_total = [0.0] * settings.labels  # of the generations that are over
        self.prefills = [0] * settings.labels

    # ---- counting -----------------------------------------------------------------------------

    def count_text(self, text: str) -> int:
        """Tokens of a text, without the template."""
        words = self.settings.count == "words"
        count = len(text.split()) if words else (len(text) + 3) // 4
        return count + max(0, count - STRETCHED) * self.settings.stretch // 100

    def count_prompt(self, prompt: str) -> int:
        tokens = self.count_text(prompt) + self.settings.overhead
        limit = self.settings.truncate
        return min(tokens, limit) if limit else tokens

    def by_label(self, generations: list[Generation]) -> list[int]:
        counts = [0] * self.settings.labels
        for generation in generations:
            counts[generation.number % self.settings.labels] += 1
        return counts

    def _cached_tokens(self, prompt: str, prompt_tokens: int) -> int:
        if self.settings.cached_always:
            return prompt_tokens * self.settings.cached_always // 100
        if not self.settings.cache:
            return 0
        longest = max((len(os.path.commonprefix([prompt, old])) for old in self.prompts), default=0)
        whole_blocks = self.count_text(prompt[:longest]) // BLOCK * BLOCK
        return min(whole_blocks, max(prompt_tokens - 1, 0))

    # ---- generating ---------------------------------------------------------------------------

    def admit(self, prompt: str, body: dict[str, Any]) -> Generation:
        """A new request. It runs while `pieces` is walked and is open until `release`."""
        asked = output_limit(body) if self.settings.max_tokens == "obeyed" else None
        ignore = self.settings.ignore_eos == "obeyed" and body.get("ignore_eos") is True
        least = body.get("min_tokens") if self.settings.min_tokens == "obeyed" else 0
        self.started += 1
        generation = Generation(
            number=self.started,
            id=str(body.get("rid") or f"gen-{self.started}"),
            prompt=prompt,
            prompt_tokens=self.count_prompt(prompt),
            max_tokens=NO_LIMIT if asked is None else asked,
            ignore_eos=ignore,
            min_tokens=least if isinstance(least, int) else 0,
        )
        self.open.add(generation)
        self.most_open = max(self.most_open, len(self.open))
        return generation

    def release(self, generation: Generation) -> None:
        self.open.discard(generation)

    def abort(self, request_id: str) -> int:
        """End the generations of this id; says how many there were."""
        found = [one for one in self.open if one.id == request_id]
        for generation in found:
            generation.finish = "abort"
            generation.gone.set()
        return len(found)

    async def pieces(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Queue, prefill, decode. Ends early when `generation.gone` is set."""
        if not await self._enter(generation):
            return
        try:
            await self._prefill(generation)
            async for piece in self._decode(generation):
                yield piece
        finally:
            self._leave(generation)

    async def _enter(self, generation: Generation) -> bool:
        slots = self.settings.slots
        if slots and len(self.running) >= slots:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            entry = (generation, turn)
            self.waiting.append(entry)
            gone = asyncio.ensure_future(generation.gone.wait())
            both: set[asyncio.Future[Any]] = {turn, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if not turn.done():
                self.waiting.remove(entry)
                return False
            return True  # _leave put it into running
        self.running.append(generation)
        return True

    def _leave(self, generation: Generation) -> None:
        self.running.remove(generation)
        label = generation.number % self.settings.labels
        self.output_ended[label] += generation.tokens
        self.prompt_ended[label] += generation.prompt_tokens
        self.cached_ended[label] += generation.cached
        self.prefill_s_total[label] += generation.prefill_s
        self.prefills[label] += 1
        if self.waiting:
            following, turn = self.waiting.popleft()
            self.running.append(following)
            turn.set_result(None)

    async def _prefill(self, generation: Generation) -> None:
        settings = self.settings
        generation.cached = self._cached_tokens(generation.prompt, generation.prompt_tokens)
        fresh = generation.prompt_tokens - generation.cached
        generation.prefill_s = settings.first
        if settings.prefill:
            generation.prefill_s += fresh / settings.prefill
        await asyncio.sleep(generation.prefill_s)
        self.prompts.append(generation.prompt)
        label = generation.number % settings.labels
        self.prompt_total[label] += generation.prompt_tokens
        self.cached_total[label] += generation.cached

    async def _decode(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        settings = self.settings
        loop = asyncio.get_running_loop()
        begin = due = loop.time()
        label = generation.number % settings.labels
        rng = random.Random(generation.number)
        easy = settings.easy and EASY in generation.prompt.lower()
        per_event = settings.easy if easy else settings.per_event
        end = generation.max_tokens
        if settings.eos is not None and not generation.ignore_eos:
            end = min(end, max(settings.eos, generation.min_tokens))
        while generation.tokens < end:
            tokens = min(per_event, end - generation.tokens)
            # The first token is there when prefill ends; later ones keep to the begin's clock, so
            # that delays do not add up.
            pace = settings.token * (1 + settings.crowd * (len(self.running) - 1) / 100)
            due += (tokens if generation.tokens else tokens - 1) * pace
            await asyncio.sleep(max(0.0, due - loop.time()))
            if generation.gone.is_set():
                return
            thinking = generation.tokens < settings.think
            text = "".join(self._token_text(rng) for _ in range(tokens))
            self.firsts[label] += generation.tokens == 0
            generation.tokens += tokens
            generation.decode_s = loop.time() - begin
            self.output_total[label] += tokens
            if generation.tokens > settings.hidden:
                yield Piece(text, tokens, thinking)
        generation.finish = "length" if end == generation.max_tokens else "stop"

    def _token_text(self, rng: random.Random) -> str:
        style = self.settings.text
        if style.kind == "unicode":
            return rng.choice(UNICODE)
        if style.kind == "control":
            return rng.choice(CONTROL)
        if style.kind == "loop":
            same = random.Random(0)  # so that the text's smallest period is the whole token
            return "".join(same.choice(WORDS) + " " for _ in range(int(style.value)))[
                : int(style.value)
            ]
        if style.kind == "fixed":
            return style.value
        return rng.choice(WORDS) + " "
