/* prompt_words.h - the vocabulary of generated prompts: common English words by their part in a
 * sentence, and the sentences' shapes. Included by prompt.c alone. */
#ifndef TOKGRID_LOAD_PROMPT_WORDS_H
#define TOKGRID_LOAD_PROMPT_WORDS_H

static const char *const nouns[] = {
    "teacher",  "river",    "garden",    "letter",    "engine",    "market",   "window",
    "farmer",   "village",  "machine",   "picture",   "road",      "mountain", "captain",
    "harbour",  "forest",   "kitchen",   "student",   "bridge",    "winter",   "summer",
    "question", "answer",   "table",     "paper",     "morning",   "evening",  "doctor",
    "train",    "station",  "island",    "story",     "song",      "horse",    "field",
    "stone",    "wall",     "door",      "house",     "city",      "street",   "building",
    "school",   "child",    "friend",    "neighbour", "worker",    "book",     "map",
    "ship",     "coast",    "lake",      "tree",      "leaf",      "flower",   "animal",
    "bird",     "fish",     "dog",       "cat",       "cloud",     "rain",     "wind",
    "storm",    "light",    "shadow",    "fire",      "water",     "bread",    "apple",
    "tea",      "cup",      "plate",     "knife",     "chair",     "bed",      "room",
    "roof",     "floor",    "corner",    "path",      "hill",      "valley",   "desert",
    "ocean",    "wave",     "sand",      "boat",      "wheel",     "hammer",   "tool",
    "clock",    "hour",     "minute",    "week",      "month",     "year",     "century",
    "history",  "science",  "number",    "figure",    "letterbox", "office",   "company",
    "manager",  "visitor",  "traveller", "painter",   "writer",    "singer",   "player",
    "team",     "game",     "rule",      "plan",      "idea",      "problem",  "reason",
    "result",   "method",   "system",    "model",     "signal",    "message",  "voice",
    "language", "word",     "sentence",  "page",      "chapter",   "library",  "museum",
    "theatre",  "hospital", "bank",      "shop",      "factory",   "mill",     "tower",
    "castle",   "church",   "square",    "park",      "fence",     "gate",     "key",
    "lock",     "coin",     "price",     "debt",      "gift",      "promise",  "secret",
    "dream",    "memory",   "journey",   "border",    "country",   "nation",   "law",
    "judge",    "court",    "army",      "soldier",   "king",      "queen",    "minister",
    "council",  "meeting",  "report",    "record",    "list",      "sample",   "measure",
};

static const char *const adjectives[] = {
    "old",     "young",   "small",   "large",   "quiet",    "loud",     "bright",   "dark",
    "warm",    "cold",    "early",   "late",    "long",     "short",    "narrow",   "wide",
    "deep",    "shallow", "heavy",   "light",   "simple",   "strange",  "common",   "rare",
    "clean",   "dusty",   "empty",   "full",    "open",     "hidden",   "famous",   "honest",
    "patient", "careful", "clever",  "gentle",  "proud",    "tired",    "hungry",   "lucky",
    "poor",    "rich",    "green",   "blue",    "red",      "white",    "black",    "grey",
    "golden",  "silver",  "wooden",  "broken",  "modern",   "ancient",  "distant",  "local",
    "public",  "private", "general", "certain", "possible", "useful",   "perfect",  "ordinary",
    "second",  "third",   "final",   "whole",   "half",     "northern", "southern", "eastern",
    "western", "sudden",  "steady",  "slow",    "quick",    "soft",     "hard",     "sharp",
    "round",   "flat",    "steep",   "fresh",   "dry",      "wet",      "busy",     "calm",
    "brave",
};

