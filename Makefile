# Development tasks; `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all coverage attack lm check catalogues docs picture bench dist sbom installs lowest \
	format lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed-report ## Run a study of all games between scripted players, and write its report
	@mkdir -p demo
	$(BIN)/cheaptalk run quickstart --store demo/demo.sqlite
	$(BIN)/cheaptalk report quickstart --store demo/demo.sqlite --out demo/report.html

test: $(VENV)/.installed-test ## Run the tests that need only Python and the packages of the extra test
	$(PYTEST) -m "not ($(SPECIAL))"
	@echo "Excluded: tests of uninstalled extras, and those marked $(SPECIAL)."
	@echo "To check style and types, use: make check. To run all tests, use: make test-all."

test-all: check lm ## Check style and types, and run all tests with all extras
	$(PYTEST)
	CHEAPTALK_TEST_STORES=postgres $(PYTEST) -m "not ($(SPECIAL))" tests/records tests/studies

coverage: $(VENV)/.installed-dev ## Measure the line and branch coverage of make test
	$(PYTEST) -m "not ($(SPECIAL))" --cov

SPECIAL := browser or hostile or kill or lm or slow
PYTEST := $(BIN)/pytest -W error --numprocesses auto --maxprocesses 8 --dist worksteal

attack: $(VENV)/.installed-dev ## Run randomized attacks on payments, keys and records (MINUTES=60 SEED=0)
	$(BIN)/python -m tests.attack --minutes $(MINUTES) --seed $(SEED)

MINUTES ?= 60
SEED ?= 0

lm: $(VENV)/.installed-lm ## Install PyTorch and transformers for tests with a real model

check: $(VENV)/.installed-dev ## Check style, types, layers and the Containerfile
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Containerfile

catalogues: $(VENV)/.installed-test ## Update the translation catalogues, and list missing and fuzzy texts
	$(BIN)/python -m tests.catalogues

docs: $(VENV)/.installed-lm ## Build the documentation into site/; a notebook uses a real model
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

picture: demo ## Create the README's picture from the report of make demo; requires Chromium
	$(BIN)/python -m docs.pictures demo/report.html docs/images/report.png

bench: $(VENV)/.installed-dev ## Run the benchmarks
	$(BIN)/python -m bench

dist: $(VENV)/.installed-dev ## Build a reproducible wheel and sdist of the last commit in DIST=dist
	rm -rf $(DIST)
	mkdir -p $(DIST)/source
	git archive HEAD | tar -x -C $(DIST)/source
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BUILD) --sdist --wheel $(DIST)/source
	rm -r $(DIST)/source

sbom: dist ## Write a CycloneDX bill of materials of the wheel with [analysis] to DIST
	$(BIN)/uv venv --quiet --python $(BIN)/python $(DIST)/venv
	$(BIN)/uv pip install --quiet --python $(DIST)/venv --constraint requirements/report.txt \
		"$$(echo $(DIST)/*.whl)[analysis]"
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application \
		--output-reproducible --output-file $(DIST)/cheaptalk.cdx.json $(DIST)/venv
	rm -r $(DIST)/venv

installs: dist ## Test the wheel with each extra in new environments (PYTHONS="3.11 3.13" EXTRAS="none web")
	$(BIN)/python -m tests.installs $(PYTHONS:%=--python %) $(EXTRAS:%=--extra %)

lowest: dist ## Test the wheel with the lowest versions of its dependencies
	$(BIN)/python -m tests.installs --lowest --extra report --extra analysis

DIST ?= dist
BUILD = $(BIN)/uv build --quiet --offline --no-build-isolation --no-create-gitignore \
	--python $(BIN)/python --out-dir $(DIST)

format: $(VENV)/.installed-dev ## Apply ruff's fixes and formatting
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: $(VENV)/.installed-dev ## Update the pinned dependencies (UPGRADE=--upgrade for the latest versions)
	$(BUILD_NEEDS) | $(COMPILE) --extra analysis --output-file requirements/report.txt
	$(BUILD_NEEDS) | $(COMPILE) --extra test --output-file requirements/test.txt \
		--constraint requirements/report.txt
	$(BUILD_NEEDS) | $(COMPILE) --extra dev --output-file requirements/dev.txt \
		--constraint requirements/test.txt
	$(BUILD_NEEDS) | $(COMPILE) --extra smollm --extra tune --extra openenv --output-file requirements/lm.txt \
		--constraint requirements/dev.txt --override requirements/lm-override.txt

BUILD_NEEDS = $(BIN)/python -c 'import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")'
COMPILE = $(BIN)/uv pip compile - pyproject.toml --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --no-strip-extras --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

clean: ## Remove all generated files, including .venv
	rm -rf $(VENV) demo dist site .coverage .coverage.* .hypothesis \
		.mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed-%: requirements/%.txt pyproject.toml | $(BIN)/python
	@echo "Installing the packages in requirements/$*.txt; this can take minutes"
	@$(INSTALL) $(NO_COMPILE) --require-hashes --requirement $<
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check # -qq prints only errors

$(VENV)/.installed-report: NO_COMPILE := --no-compile # the demo imports few of the modules

$(VENV)/.installed-lm: requirements/lm.txt $(VENV)/.installed-dev
	@echo "Installing PyTorch and the packages in $<"
	@$(INSTALL) --no-deps --require-hashes --requirement $<
	@$(INSTALL) torch==2.13.0 # without a hash because builds differ by platform
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"cheaptalk requires Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] \
		+ "; set a newer version: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
