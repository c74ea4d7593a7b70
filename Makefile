# Two commands matter: `make run` does the main job, `make test` runs every check. Both set up what they need.
# What needs time leaves a stamp in .venv, so that a second run rebuilds only what changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := out/abilene
# These send real packets and measure what comes of it, or clean up after laboratories that are gone: one at a time.
LAB_TESTS := $(addprefix tests/python/test_lab,.py $(addsuffix .py,_router _real _exec _scenario _uml))
# Python's tests of the houses (docs/architecture.md); all others are of the first.
NET_TESTS := $(filter-out $(LAB_TESTS),$(wildcard $(addprefix tests/python/test_,evaluate_linux.py lab_*.py ndn_*.py node_*.py rpm_devices.py services.py walk.py)))
EVIDENCE_TESTS := $(wildcard $(addprefix tests/python/test_,papers*.py errata.py fcp_edges.py fcp_optimum.py mircc_networks.py mircc_properties.py notebooks.py paper_maps.py peers.py properties.py public_files.py scream_calls.py transients.py))
FLOOR_TESTS := $(foreach name,cli compare examples failures papers_inrpp report report_tracks scenario schema storage sweep tables units variants verdict,tests/python/test_$(name).py)
SCHEMES := newreno,cubic,dctcp,cubic+rpm,fcp,mircc,inrpp
SEEDS := 5
# Properties are tried on the same random cases each time: a check is of the change, not of the day.
PROPERTY_SEED := 1

DEPENDENCIES := $(VENV)/.dependencies
SITE_TOOLS := $(VENV)/.docs
# The package is installed with one of two builds: for speed, or as tests have it (Cargo's profile dev: optimised, with
# debug assertions and overflow checks).
EXTENSION := $(VENV)/.extension
BUILT := $(VENV)/.built
# RPM on routers, and nodes of overlays: on Linux only.
DAEMON := $(if $(filter Linux,$(shell uname -s)),$(BIN)/midpathd)
# Some of what pytest runs waits for other processes: two more than there are cores.
WORKERS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 2)')
PYTEST = $(BIN)/pytest --nightly=changed
# What simulates waits for what sends real packets, whose times count: it has a core when that has none to do.
BESIDE := $(shell command -v chrt >/dev/null && echo chrt --idle 0 || echo nice -n 19)
PARALLEL = $(PYTEST) --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
# What an incremental build keeps for the next one is of no use where there is none; then a crate in fewer parts compiles
# generic code less often.
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_CODEGEN_UNITS := 4
endif
RUST := Cargo.toml Cargo.lock $(shell find crates net python/wheel examples/outside-aqm/src examples/outside-controller/src examples/outside-scheme/src .cargo -type f -not -name '*.md' -not -path '*/tests/*' -not -path '*/benches/*' 2>/dev/null)

# What is compared with the clock, and what is built when it is run.
RUST_WAITS := cargo test --workspace --test beside && cargo test --workspace --doc

# Cargo's programs of tests, by name.
RUST_TESTS := $(sort $(patsubst %/main,%,$(basename $(foreach tests,$(wildcard $(addsuffix /*/tests,crates net examples)),$(patsubst $(tests)/%,%,$(wildcard $(tests)/*.rs $(tests)/*/main.rs))))))

.PHONY: help setup run check test nightly test-floors test-random mutants mutants-sample bench dist release clean fmt docs docs-serve site web test-rust rust-computes test-python test-midpath test-net test-evidence pytest-midpath pytest-net pytest-evidence lint-rust lint-python

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(EXTENSION) $(DAEMON) ## set up .venv with the midpath command in .venv/bin/midpath, and midpathd beside it on Linux

run: $(EXTENSION) ## compare TCPs and mid-path schemes on Abilene: prints the table, writes the report
	@# Stored runs are known by their version; while the simulator is worked on, the version says too little.
	@test ! $(EXTENSION) -nt $(OUT)/compare.json || rm -rf $(OUT)
	$(BIN)/midpath compare examples/abilene.toml --schemes $(SCHEMES) --seeds $(SEEDS) --out $(OUT)
	$(BIN)/midpath report $(OUT)

check: $(DEPENDENCIES) ## check what differs from main, in seconds when warm; ROOM=fcp checks that room
	$(BIN)/python scripts/check.py $(addprefix --room=,$(ROOM))

