# Verbs around Meson; `make help` lists them. BUILD is the folder, PRESET a file in presets/, and
# SUITES the test suites (all but the checks when empty).
BUILD = build
PRESET =
SUITES =
S = 30
T =

# In `make test` terms: what runs under the sanitizers. The quirks' bytes are swept and broken in the
# unit tests already, and many of their claims are about time.
SANITIZED = unit fuzz-replay e2e

.DEFAULT_GOAL := all
.PHONY: all asan bench bench-site browser check clean demo fmt fuzz golden help install roundtrip test \
    test-vllm tsan valgrind

all: $(BUILD)/build.ninja ## build: the program is build/tokgrid
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD) $(if $(PRESET),--native-file presets/$(PRESET).ini)

demo: all ## measure a real engine on this machine, in about two minutes
	@tools/demo $(BUILD)

test: all ## run the tests; T=word: only those with it in their name
	@tools/run-tests $(BUILD) '$(T)' $(SUITES)

test-vllm: all ## a real vLLM on this CPU, T=word as above; fetches 3 GB once, then ten minutes
	@python3 tests/engine/vllm_tests.py --tokgrid $(BUILD)/tokgrid --mkmodel $(BUILD)/mkmodel \
	    --engine-dir $(BUILD)/vllm '$(T)'

check: all ## format, layers, headers alone, words, static analysis
	@tools/run-tests $(BUILD) '$(T)' checks tidy

asan: ## tests under address and undefined-behaviour sanitizers
	@$(MAKE) test BUILD=build-asan PRESET=asan SUITES='$(SANITIZED)' T='$(T)'

tsan: ## tests under the thread sanitizer
	@$(MAKE) test BUILD=build-tsan PRESET=tsan SUITES='$(SANITIZED)' T='$(T)'

valgrind: all ## unit tests under valgrind
	@TEST_WRAPPER='valgrind --quiet --error-exitcode=9 --leak-check=full' \
	    tools/run-tests $(BUILD) '$(T)' unit

fuzz: ## T=name S=60: fuzz one target for so many seconds; without T each of them
	@$(MAKE) all BUILD=build-fuzz PRESET=fuzz
	@tools/fuzz build-fuzz '$(T)' $(S)

roundtrip: all ## the published matrices, emulated and measured: do they come back?
	@tools/roundtrip --build $(BUILD)

browser: all ## the pages in a real browser: screenshots, accessibility, scripts on and off
	@tools/run-tests $(BUILD) '' browser

bench: all ## run the benchmarks; each prints its figure
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose

bench-site: ## the site with 20,000 runs in its store, beside nginx: T=word for some pages; 8 minutes
	@$(MAKE) --no-print-directory build-release/build.ninja BUILD=build-release PRESET=release
	@ninja -C build-release tokgrid tests/bench/fill_store
	@python3 tests/bench/bench_site.py --tokgrid build-release/tokgrid \
	    --fill build-release/tests/bench/fill_store --folder build-release/bench-site '$(T)'

install: all ## install the program and its man pages; DESTDIR is respected
	@meson install -C $(BUILD)

golden: all ## write the golden files anew; review the difference
	@TOKGRID_GOLDEN_UPDATE=1 tools/run-tests $(BUILD) '$(T)' unit browser

fmt: ## format the C sources
	@tools/check-format --fix

clean: ## remove what was built, for every preset
	rm -rf build build-asan build-ci build-fuzz build-release build-tsan

help: ## list the verbs
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
