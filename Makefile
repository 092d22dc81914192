# Windlass. `make` lists the targets. Go 1.26, git and make are all they need; a C compiler adds the race detector.

.DEFAULT_GOAL := help

GO      ?= go
# What `make test` tests. `work` is every module of go.work; `make test PKG=./libs/bus/... ARGS='-run Replay -v'`.
PKG     ?= work
ARGS    ?=
TIMEOUT ?= 30m
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo dev)

# Builds must not depend on a working git: stamping fails, for example, in a checkout that another user owns.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false)

TOOLS := bin/tools
BUF   ?= $(TOOLS)/buf
LINT  := $(CURDIR)/$(TOOLS)/golangci-lint

# Modules that are not in go.work: each is built by itself.
TOOL_MODULES := $(patsubst %/go.mod,%,$(wildcard tools/*/go.mod))
ALL_MODULES  := . examples deploy/temporal $(TOOL_MODULES)

# Modules outside go.work are compiled with the flags of `make windlass`, so that the standard library and dependencies of the same version are compiled
# once. deploy/temporal keeps its dependencies at the versions of the root module where the Temporal server compiles with them.
MODULE_ENV   := GOWORK=off CGO_ENABLED=0
TEMPORAL_SRC := $(shell find deploy/temporal -type f ! -name '*_test.go' 2>/dev/null)

# A CPU profile of windlass for the compiler: saves about 5 % of processor time, and compiles every dependency once more.
# So only releases and benchmarks are built with it.
PGO := -pgo=cmd/profile.pgo

# The tool servers that the agents of a new data directory use.
UP_EXAMPLES := ./examples/calculator ./examples/notes

# SQLite is C translated to Go. Its memory is not Go's, so the race detector finds nothing there, and would take a third of the processor time
# of a process under test. All other code is instrumented, the driver included.
RACE_FLAGS := -race -gcflags=modernc.org/sqlite/lib=-race=false

# The race detector needs cgo, and cgo a compiler that finds the C library's headers.
RACE = $(shell printf '\043include <stdlib.h>\nint main(void){return 0;}\n' | $$($(GO) env CC) -x c -o /dev/null - 2>/dev/null && echo $(RACE_FLAGS))

.PHONY: help
help: ## Show this list
	@echo "Windlass $(VERSION). Targets:"
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## /{printf "  \033[1m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "Variables: ARGS (for up, test, bench), PKG, TIMEOUT (test), BASE_REF, ALLOW_BREAKING=1 (check), FUZZTIME (fuzz)."

## Run and build

.PHONY: up
up: bin/windlass-temporal windlass ## Build what it needs and start Windlass on this machine (ARGS='--data-dir …')
	@mkdir -p bin/examples
	@CGO_ENABLED=0 $(GO) build -o bin/examples/ $(UP_EXAMPLES)
	@exec bin/windlass up $(ARGS)

.PHONY: build
build: bin/windlass-temporal windlass windlassd examples ## Build windlass, windlassd, windlass-temporal and the example servers into bin/

.PHONY: windlass
windlass:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/ ./cmd/windlass

.PHONY: windlassd
windlassd:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/ ./cmd/windlassd

.PHONY: examples
examples:
	@mkdir -p bin/examples
	CGO_ENABLED=0 $(GO) build -o bin/examples/ ./examples/...

.PHONY: release
release: bin/windlass-temporal ## Build the same, profile-guided, stripped and without paths, into bin/release/
	@mkdir -p bin/release/examples
	CGO_ENABLED=0 $(GO) build -trimpath $(PGO) -ldflags "-s -w -X main.version=$(VERSION)" -o bin/release/ ./cmd/windlass ./cmd/windlassd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/release/examples/ ./examples/...
	@cp bin/windlass-temporal bin/release/

bin/windlass-temporal: $(TEMPORAL_SRC)
	@echo "building the Temporal dev server: the first time takes some minutes, later builds seconds"
	@mkdir -p bin
	$(MODULE_ENV) $(GO) -C deploy/temporal build -ldflags "-s -w" -o $(CURDIR)/$@ .
	@touch $@

# The programs that process tests start: race-instrumented where possible, laid out like bin/. They are linked without debug information, which
# neither stack traces nor the race detector's reports need.
.PHONY: test-programs
test-programs: bin/windlass-temporal
	@mkdir -p bin/test/examples
	@$(GO) build $(RACE) -ldflags "-s -w -X main.version=$(VERSION)" -o bin/test/ ./cmd/windlass ./cmd/windlassd
	@$(GO) build $(RACE) -ldflags "-s -w" -o bin/test/examples/ ./examples/...
	@ln -sf ../windlass-temporal bin/test/windlass-temporal

# The same with fault points, for the tests that kill processes at exact lines.
.PHONY: fault-programs
fault-programs: test-programs
	@mkdir -p bin/faults
	@$(GO) build $(RACE) -tags faults -ldflags "-s -w -X main.version=$(VERSION)" -o bin/faults/ ./cmd/windlass ./cmd/windlassd
	@ln -sfn ../test/examples bin/faults/examples
	@ln -sf ../windlass-temporal bin/faults/windlass-temporal

# Without the race detector, which multiplies memory: for the tests that hold a program to a bound of it.
.PHONY: plain-programs
plain-programs: test-programs
	@mkdir -p bin/plain
	@[ -z "$(RACE)" ] || CGO_ENABLED=0 $(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/plain/ ./cmd/windlassd

## Test

.PHONY: test
test: test-work $(if $(filter work,$(PKG)),test-modules) ## Run all tests, with the race detector if there is a C compiler (PKG, ARGS, TIMEOUT)

# A program with the race detector otherwise sleeps for a second when it exits, test binaries included.
test-work test-modules: export GORACE := atexit_sleep_ms=0

# `make check` vets, so that go test need not.
.PHONY: test-work
test-work: fault-programs plain-programs
	@[ -n "$(RACE)" ] || echo "NOTE: no C compiler with headers found, so the tests run without the race detector"
	@$(GO) test $(RACE) -vet=off -tags faults ./libs/faultpoint
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test $(GO) test $(RACE) -vet=off -shuffle=on -timeout $(TIMEOUT) $(PKG) $(ARGS)

# Tests of modules outside go.work.
.PHONY: test-modules
test-modules:
	$(MODULE_ENV) $(GO) -C deploy/temporal test -shuffle=on -timeout $(TIMEOUT) ./...
	$(MODULE_ENV) $(GO) -C tools/protoc test ./...

.PHONY: tilt-ci
tilt-ci: $(TOOLS)/tilt ## Start the mesh with Tilt, run one turn through it, and stop (the first build of Tilt takes some minutes)
	@./scripts/tilt-ci.sh $(TOOLS)/tilt

.PHONY: cover
cover: fault-programs plain-programs ## Run the tests and write bin/cover.html; prints the total
	@WINDLASS_TEST_BIN=$(CURDIR)/bin/test $(GO) test -timeout $(TIMEOUT) -covermode=atomic -coverprofile=bin/cover.out \
		-coverpkg=./libs/...,./services/...,./workflows/...,./gateway/...,./internal/... ./... $(ARGS)
	@grep -v -e '/gen/' bin/cover.out > bin/cover.own && mv bin/cover.own bin/cover.out
	@$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

.PHONY: chaos
chaos: fault-programs ## Try SEQUENCES (1000) of random commands against a model; kill every role at every point of a turn, break links and the database there, then all that at random for DURATION (10m), drawn from SEED, and again under clients whose histories are checked; ENGINE=sqlite or postgres; CELLS=0 leaves the points out
	RAPID_CHECKS=$(or $(SEQUENCES),1000) $(GO) test -count=1 -timeout 2h -v -run TestSessionsAndTurns ./test/property
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_CHAOS=$(or $(DURATION),10m) WINDLASS_CHAOS_SEED=$(SEED) WINDLASS_CHAOS_ENGINE=$(ENGINE) \
		$(GO) test $(RACE) -count=1 -timeout 2h -v -run 'TestClients|TestKeptSeeds' ./test/concurrent
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_CHAOS=$(or $(DURATION),10m) WINDLASS_CHAOS_SEED=$(SEED) WINDLASS_CHAOS_CELLS=$(CELLS) WINDLASS_CHAOS_ENGINE=$(ENGINE) \
		$(GO) test $(RACE) -count=1 -timeout 2h -v -run 'TestMatrix|TestCancelAtEachMoment|TestDiskFull|TestKeptSeeds|TestChaos' ./test/crash

.PHONY: eval
eval: test-programs ## Let MODEL ("provider/model") choose strategies for example requests, and report how often it agrees with a person
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_EVAL_MODEL=$(MODEL) $(GO) test -count=1 -timeout 1h -v ./test/eval

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (20s each)
	@FUZZTIME=$(or $(FUZZTIME),20s) ./scripts/fuzz.sh

.PHONY: bench
bench: release ## Compare turns with the same calls made directly (ARGS for the flags of ./bench)
	$(GO) run ./bench -bin bin/release $(ARGS)

.PHONY: profile
profile: build ## Find out again where windlass spends its time, which tells the compiler what to make fast (cmd/profile.pgo)
	@mkdir -p bin/profile
	CGO_ENABLED=0 $(GO) build -tags profile -o bin/profile/ ./cmd/windlass
	@ln -sfn ../examples bin/profile/examples
	@ln -sf ../windlass-temporal bin/profile/windlass-temporal
	CPU_PROFILE=$(CURDIR)/bin/profile/cpu.pprof $(GO) run ./bench -bin bin/profile -turns 100 -paced-turns 20 -concurrency 64 -steady 0
	GOWORK=off $(GO) -C tools/pgo run . $(CURDIR)/bin/profile/cpu.pprof $(CURDIR)/cmd/profile.pgo

## Check

.PHONY: check
check: vet lint check-generated check-console check-proto check-tidy check-workflows check-deploy check-supply ## Run every check that is no test, as CI does
	@echo "check: ok"

.PHONY: vet
vet: ## Run go vet on every module of go.work
	CGO_ENABLED=0 $(GO) vet work

.PHONY: lint
lint: $(TOOLS)/.lint ## Run golangci-lint (.golangci.yaml), formatting included
	CGO_ENABLED=0 $(LINT) run ./...
	cd examples && CGO_ENABLED=0 $(LINT) run ./...
	cd tools/protoc && $(MODULE_ENV) $(LINT) run ./...
	cd deploy/temporal && $(MODULE_ENV) $(LINT) run ./...

.PHONY: check-generated
check-generated: third_party/proto/.stamp $(BUF) ## Fail if generated code is not what proto/ gives
	@BUF=$(BUF) ./scripts/generate.sh --check

.PHONY: check-console
check-console: $(TOOLS)/esbuild ## Fail if the built pages are not what gateway/console/app gives; left out without npm
	@ESBUILD=$(TOOLS)/esbuild ./scripts/console.sh --check

.PHONY: check-proto
check-proto: third_party/proto/.stamp $(BUF) ## Lint proto/, check its format and that it breaks no client of BASE_REF
	$(BUF) lint
	$(BUF) format --diff --exit-code proto
	@BUF=$(BUF) ./scripts/breaking.sh

.PHONY: check-tidy
check-tidy: ## Fail if a go.mod or go.sum is not tidy
	@bad=; for m in $(ALL_MODULES); do GOWORK=off $(GO) -C $$m mod tidy -diff || bad="$$bad $$m"; done; \
	[ -z "$$bad" ] || { echo "not tidy, run 'make tidy':$$bad"; exit 1; }

.PHONY: check-workflows
check-workflows: $(TOOLS)/.lint ## Fail if workflow code is not deterministic (Temporal's workflowcheck)
	@if [ -d workflows ]; then $(TOOLS)/workflowcheck ./workflows/...; else echo "workflowcheck: skipped, no workflows yet"; fi

.PHONY: check-deploy
check-deploy: ## Check charts and Prometheus rules with the helm and promtool on PATH; skips what is absent
	@./scripts/check-deploy.sh

.PHONY: check-supply
check-supply: $(TOOLS)/.supply ## Check modules, licences and known vulnerabilities, and that no secret was committed
	@TOOLS=$(TOOLS) ./scripts/check-supply.sh

.PHONY: sbom
sbom: $(TOOLS)/.supply ## Write a bill of materials (CycloneDX) to bin/sbom.json
	@$(TOOLS)/cyclonedx-gomod mod -json -licenses -std -output bin/sbom.json .

## Write

.PHONY: generate
generate: third_party/proto/.stamp $(BUF) ## Generate Go, gateway and OpenAPI code from proto/
	@BUF=$(BUF) ./scripts/generate.sh

.PHONY: console
console: $(TOOLS)/esbuild ## Build the pages of gateway/console/app into gateway/console/dist (needs npm)
	@ESBUILD=$(TOOLS)/esbuild ./scripts/console.sh

.PHONY: screenshots
screenshots: test-programs ## Take the pictures of docs/images again (needs npm and Chromium)
	@mkdir -p docs/images
	PICTURES=$(CURDIR)/docs/images WINDLASS_TEST_BIN=$(CURDIR)/bin/test $(GO) test -count=1 -run TestConsole ./test/browser

.PHONY: fmt
fmt: $(TOOLS)/.lint $(BUF) ## Format Go (gofumpt) and proto files
	$(LINT) fmt ./...
	cd examples && $(LINT) fmt ./...
	cd deploy/temporal && $(LINT) fmt ./...
	$(BUF) format --write proto

.PHONY: tidy
tidy: ## Run go mod tidy in every module
	@for m in $(ALL_MODULES); do echo "tidy $$m"; GOWORK=off $(GO) -C $$m mod tidy || exit 1; done

## Care

.PHONY: doctor
doctor: ## Say what this machine has and lacks for working on Windlass
	@RACE="$(RACE)" ./scripts/doctor.sh

.PHONY: clean
clean: ## Remove what is built, except the slow ones: developer tools and windlass-temporal
	rm -rf bin/windlass bin/windlassd bin/examples bin/release bin/test bin/faults bin/plain bin/cover.*

.PHONY: distclean
distclean: ## Remove everything that is built or generated outside git (.windlass data stays)
	rm -rf bin third_party

## Developer tools, in bin/tools: each family is a module under tools/ and is built again when its go.mod changes.

$(TOOLS)/.protoc: tools/protoc/go.mod tools/protoc/go.sum $(wildcard tools/protoc/*/*.go)
	@echo "building the protoc plugins (once, under a minute)"
	@mkdir -p $(TOOLS)
	@$(MODULE_ENV) $(GO) -C tools/protoc build -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool ./protodeps
	@touch $@

third_party/proto/.stamp: $(TOOLS)/.protoc
	@rm -rf third_party/proto
	@$(TOOLS)/protodeps -out third_party/proto
	@touch $@

$(TOOLS)/buf: tools/buf/go.mod tools/buf/go.sum
	@echo "building buf (once, some minutes)"
	@mkdir -p $(TOOLS)
	@$(MODULE_ENV) $(GO) -C tools/buf build -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

$(TOOLS)/esbuild: tools/esbuild/go.mod tools/esbuild/go.sum
	@echo "building esbuild (once, seconds)"
	@mkdir -p $(TOOLS)
	@$(MODULE_ENV) $(GO) -C tools/esbuild build -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

$(TOOLS)/.lint: tools/lint/go.mod tools/lint/go.sum
	@echo "building golangci-lint and workflowcheck (once, some minutes)"
	@mkdir -p $(TOOLS)
	@$(MODULE_ENV) $(GO) -C tools/lint build -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

$(TOOLS)/.supply: tools/supply/go.mod tools/supply/go.sum
	@echo "building gitleaks, govulncheck and cyclonedx-gomod (once, under a minute)"
	@mkdir -p $(TOOLS)
	@$(MODULE_ENV) $(GO) -C tools/supply build -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

$(TOOLS)/tilt: scripts/build-tilt.sh
	@echo "building Tilt (once, some minutes; needs a C compiler)"
	@GO=$(GO) ./scripts/build-tilt.sh $@