static const char *const verbs[] = {
    "followed", "watched",  "opened",    "closed",     "carried",    "found",     "lost",
    "built",    "painted",  "cleaned",   "remembered", "forgot",     "described", "explained",
    "measured", "counted",  "crossed",   "reached",    "left",       "visited",   "bought",
    "sold",     "repaired", "moved",     "lifted",     "dropped",    "touched",   "heard",
    "saw",      "noticed",  "answered",  "asked",      "called",     "helped",    "thanked",
    "joined",   "divided",  "collected", "compared",   "considered", "studied",   "taught",
    "learned",  "wrote",    "read",      "copied",     "changed",    "improved",  "protected",
    "covered",  "filled",   "emptied",   "turned",     "pushed",     "pulled",    "broke",
    "mended",   "cut",      "planted",   "gathered",   "shared",     "offered",   "accepted",
    "refused",  "promised", "expected",  "imagined",   "discovered", "examined",  "recorded",
    "reported", "signed",   "published", "returned",   "borrowed",   "kept",      "hid",
    "showed",
};

static const char *const adverbs[] = {
    "slowly",     "quickly", "quietly", "often",     "seldom",  "always",   "never",
    "again",      "already", "almost",  "carefully", "gladly",  "suddenly", "finally",
    "nearly",     "usually", "clearly", "simply",    "perhaps", "together", "alone",
    "everywhere", "later",   "soon",    "once",      "twice",   "gently",   "badly",
    "well",       "exactly", "mostly",  "partly",    "openly",  "secretly", "kindly",
};

static const char *const prepositions[] = {
    "near",    "behind",  "under",  "above", "beside", "between", "beyond", "inside",
    "outside", "through", "across", "along", "around", "before",  "after",  "during",
    "against", "without", "with",   "from",  "toward", "past",    "over",   "below",
};

static const char *const determiners[] = {
    "the", "a",   "this",  "that", "every", "another", "each", "one", "some", "any", "the",
    "the", "our", "their", "his",  "her",   "my",      "your", "no",  "the",  "a",   "the",
};

static const char *const joiners[] = {
    "and",   "but", "while", "because", "although", "until",    "when",
    "since", "so",  "where", "after",   "before",   "whenever", "unless",
};

static const char *const openers[] = {
    "Later",      "Meanwhile", "Nevertheless", "However", "Therefore",
    "Afterwards", "Sometimes", "Eventually",   "Indeed",  "Yesterday",
    "Today",      "Elsewhere", "Moreover",     "Instead", "Still",
};

/* N noun, A adjective, V verb, R adverb, P preposition, D determiner, J joiner, O opener;
 * a comma stays with the word before it. */
static const char *const shapes[] = {
    "DAN V DN",
    "DN V DAN P DN",
    "O, DN R V DN",
    "DN V DN J DN V DAN",
    "P DAN, DN V DN",
    "DAN P DN V DN R",
    "J DN V DN, DAN V DN P DAN",
    "O, DAN V DN P DN J DN R V DN",
    "DN J DAN V DN",
    "DN P DAN R V DN, J DAN V DN",
    "DAAN V DN P DN P DN",
    "O, P DN, DAN V DAN",
};

/* What a model is asked to write: a kind of text, a subject, a second subject. */
static const char *const task_kinds[] = {
    "a long and detailed essay",
    "a complete chapter of a textbook",
    "a careful lecture",
    "a travel report in many parts",
    "a technical manual",
    "a long letter to a friend",
    "a newspaper series",
    "a guide for beginners",
    "a dialogue between two experts",
    "a detailed history",
    "a collection of short stories",
    "a plan with many steps",
    "a critical review",
    "a field diary",
    "a speech for a large audience",
    "an encyclopaedia entry",
};

static const char *const task_subjects[] = {
    "mathematics", "bridges",  "the sea",      "railways",        "bread",
    "astronomy",   "medicine", "gardens",      "languages",       "music",
    "painting",    "cities",   "forests",      "rivers",          "glaciers",
    "deserts",     "clocks",   "maps",         "printing",        "trade",
    "money",       "law",      "schools",      "sport",           "cooking",
    "wine",        "cotton",   "steel",        "glass",           "paper",
    "electricity", "radio",    "computers",    "flight",          "ships",
    "horses",      "bees",     "birds",        "whales",          "volcanoes",
    "weather",     "time",     "memory",       "sleep",           "dreams",
    "festivals",   "theatre",  "architecture", "postal services", "lighthouses",
};

#endif