# Builds first, and once: tests of both languages, examples and daemons are of one profile. Then what takes seconds.
test: $(BUILT) ## run every check but those of `make nightly`
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint-rust lint-python site
	$(MAKE) --no-print-directory rust-computes
	$(MAKE) --no-print-directory test-python FIRST='$(RUST_WAITS)'
	@echo "make test: all checks passed"

nightly: $(BUILT) $(SITE_TOOLS) ## what guards pages, scripts and claims; `make test` runs it where that differs from main
	$(BIN)/pytest --nightly=only --numprocesses $(WORKERS) --dist loadfile

mutants: $(DEPENDENCIES) ## what no test notices: small changes of the code, two hours at most; ROOMS="mircc core/src/queue"
	$(BIN)/python scripts/mutants.py $(ROOMS) --out target/mutants.txt

mutants-sample: $(DEPENDENCIES) ## a fixed sample of mutants by room, about an hour: evidence/properties/mutants/RESULTS.md
	$(BIN)/python scripts/mutants.py --sample

bench: setup ## measure the simulator's speed on this machine
	$(BIN)/midpath bench

docs: setup ## write schema and generated pages again, and build the site into target/site
	$(BIN)/midpath schema > python/midpath/schema/scenario.schema.json
	$(BIN)/python scripts/scenario_reference.py
	$(BIN)/python scripts/command_reference.py
	$(BIN)/python scripts/shell_files.py
	$(BIN)/python scripts/pictures.py
	$(BIN)/python scripts/lists.py
	$(BIN)/python scripts/lab_keys.py
	$(BIN)/python scripts/fairness_picture.py
	$(MAKE) --no-print-directory site

docs-serve: $(SITE_TOOLS) ## show the site at http://127.0.0.1:8000, and again whenever a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

web: ## build the simulator for a browser tab: target/web/midpath.wasm; `make site` adds it to the playground
	$(PYTHON) scripts/web.py

site: $(SITE_TOOLS) ## build the site; a link or an anchor that leads nowhere is an error
	@# Lists of schemes come from the package, whichever build of it is there.
	@$(BIN)/python -c "import midpath" 2>/dev/null || $(MAKE) --no-print-directory $(EXTENSION)
	@# Not --quiet: with it MkDocs counts no warnings, and its strict mode lets all of them pass.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

dist: $(DEPENDENCIES) ## wheels, sdist, crates and sums into dist/, for the targets that are here (needs zig: pip install ziglang)
	$(BIN)/python scripts/dist.py

release: $(DEPENDENCIES) ## VERSION=X.Y.Z: check, set the version, date the changelog, commit, make dist, tag
	$(BIN)/python scripts/release.py $(VERSION)
	$(MAKE) --no-print-directory dist
	$(BIN)/python scripts/release.py $(VERSION) --tag

fmt: $(DEPENDENCIES) ## format all code
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

clean: ## remove everything that was built or produced
	rm -rf target out $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f python/midpath/_midpath*.so

lint-rust: ## rustfmt and clippy with warnings as errors
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

test-rust: rust-computes ## Rust tests and the examples in doc comments
	$(RUST_WAITS)

# The simulator's scenarios compute, at a low priority, while other programs wait for timers and packets.
rust-computes:
	cargo test --workspace --no-run
	@mkdir -p target
	export PROPTEST_RNG_SEED=$(PROPERTY_SEED); \
	$(BESIDE) cargo test --workspace --test scenarios > target/scenarios.txt 2>&1 & scenarios=$$!; \
	cargo test --workspace --lib --bins --examples $(addprefix --test=,$(filter-out scenarios beside,$(RUST_TESTS))); \
	others=$$?; wait $$scenarios; scenarios=$$?; cat target/scenarios.txt; exit $$((others | scenarios))

lint-python: $(DEPENDENCIES) ## houses and circles of imports, ruff and mypy
	$(BIN)/python scripts/houses.py
	$(BIN)/python scripts/circles.py
	$(BIN)/lint-imports --no-cache
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# All houses at once: some tests wait, others compute. FIRST is a command that waits, too.
test-python: $(BUILT) ## pytest: package, command, pages; claims; real packets where it may
	@mkdir -p target
	nice $(PARALLEL) $(addprefix --ignore=,$(LAB_TESTS)) > target/pytest.txt 2>&1 & most=$$!; \
	{ $(or $(FIRST),true); }; first=$$?; \
	$(PYTEST) $(LAB_TESTS); lab=$$?; wait $$most; most=$$?; cat target/pytest.txt; exit $$((first | lab | most))

