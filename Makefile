# A fresh machine needs git, make and Python 3.11+ with pip. Everything is installed inside this
# folder (.tools, .venv) from the lock files; each step is done once, and works offline after that.

PYTHON ?= python3
UV := .tools/bin/uv
BIN := .venv/bin
LOCKED := pyproject.toml --universal --python-version 3.11 --all-extras --group build \
	--generate-hashes --no-header --quiet

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

.DEFAULT_GOAL := help
.PHONY: help install run test bench pictures newcomer lint lock browser peers litellm focus

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.project ## set everything up in this folder (.tools, .venv)
	@echo "Installed. Next: make run shows the product with a demo;"
	@echo "$(CURDIR)/$(BIN)/rigledger init asks about your own rig and writes rigledger.toml."

run: .venv/.project ## open the product: collector and dashboard; a demo without rigledger.toml
	$(BIN)/rigledger up

# A few tests are run sooner by one process, which ARGS makes of it unless they say otherwise.
test: .venv/.project .venv/.tests browser litellm focus ## install what the tests need and run them all (ARGS="-k name")
	$(BIN)/python -m pytest $(or $(ARGS),-n logical)

bench: .venv/.project .venv/.tests browser peers ## measure speed against peers and targets (ONLY=name,name for some)
	@$(BIN)/python -m bench

pictures: .venv/.project .venv/.tests browser ## take the pictures of the documentation anew, from the demo
	@PYTHONPATH=. $(BIN)/python tests/pictures.py

newcomer: .venv/.project .venv/.tests browser ## walk the newcomer's way in an empty folder, timed: docs/newcomer.md
	@PYTHONPATH=. $(BIN)/python tests/newcomer.py

lint: .venv/.project .venv/.tests ## check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

lock: $(UV) ## renew the lock files from pyproject.toml (RENEW=--upgrade: newest versions)
	@echo "-> resolving requirements.lock and requirements-test.lock"
	@$(UV) pip compile $(LOCKED) $(RENEW) --output-file requirements.lock
	@$(UV) pip compile $(LOCKED) $(RENEW) --group test --group lint \
		--constraints requirements.lock --output-file requirements-test.lock
	@for name in bench/peers tests/litellm; do \
		echo "-> resolving $$name.lock" && \
		$(UV) pip compile $$name.in --universal --python-version 3.11 --generate-hashes \
			--no-header --quiet $(RENEW) --output-file $$name.lock || exit 1; \
	done
	@echo "-> resolving tests/focus.lock"
	@$(UV) pip compile tests/focus.in --universal --python-version 3.12 --generate-hashes \
		--no-header --quiet $(RENEW) --output-file tests/focus.lock

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one with PYTHON=python3.x" >&2; exit 1; }
	@echo "-> fetching the installer into .tools"
	@$(PYTHON) -m pip install -qq --upgrade --target .tools 'uv>=0.9' || \
		{ echo "The installer could not be fetched; $(PYTHON) needs pip, and this once a network" >&2; \
		exit 1; }

.venv/pyvenv.cfg: | $(UV)
	@echo "-> making .venv"
	@$(UV) venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv

.venv/.product: requirements.lock | .venv/pyvenv.cfg
	@echo "-> installing what the product needs into .venv"
	@$(UV) pip sync --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	@touch $@

# A link to this folder, made by the build backend from the lock.
.venv/.project: pyproject.toml .venv/.product
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.tests: requirements-test.lock .venv/.product
	@echo "-> installing what the tests need into .venv"
	@$(UV) pip install --compile-bytecode --python $(BIN)/python --require-hashes \
		--requirement requirements-test.lock
	@touch $@

browser: ## find a Chromium for the browser tests, or install one where that is allowed
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		command -v google-chrome >/dev/null || { \
			[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
			echo "-> installing Chromium for the browser tests" && \
			apt-get update -qq && apt-get install -y -qq chromium >/dev/null; \
		} || echo "No Chromium here and none could be installed: its tests are skipped."

# What is measured against or only tested with lives apart, so that it decides no version of ours.
define apart
	@[ build/$(1)/.installed -nt $(2) ] || { \
		echo "-> installing $(3) into build/$(1)" && \
		python="$$($(or $(4),$(PYTHON)) -c 'import sys; print(sys.executable)')" && \
		$(UV) venv --quiet --clear --python "$$python" build/$(1) && \
		$(UV) pip install --quiet --python build/$(1)/bin/python --require-hashes \
			--requirement $(2) && \
		touch build/$(1)/.installed; \
	} || echo "It could not be installed: what needs it is skipped, and says so."
endef

peers: $(UV) ## install what the benchmarks measure against, apart from all else (build/peers)
	$(call apart,peers,bench/peers.lock,what the benchmarks measure against)

litellm: $(UV) ## install a LiteLLM proxy for the tests, apart from all else (build/litellm)
	$(call apart,litellm,tests/litellm.lock,a LiteLLM proxy for the tests)

# It wants numpy 1 and hence Python 3.12, which may be this one, on the path or among pyenv's.
PYTHON_3_12 = $$(for each in $(PYTHON) python3.12 "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.12*/bin/python; \
	do "$$each" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null && \
	echo "$$each" && break; done || echo false)

focus: $(UV) ## install the validator that judges FOCUS rows, apart from all else (build/focus)
	$(call apart,focus,tests/focus.lock,the validator of FOCUS,$(PYTHON_3_12))
