# The commands of this repository:
#
#   make build         the program, build/phalanx
#   make demo          the program, showing a cluster at work (phalanx demo)
#   make test          everything that must hold before a change is taken in (tools/run-tests)
#   make cluster       a real Kubernetes control plane on this machine, with NODES=64 nodes and Phalanx
#   make cluster-down  stops it, and removes it
#   make bench-kubernetes  a burst of jobs on such control planes; OUT=FILE also writes the lines
#   make format        brings the sources into their form
#   make clean         removes what was built
#
# Each installs the Debian packages it needs, if they are missing. Standard output holds only what
# the product prints; the noise of building goes to standard error.

BUILD ?= build
JOBS ?= $(shell nproc)
NODES ?= 64

# Compiled files are found again by ccache from whatever folder the repository is in.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CCACHE_PCH_EXTSUM := 1
export CCACHE_SLOPPINESS := pch_defines,time_macros

.PHONY: build demo test cluster cluster-down bench-kubernetes format clean packages
.DEFAULT_GOAL := build

packages:
	@tools/install-packages build >&2

build: packages
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 >&2
	@ninja -C $(BUILD) -j$(JOBS) phalanx >&2

demo: build
	@$(BUILD)/phalanx demo

test:
	@tools/install-packages build test cluster go >&2  # now: a stage in the background cannot ask for a password
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/run-tests

cluster: build
	@tools/install-packages cluster go >&2
	@tests/kubernetes/cluster up "$(NODES)" $(BUILD)/phalanx

cluster-down:
	@tests/kubernetes/cluster down

bench-kubernetes: build
	@tools/install-packages cluster go >&2
	@OUT="$(OUT)" tests/kubernetes/bench-runs $(BUILD)/phalanx $(SIZES)

format:
	@tools/install-packages test >&2
	@find src tests -name '*.cc' -o -name '*.h' | xargs clang-format-19 -i

clean:
	@rm -rf $(BUILD) $(BUILD)-asan
