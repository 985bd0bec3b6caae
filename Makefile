# The two commands of the README first; `make help` lists the rest.
BUILD := build/release
SHELL := /bin/bash

.PHONY: audit test golden build install package archive wheel deps test-deps dev asan tsan tidy fuzz bench accuracy fresh format clean help

audit: build        ## audit this machine's GPU for 30 s, else the example recording; leaves report.html
	@input=$$(./tools/audit_input.sh $(BUILD)) && \
	  ./$(BUILD)/idleburn audit $$input -o report.html --format html --quiet && \
	  ./$(BUILD)/idleburn audit $$input
	@echo "The same with the phase ribbon and timelines: report.html"

test: test-deps     ## build and run every test; names those that were skipped
	cmake --preset release -DIDLEBURN_TESTS=ON >/dev/null
	cmake --build $(BUILD)
	@./tools/run_tests.sh $(BUILD) --parallel 3

golden: test-deps   ## hold anew what the commands print (tests/golden); says which cases changed
	cmake --preset release -DIDLEBURN_TESTS=ON >/dev/null
	cmake --build $(BUILD) --target system_tests
	GOLDEN_RECORD=1 ./$(BUILD)/system_tests --gtest_brief=1 --gtest_filter='Sessions/Golden.*'
	@git diff --stat -- tests/golden

build: deps         ## build build/release/idleburn
	cmake --preset release >/dev/null
	cmake --build $(BUILD) --target idleburn

PREFIX ?= /usr/local
install: build      ## install below $(DESTDIR)$(PREFIX), /usr/local if not said otherwise
	cmake --build $(BUILD) --target installable
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) --strip

package archive: build  ## build/package: a .deb and a .tar.zst that needs only glibc; archive: the latter alone
	@./tools/install_deps.sh package
	cmake --build $(BUILD) --target installable
	./tools/package.sh $(BUILD) archive $(if $(filter package,$@),deb)

wheel:              ## build/package: the Python package as a wheel, without an index
	@./tools/install_deps.sh python
	rm -rf build/python && cp -r python build/python
	/usr/bin/python3 -m pip wheel --quiet --no-index --no-build-isolation --no-deps -w build/package build/python

deps:
	@./tools/install_deps.sh build
test-deps:
	@./tools/install_deps.sh test

dev asan tsan: test-deps  ## build and run the unit tests of that preset
	cmake --preset $@ -DIDLEBURN_TESTS=ON >/dev/null
	cmake --build build/$@ --target unit_tests
	@export GTEST_TOTAL_SHARDS=2; for shard in 0 1; do \
	  GTEST_SHARD_INDEX=$$shard ./build/$@/unit_tests --gtest_brief=1 & pids="$$pids $$!"; done; \
	for pid in $$pids; do wait $$pid || code=1; done; exit $${code:-0}

tidy:               ## clang-tidy over every file
	@./tools/install_deps.sh tidy
	cmake --preset tidy >/dev/null
	cmake --build build/tidy

fuzz: test-deps     ## run each fuzz target for FUZZ_SECONDS (default 60)
	cmake --preset fuzz >/dev/null
	cmake --build build/asan --target fuzzers
	./tools/run_fuzzers.sh build/asan $${FUZZ_SECONDS:-60}

bench: test-deps    ## speed and memory, as ratios against peers in the same run
	cmake --preset release -DIDLEBURN_TESTS=ON >/dev/null
	cmake --build $(BUILD)
	./tools/bench_sampler.sh $(BUILD)
	./tools/bench_agent.sh $(BUILD)
	./tools/bench_overhead.sh $(BUILD)
	./tools/bench_terminal.sh $(BUILD)
	./tools/bench_recording.sh $(BUILD)
	./tools/bench_trace.sh $(BUILD)
	./tools/bench_fleet.sh $(BUILD)
	./tools/bench_bill.sh $(BUILD)
	./tools/bench.sh $(BUILD)

PLANNING ?= ../shared/data/planning
accuracy: test-deps ## fit the plan anew; writes docs/plan-accuracy*.md: its errors on published runs it did not see
	cmake --preset release -DIDLEBURN_TESTS=ON >/dev/null
	cmake --build $(BUILD) --target fit_plan
	@if [ -d $(PLANNING) ]; then ./$(BUILD)/fit_plan $(PLANNING) data/plan/coefficients.csv \
	  docs/plan-accuracy.md docs/plan-accuracy-speed.md; \
	  else echo "skipped: $(PLANNING) is not here (PLANNING=FOLDER)"; fi

fresh:              ## prove the two commands in a bare Debian 12 folder (root, debootstrap)
	./tools/fresh.sh

format:             ## clang-format every file
	git ls-files '*.h' '*.cc' | xargs clang-format -i

clean:
	rm -rf build report.html

help:
	@grep -hE '^[a-z -]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/'
