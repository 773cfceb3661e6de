# The one door. `make run` and `make test` need Python 3.11+ and make, nothing else.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	command -v $$p >/dev/null && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
UV := UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv
KAFKA_DIR ?= $(CURDIR)/.cache/apache-kafka
SPARK_CONNECTOR_DIR ?= $(CURDIR)/.cache/spark-connector
KAFKA_STREAMS_DIR ?= $(CURDIR)/.cache/kafka-streams
CONNECT_CLIENT_DIR ?= $(CURDIR)/.cache/kafka-connect-client
DEBEZIUM_DIR ?= $(CURDIR)/.cache/debezium
# Tests wait more than they compute, so there are more workers than cores; each runs whole modules.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := --dist loadfile --no-loadscope-reorder -n
TEST_WORKERS ?= $(shell echo $$(( $(CORES) * 2 < 8 ? $(CORES) * 2 : 8 )))
# Each of these may have several brokers and Java programs of its own, with timeouts of their own,
# which they miss on a machine that is too busy.
COMPAT_WORKERS ?= $(shell echo $$(( $(CORES) < 4 ? $(CORES) : 4 )))

# With RETRY=1, tests of real processes that fail run once more, alone (tools/run_tests.py).
PYTEST := $(BIN)/$(if $(RETRY),python -m tools.run_tests,pytest)

SEEDS ?= 100

.PHONY: run test test-most test-own-spark test-plain classes check compat torture bench simulate simulate-mutants stalls format generate build compiled clean help

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/uv:
	@test -n "$(PYTHON)" || { echo "Moldau needs Python 3.11 or newer on the path (set PYTHON=/path/to/python)"; exit 1; }
	@echo "moldau: making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "moldau: installing uv"
	@$(BIN)/python -m pip install --quiet uv

# What the broker needs, and no more. The install is editable: an edit needs no new one. Compiled
# modules in src are of an earlier version of this file; today's are in build/compiled.
$(VENV)/run.stamp: $(BIN)/uv pyproject.toml uv.lock
	@echo "moldau: installing what the broker needs"
	@find src -name '*.so' -delete
	@$(UV) sync --frozen --inexact --no-dev
	@touch $@

# Everything, with bytecode: more than a tenth of a second of each start goes into making it where
# the environment forbids Python to keep it (PYTHONDONTWRITEBYTECODE).
$(VENV)/dev.stamp: $(BIN)/uv pyproject.toml uv.lock
	@echo "moldau: installing everything for development: Spark, Java and test tools, some 600 MB"
	@find src -name '*.so' -delete
	@$(UV) sync --frozen --inexact --all-groups --no-group compile --compile-bytecode
	@touch $@ $(VENV)/run.stamp

# The hot modules, in build/compiled: nothing to do if they are there and no source has changed.
compiled: $(VENV)/run.stamp
	@$(BIN)/python -m tools.compile_modules

build: $(VENV)/dev.stamp compiled  ## set up the virtual environment and compile the hot modules

# The broker does not wait for the compiler: until the modules are compiled it runs plain.
run: $(VENV)/run.stamp  ## a broker on localhost:9092
	@$(BIN)/python -m tools.run $(ARGS)

# With it, each of the many sessions of Spark in tests starts with half the work. To make it takes
# half a minute; without Java there is none.
classes: $(VENV)/dev.stamp  ## an archive of Spark's classes, with which sessions start sooner
	-@$(BIN)/python -m moldau.spark.archive_making

# A process has one Spark session, with one configuration: workers and SQL have their own.
OWN_SPARK := tests/connect_spark tests/sql
test: test-most $(if $(ARGS),,test-own-spark)  ## unit and broker tests (Python only)

test-most: build
	$(PYTEST) --ignore=tests/compat $(OWN_SPARK:%=--ignore=%) $(PARALLEL) $(TEST_WORKERS) -rs $(ARGS)

test-own-spark: build
	$(foreach tests,$(OWN_SPARK),$(PYTEST) $(tests) -rs &&) true

# What is compiled has tests on the plain sources as well.
test-plain: $(VENV)/dev.stamp  ## the tests of compiled modules, on the plain sources
	MOLDAU_PLAIN=1 $(PYTEST) $(PARALLEL) $(TEST_WORKERS) -rs $(or $(ARGS),tests/broker tests/group_coordinator tests/network tests/protocol tests/record tests/storage)