# A house by itself. `make test` has the same tests: Rust's of all houses are compiled at once, for with fewer packages
# dependencies have other features, and are built once more.
test-midpath: $(BUILT) ## the first house: core, schemes, simulator, the Python package
	PROPTEST_RNG_SEED=$(PROPERTY_SEED) cargo test $(shell $(PYTHON) scripts/houses.py midpath)
	$(MAKE) --no-print-directory pytest-midpath

test-net: $(BUILT) ## real packets: links, nodes, daemons, NDN, RPM on Linux and in P4, the laboratory
	PROPTEST_RNG_SEED=$(PROPERTY_SEED) cargo test $(shell $(PYTHON) scripts/houses.py net)
	$(MAKE) --no-print-directory pytest-net

test-evidence: pytest-evidence ## the papers' claims

pytest-midpath: $(BUILT)
	$(PARALLEL) $(addprefix --ignore=,$(LAB_TESTS) $(NET_TESTS) $(EVIDENCE_TESTS))

pytest-net: $(BUILT)
	$(PARALLEL) $(NET_TESTS)
	$(PYTEST) $(LAB_TESTS)

pytest-evidence: $(BUILT)
	$(PARALLEL) $(EVIDENCE_TESTS)

# A failure prints its case, and proptest writes its seed into a proptest-regressions folder: commit that with the repair.
test-random: RANDOM_SEED := $(or $(RANDOM_SEED),$(shell date +%s))
test-random: setup ## all properties on cases never tried before; PROPTEST_CASES=10000 tries more of them
	@echo "RANDOM_SEED=$(RANDOM_SEED)"
	PROPTEST_RNG_SEED=$(RANDOM_SEED) cargo test --workspace --no-fail-fast
	$(BIN)/pytest --numprocesses auto --hypothesis-profile default --hypothesis-seed $(RANDOM_SEED) $(shell grep -l "^from hypothesis" tests/python/*.py)

# Tests of all that uses these packages: tables, runs, comparisons, sweeps, plots, reports. Generated pages are left out:
# help is worded by the newest typer.
test-floors: setup ## the same package with the least versions of its dependencies that pyproject.toml allows
	test -x target/floors/bin/python || $(PYTHON) -m venv target/floors
	$(BIN)/python scripts/dependencies.py --least plots > target/floors/requirements.txt
	target/floors/bin/python -m pip install --quiet --disable-pip-version-check --requirement target/floors/requirements.txt pytest pytest-xdist hypothesis jsonschema
	VIRTUAL_ENV=$(CURDIR)/target/floors $(BIN)/maturin develop --release --quiet
	@# Typer's least version calls what the newest Click deprecates.
	target/floors/bin/python -m pytest --numprocesses auto --dist loadfile -W ignore::DeprecationWarning $(FLOOR_TESTS)

# The dependencies are read out of pyproject.toml, so that installing them does not build the extension.
$(DEPENDENCIES): pyproject.toml scripts/dependencies.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python scripts/dependencies.py dev > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/requirements.txt
	touch $@

$(SITE_TOOLS): $(DEPENDENCIES)
	$(BIN)/python scripts/dependencies.py docs > $(VENV)/requirements-docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $(VENV)/requirements-docs.txt
	touch $@

# Built by `cargo` into target/, put into python/midpath by maturin; .venv only points there.
$(EXTENSION): $(DEPENDENCIES) $(RUST)
	@echo "building the simulator (minutes the first time, seconds after that)"
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet >/dev/null
	rm -f $(BUILT)
	touch $@

# The whole workspace at once: with fewer packages dependencies have other features, and are built once more.
# Python's packages are fetched while the compiler works.
$(BUILT): pyproject.toml scripts/dependencies.py $(RUST)
	@echo "building the simulator, the daemons and their tests (minutes the first time, seconds after that)"
	$(MAKE) --no-print-directory $(DEPENDENCIES) $(SITE_TOOLS) & packages=$$!; \
	cargo build --quiet --workspace --lib --bins --examples; built=$$?; wait $$packages && exit $$built
	$(BIN)/python scripts/editable.py
	rm -f $(EXTENSION)
	touch $@

$(BIN)/midpathd: $(RUST) scripts/symbols.py | $(DEPENDENCIES)
	cargo build --profile dist --quiet -p midpathd
	$(BIN)/python scripts/symbols.py target/dist/midpathd $@
