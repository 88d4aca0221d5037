# Every target works as the first command on a fresh clone: Python >= 3.11 and make are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo-installed
DEV := $(VENV)/.dev-installed
DOCS := $(VENV)/.docs-installed
SITE := runs/docs/html

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Also reaches the isolated build environment, which `pip install -c` does not.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.PHONY: demo demo-models docs docs-links docs-look reference test test-slow fuzz lint format bench bench-gpu drills field field-page packages promises release clean

$(VENV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "randsmooth needs Python >= 3.11; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What the quickstart runs, and what development needs on top of it.
$(DEMO): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/pip install --quiet --editable '.[torch,report]'
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $(DEMO) $@

$(DOCS): pyproject.toml constraints.txt | $(VENV)
	$(BIN)/pip install --quiet --editable '.[dev,docs]'
	@touch $(DEMO) $(DEV) $@

demo: $(DEMO)
	$(BIN)/randsmooth quickstart --out runs/quickstart --overwrite

# The models that come with the package, `demo` and `demo-amplify`, made again by seed 0: some minutes
TRAIN_DEMO = OMP_NUM_THREADS=1 $(BIN)/randsmooth train digits --sigma 0.5 --epochs 40 --seed 0 --overwrite --logger csv
demo-models: $(DEMO)
	$(TRAIN_DEMO) --method gaussian --out runs/demo
	$(TRAIN_DEMO) --method amplify --set E_t=16 --set p_t=0.2 --set T=3 --out runs/demo-amplify
	@for name in demo demo-amplify; do \
		mkdir -p src/randsmooth/models/$$name && \
		for file in config.json model.safetensors README.md; do cp runs/$$name/$$file src/randsmooth/models/$$name/ || exit 1; done; \
	done

test: $(DEV)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal --durations=20

test-slow: $(DEV)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m slow --durations=20

# FUZZ_INPUTS, FUZZ_SEED and FUZZ_READERS come from the environment or the command line: make fuzz FUZZ_INPUTS=10000
fuzz: $(DEV)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m fuzz

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/oxlint --deny-warnings src docs/field

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# REPOSITORY=https://github.com/OWNER/NAME lets links to files of the sources lead there; else these are downloads.
# The site: the blocks of all pages are run, then pages and notebooks built, then links and what is fetched looked at.
docs: $(DOCS)
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -n 2 --dist worksteal -m '' tests/test_guides.py
	REPOSITORY="$(REPOSITORY)" OMP_NUM_THREADS=1 $(BIN)/sphinx-build -j 2 -n -W --keep-going --quiet -d runs/docs/doctrees docs $(SITE)
	$(BIN)/python docs/_checks/site_checks.py $(SITE)
	@echo "the site: $(SITE)/index.html"

# docs/schemas, and docs/_reference: what the build makes of the code, as Markdown for who reads the pages without a build.
reference: $(DEV)
	$(BIN)/python docs/_ext/schemas.py
	$(BIN)/python docs/_ext/plain.py

# Links to other sites, which needs the network; pictures of every page in Chromium, in runs/docs/look.
docs-links: docs
	$(BIN)/sphinx-build -b linkcheck -D nb_execution_mode=off -q -d runs/docs/doctrees docs runs/docs/links

docs-look: docs
	$(BIN)/python docs/_checks/look.py $(SITE) runs/docs/look

bench: $(DEV)
	$(BIN)/pip install --quiet --editable '.[dev,bench]'
	@missed=0; for benchmark in "pages.py startup" "engine.py loops" "engine.py peak" "engine.py drawing" "engine.py int8" \
		training.py "savings.py rules" "savings.py accuracy" "savings.py bounds" "wallclock.py savings" \
		"wallclock.py plan" "engine.py memory" "pages.py report" "pages.py leaderboard"; do \
		$(BIN)/python benchmarks/$$benchmark || missed=1; \
	done; exit $$missed

# BENCH_GPU="--device cpu --tiny" tries the command without a GPU
bench-gpu: $(DEV)
	$(BIN)/python benchmarks/gpu.py --out runs/bench/gpu.json $(BENCH_GPU)

# kill -9, full disks and more, against the commands: DRILLS_TIMES=20 DRILLS_SEED=0 DRILLS="kill -9,disk full"
drills: $(DEV)
	OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -m drills

# Judge the released logs below CLONES (default: published-logs beside RANDSMOOTH_DATA) for docs/field.
field: $(DEV)
	OMP_NUM_THREADS=1 $(BIN)/python -m docs.field.make $(CLONES)

# The page of what was judged last, for reading it here: runs/field.html
field-page: $(DEV)
	$(BIN)/python -m docs.field.page runs/field.html

# The built wheel and sdist in empty environments, without the repository. PACKAGES="--python 3.12 --extras core --lowest"
packages:
	$(PYTHON) release/try_packages.py $(PACKAGES)

# What README, docs and --help promise, a command each (results/promises.csv): PROMISES="rule,shard" tries some rows
promises: $(DEV)
	OMP_NUM_THREADS=1 $(BIN)/python release/promises.py

# What has to be right before a version is published; it publishes nothing. The sources name no address and no person:
# make release REPOSITORY=https://github.com/OWNER/NAME AUTHOR="NAMES" RELEASE="--tests --keep"
release:
	$(PYTHON) release/check_release.py --repository "$(REPOSITORY)" --author "$(AUTHOR)" $(RELEASE)

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache
