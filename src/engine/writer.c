/* writer.c - a hash of seed and number chooses the word. */
#include "engine/writer.h"

#include <string.h>

#include "base/mem.h"
#include "base/rand.h"

/* At most six letters: with the space in front one token. */
static const char words[][7] = {
    "able",   "about",  "above",  "across", "after",  "again",  "age",    "ago",    "air",
    "all",    "almost", "alone",  "along",  "also",   "always", "among",  "and",    "animal",
    "answer", "any",    "apple",  "area",   "around", "ask",    "away",   "back",   "ball",
    "base",   "be",     "become", "before", "began",  "behind", "best",   "better", "big",
    "bird",   "black",  "blue",   "boat",   "body",   "book",   "both",   "box",    "bread",
    "bring",  "broad",  "brown",  "build",  "burn",   "busy",   "but",    "call",   "came",
    "can",    "car",    "care",   "carry",  "catch",  "cause",  "chance", "change", "check",
    "chief",  "circle", "city",   "class",  "clean",  "clear",  "climb",  "clock",  "close",
    "cloud",  "coast",  "cold",   "colour", "come",   "common", "copy",   "corn",   "corner",
    "cost",   "cotton", "count",  "course", "cover",  "cross",  "cut",    "dance",  "dark",
    "day",    "deep",   "direct", "do",     "doctor", "door",   "double", "down",   "draw",
    "dream",  "dress",  "drive",  "drop",   "dry",    "during", "each",   "early",  "earth",
    "east",   "edge",   "eight",  "end",    "engine", "enough", "even",   "every",  "eye",
    "face",   "fact",   "fall",   "family", "far",    "farm",   "fast",   "father", "field",
    "figure", "final",  "find",   "fine",   "fire",   "first",  "five",   "flat",   "floor",
    "flow",   "flower", "fly",    "follow", "food",   "forest", "form",   "found",  "four",
    "free",   "fresh",  "friend", "from",   "front",  "full",   "game",   "garden", "gave",
    "gentle", "give",   "glass",  "gold",   "gone",   "good",   "grass",  "great",  "green",
    "ground", "group",  "grow",   "guess",  "guide",  "half",   "hand",   "happy",  "hard",
    "hear",   "heat",   "heavy",  "help",   "here",   "high",   "hill",   "hold",   "home",
    "hope",   "horse",  "hour",   "house",  "how",    "human",  "idea",   "inch",   "iron",
    "island", "join",   "jump",   "just",   "keep",   "kind",   "know",   "lake",   "land",
    "large",  "late",   "laugh",  "law",    "lead",   "leaf",   "learn",  "leave",  "left",
    "length", "less",   "letter", "level",  "life",   "light",  "like",   "line",   "list",
    "little", "live",   "long",   "look",   "low",    "made",   "main",   "make",   "many",
    "map",    "mark",   "market", "may",    "metal",  "middle", "mile",   "mind",   "modern",
    "money",  "month",  "moon",   "more",   "most",   "mother", "move",   "much",   "music",
    "name",   "nation", "near",   "never",  "new",    "night",  "north",  "note",   "number",
    "object", "ocean",  "often",  "old",    "once",   "only",   "open",   "order",  "other",
    "our",    "over",   "own",    "page",   "paint",  "paper",  "part",   "pass",   "past",
    "path",   "people", "piece",  "place",  "plain",  "plan",   "plant",  "play",   "point",
    "port",   "power",  "press",  "proper", "pull",   "push",   "quick",  "quiet",  "rain",
    "raise",  "reach",  "read",   "ready",  "red",    "rest",   "right",  "river",  "road",
    "rock",   "room",   "round",  "rule",   "run",    "sail",   "salt",   "same",   "sand",
    "say",    "school", "season", "second", "seed",   "serve",  "shape",  "sharp",  "shore",
    "short",  "side",   "silver", "simple", "slow",   "small",  "snow",   "soft",   "soil",
    "some",   "song",   "south",  "space",  "speed",  "spring", "stand",  "star",   "start",
    "steel",  "still",  "stone",  "stop",   "store",  "storm",  "story",  "street", "strong",
    "summer", "sun",    "table",  "take",   "tall",   "teach",  "test",   "thick",  "thing",
    "think",  "third",  "those",  "time",   "tool",   "top",    "toward", "town",   "train",
    "tree",   "true",   "turn",   "under",  "unit",   "until",  "valley", "very",   "view",
    "visit",  "voice",  "walk",   "wall",   "warm",   "water",  "wave",   "week",   "west",
    "wheel",  "while",  "white",  "wide",   "wild",   "wind",   "window", "winter", "wish",
    "with",   "wonder", "wood",   "word",   "work",   "world",  "write",  "year",   "young",
};

static const char *const wide[] = {"\u00e9", "\u00f1", "\u0436",     "\u4e2d",
                                   "\u20ac", "\u8a9e", "\U0001f98a", "\U0001f680"};

static size_t put(char *out, const char *text)
{
    size_t n = strlen(text);
    memcpy(out, text, n + 1);
    return n;
}

size_t writer_token(uint64_t seed, int64_t index, char out[WRITER_TOKEN_MAX])
{
    uint64_t h = rng_mix(seed, (uint64_t)index);

    if (index > 0 && h % 11 == 0) /* a sentence ends, or pauses */
        return put(out, h / 11 % 2 ? "." : ",");
    out[0] = ' ';
    return 1 + put(out + 1, words[(h >> 32) % ARRAY_LEN(words)]);
}

size_t writer_wide_token(uint64_t seed, int64_t index, char out[WRITER_TOKEN_MAX])
{
    if (index % 4 != 3)
        return writer_token(seed, index, out);
    return put(out, wide[rng_mix(seed, (uint64_t)index) % ARRAY_LEN(wide)]);
}

size_t writer_loop_token(uint64_t seed, int64_t index, int64_t period, char out[WRITER_TOKEN_MAX])
{
    return writer_token(seed, index % period, out);
}