check: $(VENV)/dev.stamp  ## lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --config pyproject.toml --no-cache
	$(BIN)/python -m moldau.protocol.generator --check

COMPAT_DIRS := KAFKA_DIR SPARK_CONNECTOR_DIR KAFKA_STREAMS_DIR CONNECT_CLIENT_DIR DEBEZIUM_DIR
compat: build $(foreach dir,$(COMPAT_DIRS),$($(dir))/READY) $(KAFKA_DIR)/classes.jsa  ## clients and tools of other ecosystems
	$(foreach dir,$(COMPAT_DIRS),$(dir)=$($(dir))) $(PYTEST) tests/compat $(PARALLEL) $(COMPAT_WORKERS) -rs $(ARGS)

# What compat does for seconds or a few times, for an hour or dozens of times.
torture: export TORMENT_SECONDS ?= 3600
torture: export CLUSTER_ROUNDS ?= 50
torture: export NODE_ROUNDS ?= 10
torture: export COPIER_ROUNDS ?= 50
torture: export KILLS ?= 30
torture: export EXACTLY_ONCE_KILLS ?= 50
torture: export TRANSFORM_RECORDS ?= 10000
torture: export DEBEZIUM_ROWS ?= 100000
TORTURES := $(addprefix tests/compat/test_,replication_torment.py transaction_torment.py mixed_replication.py \
	mixed_transactions.py quorum_changes.py transaction_copier.py spark_exactly_once.py capture_kills.py \
	connect_kills.py jdbc_kills.py lake_kills.py connect_transforms.py postgres_debezium.py)
torture: build $(foreach dir,$(COMPAT_DIRS),$($(dir))/READY) $(KAFKA_DIR)/classes.jsa  ## the long forms of tests with faults, for hours: TORMENT_SECONDS=600, or ARGS=tests/...
	$(foreach dir,$(COMPAT_DIRS),$(dir)=$($(dir))) $(BIN)/pytest -rs -s $(or $(ARGS),$(TORTURES))

bench: build $(KAFKA_DIR)/READY $(SPARK_CONNECTOR_DIR)/READY $(DEBEZIUM_DIR)/READY  ## one table, interleaved with Apache Kafka
	KAFKA_DIR=$(KAFKA_DIR) SPARK_CONNECTOR_DIR=$(SPARK_CONNECTOR_DIR) DEBEZIUM_DIR=$(DEBEZIUM_DIR) $(BIN)/python -m benchmarks $(ARGS)

$(KAFKA_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-apache-kafka $(KAFKA_DIR); \
	else echo "Java 17+ or mvn is not on the path: what needs Apache Kafka will be skipped"; fi

# The tests start Apache Kafka's brokers and tools hundreds of times.
$(KAFKA_DIR)/classes.jsa: $(KAFKA_DIR)/READY | $(VENV)/dev.stamp
	@if [ ! -e $< ]; then exit; fi; echo "moldau: archiving the classes of Apache Kafka"; \
	KAFKA_DIR=$(KAFKA_DIR) $(BIN)/python -m tools.kafka_class_archive || echo "moldau: it goes without"

$(SPARK_CONNECTOR_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-spark-connector $(SPARK_CONNECTOR_DIR); \
	else echo "Java 17+ or mvn is not on the path: Spark's own connector will be skipped"; fi

$(KAFKA_STREAMS_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-kafka-streams $(KAFKA_STREAMS_DIR); \
	else echo "Java 17+ or mvn is not on the path: Kafka Streams will be skipped"; fi

$(CONNECT_CLIENT_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-connect-client $(CONNECT_CLIENT_DIR); \
	else echo "Java 17+ or mvn is not on the path: the Java client of Connect will be skipped"; fi

$(DEBEZIUM_DIR)/READY:
	@if command -v mvn >/dev/null && command -v java >/dev/null; then tools/install-debezium $(DEBEZIUM_DIR); \
	else echo "Java 17+ or mvn is not on the path: Debezium will be skipped"; fi

simulate: build  ## whole clusters in virtual time, with faults: SEEDS=500, or ARGS="--seed 7 --trace"
	$(BIN)/python -m moldau.simulator $(if $(findstring --seed,$(ARGS))$(findstring --large,$(ARGS)),,--seeds $(SEEDS)) $(ARGS)

simulate-mutants: $(VENV)/dev.stamp  ## that simulations find bugs: each mutant must be caught
	$(BIN)/python -m moldau.simulator.mutants $(ARGS)

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
