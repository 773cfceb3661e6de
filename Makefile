# The one door. `make run` and `make test` need Python 3.11+ and make, nothing else.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
UV := UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv
SOURCES := $(shell find src -name '*.py' -o -name '*.pxd' -o -name '*.txt' | grep -v __pycache__) setup.py pyproject.toml uv.lock
KAFKA_DIR ?= $(CURDIR)/.cache/apache-kafka
SPARK_CONNECTOR_DIR ?= $(CURDIR)/.cache/spark-connector

.PHONY: run test check compat bench stalls format generate build clean help

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/uv:
	@test -n "$(PYTHON)" || { echo "Moldau needs Python 3.11 or newer on the path (set PYTHON=/path/to/python)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

# The editable install also compiles the hot modules, where a C compiler is there. What was
# compiled before goes first: a module that is plain now must not be shadowed by its past.
# Bytecode is written here and now: more than a tenth of a second of each start goes into making
# it where the environment forbids Python to keep it (PYTHONDONTWRITEBYTECODE).
$(VENV)/run.stamp: $(BIN)/uv $(SOURCES)
	@find src -name '*.so' -delete
	$(UV) sync --quiet --frozen --inexact --no-dev --compile-bytecode --reinstall-package moldau
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/dev.stamp: $(BIN)/uv $(SOURCES)
	@find src -name '*.so' -delete
	$(UV) sync --quiet --frozen --inexact --all-groups --compile-bytecode --reinstall-package moldau
	@$(BIN)/python -m compileall -q src
	@touch $@ $(VENV)/run.stamp

build: $(VENV)/dev.stamp  ## set up the virtual environment and compile the hot modules

run: $(VENV)/run.stamp  ## a broker on localhost:9092
	$(BIN)/moldau start $(ARGS)

test: $(VENV)/dev.stamp  ## unit and broker tests (Python only, under ten minutes)
	$(BIN)/pytest --ignore=tests/compat -rs $(ARGS)

check: $(VENV)/dev.stamp  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml --no-cache
	$(BIN)/python -m moldau.protocol.generator --check

compat: $(VENV)/dev.stamp $(KAFKA_DIR)/READY $(SPARK_CONNECTOR_DIR)/READY  ## clients and tools of other ecosystems
	KAFKA_DIR=$(KAFKA_DIR) SPARK_CONNECTOR_DIR=$(SPARK_CONNECTOR_DIR) $(BIN)/pytest tests/compat -rs $(ARGS)

bench: $(VENV)/dev.stamp $(KAFKA_DIR)/READY $(SPARK_CONNECTOR_DIR)/READY  ## one table, interleaved with Apache Kafka
	KAFKA_DIR=$(KAFKA_DIR) SPARK_CONNECTOR_DIR=$(SPARK_CONNECTOR_DIR) $(BIN)/python -m benchmarks $(ARGS)

$(KAFKA_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-apache-kafka $(KAFKA_DIR); \
	else echo "Java 17+ or mvn is not on the path: what needs Apache Kafka will be skipped"; fi

$(SPARK_CONNECTOR_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-spark-connector $(SPARK_CONNECTOR_DIR); \
	else echo "Java 17+ or mvn is not on the path: Spark's own connector will be skipped"; fi

stalls: $(VENV)/dev.stamp  ## can one client keep the others waiting? attacks with a probe beside each
	$(BIN)/python -m benchmarks.stalls $(ARGS)

format: $(VENV)/dev.stamp  ## rewrite the code in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generate: $(VENV)/dev.stamp  ## what is generated: protocol messages, docs/compatibility.md
	$(BIN)/python -m moldau.protocol.generator
	$(BIN)/python -m tools.compatibility

clean:  ## forget the environment and what was built
	rm -rf $(VENV) build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src -name '*.so' -delete
