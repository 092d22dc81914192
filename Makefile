# Windlass. `make` lists the targets. Go 1.26, git and make are all they need; a C compiler adds the race detector.

.DEFAULT_GOAL := help

GO      ?= go
# What `make test` tests. `work` is every module of go.work; `make test PKG=./libs/bus/... ARGS='-run Replay -v'`.
PKG     ?= work
ARGS    ?=
TIMEOUT ?= 30m
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo dev)

# Builds must not depend on a working git: stamping fails, for example, in a checkout that another user owns.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -trimpath)

TOOLS := bin/tools
BUF   ?= $(TOOLS)/buf
LINT  := $(CURDIR)/$(TOOLS)/golangci-lint
LINT_MODULES := . examples tools/protoc tools/images deploy/temporal
LINT_INPUTS  := Makefile .golangci.yaml go.mod go.sum go.work go.work.sum $(TOOLS)/golangci-lint

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
up: ## Build what it needs and start Windlass on this machine (ARGS='--data-dir …')
	@$(MAKE) --no-print-directory -j2 bin/windlass-temporal up-programs
	@exec bin/windlass up $(ARGS)

# The first time, the Temporal server and these are compiled at once, so that no core waits for the last packages of one of them.
.PHONY: up-programs
up-programs: windlass
	@mkdir -p bin/examples
	@CGO_ENABLED=0 $(GO) build -ldflags "-s -w" -o bin/examples/ $(UP_EXAMPLES)

.PHONY: build
build: bin/windlass-temporal windlass windlassd examples ## Build windlass, windlassd, windlass-temporal and the example servers into bin/

.PHONY: windlass
windlass:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/ ./cmd/windlass

.PHONY: windlassd
windlassd:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/ ./cmd/windlassd

.PHONY: examples
examples:
	@mkdir -p bin/examples
	CGO_ENABLED=0 $(GO) build -ldflags "-s -w" -o bin/examples/ ./examples/...

.PHONY: release
release: bin/windlass-temporal ## Build the same, profile-guided, stripped and without paths, into bin/release/
	@mkdir -p bin/release/examples
	CGO_ENABLED=0 $(GO) build -trimpath $(PGO) -ldflags "-s -w -X main.version=$(VERSION)" -o bin/release/ ./cmd/windlass ./cmd/windlassd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/release/examples/ ./examples/...
	@cp bin/windlass-temporal bin/release/

# What `make dist` makes archives for.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: dist
dist: $(TOOLS)/.supply ## Make the archives of a release in dist/, with checksums, bills of materials and provenance (VERSION=v0.1.0, PLATFORMS)
	@GO=$(GO) TOOLS=$(TOOLS) PLATFORMS="$(PLATFORMS)" PGO="$(PGO)" ./scripts/dist.sh "$(VERSION)"

.PHONY: images
images: $(TOOLS)/.supply ## Make the container images of a release in dist/images, without an engine (VERSION=v0.1.0; PUSH=registry/prefix, SIGN_KEY=key.pem)
	@GO=$(GO) TOOLS=$(TOOLS) PLATFORMS="$(PLATFORMS)" PGO="$(PGO)" PUSH="$(PUSH)" SIGN_KEY="$(SIGN_KEY)" ./scripts/images.sh "$(VERSION)"

bin/windlass-temporal: $(TEMPORAL_SRC)
	@echo "building the Temporal dev server: the first time takes some minutes, later builds seconds"
	@mkdir -p bin
	$(MODULE_ENV) $(GO) -C deploy/temporal build -ldflags "-s -w" -o $(CURDIR)/$@ .
	@touch $@

# The programs that tests start, as users run them, laid out like bin/, without the version of the commit: a commit that changes no program keeps
# the results of tests. They are linked without debug information, which neither stack traces nor the race detector's reports need. "faults" has
# points at which a test kills a process, "race" these and the race detector.
.PHONY: test-programs
test-programs: test-examples
	@CGO_ENABLED=0 ./scripts/programs.sh bin/test "" ./cmd/windlass ./cmd/windlassd
	@CGO_ENABLED=0 ./scripts/programs.sh bin/faults "-tags faults" ./cmd/windlass ./cmd/windlassd
	@[ "$(RACED)" = 0 ] || ./scripts/programs.sh bin/race "$(RACE) -tags faults" ./cmd/windlass ./cmd/windlassd

# What tests of packages start, too.
.PHONY: test-examples
test-examples: bin/windlass-temporal
	@CGO_ENABLED=0 ./scripts/programs.sh bin/test/examples "" ./examples/...

## Test

# What CI and `make test` have in common. Of the tests that start programs, one of RACED starts them with the race detector (1: all, 0: none);
# which ones, and the order of all tests, depends on SEED, the day. So results are kept for a day, and every day tries another order.
SEED  ?= $(shell date -u +%Y%m%d)
RACED ?= 24
# 1: what tests otherwise draw a part of by the day, such as the themes in which a page is checked, is checked whole.
WHOLE ?=
# How many of the tests that start programs run at a time, of each of two packages. With 4 no core idles either, and programs answer later.
PARALLEL ?= 3

# A program with the race detector otherwise sleeps for a second when it exits, test binaries included.
TEST_ENV = GORACE=atexit_sleep_ms=0 WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_TEST_SHUFFLE=$(SEED) WINDLASS_TEST_RACE=$(RACED) \
	WINDLASS_TEST_WHOLE=$(WHOLE)
RUN_TESTS = $(TEST_ENV) TIMEOUT=$(TIMEOUT) PARALLEL=$(PARALLEL) RACE="$(RACE)" ARGS="$(ARGS)" GO=$(GO) ./scripts/test.sh

.PHONY: test
test: test-work $(if $(filter work,$(PKG)),test-modules) ## Run all tests, with the race detector if there is a C compiler (PKG, ARGS, TIMEOUT, SEED, RACED, WHOLE, PARALLEL)

# What a change is measured against.
BASE = $(or $(BASE_REF),$(shell git rev-parse --quiet --verify origin/main || git rev-parse --quiet --verify main || echo HEAD))

.PHONY: test-changed
test-changed: $(TOOLS)/.gotestsum ## Run the tests that what has changed against BASE_REF can reach; of the tests of whole meshes one, if the programs have changed
	@GO=$(GO) TEST_ENV='$(TEST_ENV)' RUN_TESTS='$(RUN_TESTS)' MAKE=$(MAKE) ./scripts/test-changed.sh $(BASE)

.PHONY: flaky
flaky: $(TOOLS)/.gotestsum ## Run the concurrent half of the tests N (20) times under load, and name what failed even once (PKG for others; RACED=1 with the race detector)
	@RACE="$(if $(filter 1,$(RACED)),$(RACE))" GO=$(GO) GORACE=atexit_sleep_ms=0 ./scripts/flaky.sh $(or $(N),20) $(filter-out work,$(PKG))

.PHONY: nightly
nightly: ## Run what CI leaves to it: all tests with all programs under the race detector, whole matrices, fuzz targets
	$(MAKE) test RACED=1 WHOLE=1 PARALLEL=2 TIMEOUT=2h
	$(MAKE) chaos
	$(MAKE) fuzz
	$(MAKE) flaky RACED=1

# The linter vets, so that go test need not.
.PHONY: test-work
test-work: test-examples $(TOOLS)/.gotestsum
	@[ -n "$(RACE)" ] || echo "NOTE: no C compiler with headers found, so the tests run without the race detector"
	@$(RUN_TESTS) $(PKG)

# Tests of modules outside go.work.
.PHONY: test-modules
test-modules:
	@$(TEST_ENV) $(MODULE_ENV) $(GO) -C deploy/temporal test -timeout $(TIMEOUT) ./...
	@$(TEST_ENV) $(MODULE_ENV) $(GO) -C tools/protoc test ./...
	@$(TEST_ENV) $(MODULE_ENV) $(GO) -C tools/images test ./...

.PHONY: tilt-ci
tilt-ci: $(TOOLS)/tilt ## Start the mesh with Tilt, run one turn through it, and stop (the first build of Tilt takes some minutes)
	@./scripts/tilt-ci.sh $(TOOLS)/tilt

.PHONY: cover
cover: test-programs ## Run the tests and write bin/cover.html; prints the total
	@WINDLASS_TEST_BIN=$(CURDIR)/bin/test $(GO) test -timeout $(TIMEOUT) -covermode=atomic -coverprofile=bin/cover.out \
		-coverpkg=./libs/...,./services/...,./workflows/...,./gateway/...,./internal/... ./... $(ARGS)
	@grep -v -e '/gen/' bin/cover.out > bin/cover.own && mv bin/cover.own bin/cover.out
	@$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func=bin/cover.out | tail -n 1

.PHONY: chaos
chaos: test-programs ## Read hostile documents; try SEQUENCES (1000) of random commands against a model, and CUTS (100) of the power; kill every role at every point of a turn, break links and the database there, then all that at random for DURATION (10m), drawn from SEED, and again under clients whose histories are checked; ENGINE=sqlite or postgres; CELLS=0 leaves the points out
	WINDLASS_TEST_WHOLE=1 $(GO) test -count=1 -timeout 2h -v -run 'TestHostileDocuments|TestHostileFiles' ./services/knowledge/parse ./libs/media
	RAPID_CHECKS=$(or $(SEQUENCES),1000) $(GO) test -count=1 -timeout 2h -v -run TestSessionsAndTurns ./test/property
	POWER_CUTS=$(or $(CUTS),100) $(GO) test -count=1 -timeout 2h -v -run TestAPowerCut ./test/property
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_TEST_RACE=1 WINDLASS_CHAOS=$(or $(DURATION),10m) WINDLASS_CHAOS_SEED=$(SEED) WINDLASS_CHAOS_ENGINE=$(ENGINE) \
		$(GO) test $(RACE) -count=1 -timeout 2h -v -run 'TestClients|TestKeptSeeds' ./test/concurrent
	WINDLASS_TEST_BIN=$(CURDIR)/bin/test WINDLASS_TEST_RACE=1 WINDLASS_CHAOS=$(or $(DURATION),10m) WINDLASS_CHAOS_SEED=$(SEED) WINDLASS_CHAOS_CELLS=$(CELLS) WINDLASS_CHAOS_ENGINE=$(ENGINE) \
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
check: check-format check-words check-tidy check-generated check-proto check-console lint check-workflows check-deploy check-supply ## Run every check that is no test, the cheap ones first, as CI does
	@echo "check: ok"

.PHONY: check-changed
check-changed: $(TOOLS)/.lint ## Run the checks that what has changed against BASE_REF can fail
	@LINT=$(LINT) ./scripts/check-changed.sh $(BASE)

.PHONY: check-format
check-format: $(TOOLS)/.lint ## Fail if Go code is not formatted (gofumpt)
	@for m in $(LINT_MODULES); do (cd $$m && $(LINT) fmt --diff ./...) || { echo "not formatted, run 'make fmt'"; exit 1; }; done

.PHONY: check-words
check-words: ## Fail if the code breaks the rules that the tests of the top folder keep: who imports whom, sizes, words
	@$(TEST_ENV) $(GO) test -vet=off .

.PHONY: vet
vet: ## Run go vet on every module of go.work; the linter does as well
	CGO_ENABLED=0 $(GO) vet work

.PHONY: lint
lint: $(TOOLS)/.lint ## Run golangci-lint (.golangci.yaml), formatting included
	CGO_ENABLED=0 $(LINT) run ./...
	@for m in $(filter-out .,$(LINT_MODULES)); do \
		./scripts/unchanged.sh "lint-$$(basename $$m)" $$m $(LINT_INPUTS) -- $(MAKE) --no-print-directory lint-module MODULE=$$m || exit 1; done

# Modules that the root module has no part in: examples is one of go.work, the others are linted as they are built.
.PHONY: lint-module
lint-module:
	cd $(MODULE) && $(if $(filter examples,$(MODULE)),CGO_ENABLED=0,$(MODULE_ENV)) $(LINT) run ./...

.PHONY: check-generated
check-generated: third_party/proto/.stamp $(TOOLS)/.buf ## Fail if generated code is not what proto/ gives
	@BUF=$(BUF) ./scripts/unchanged.sh generated proto gateway/gen gateway/openapi/gen buf.yaml buf.gen.yaml scripts/generate.sh tools/protoc \
		$(BUF) $(wildcard $(TOOLS)/protoc-gen-*) -- ./scripts/generate.sh --check

.PHONY: check-console
check-console: $(TOOLS)/.esbuild ## Fail if the built pages are not what gateway/console/app gives; left out without npm
	@{ node --version; npm --version; } 2>/dev/null | ESBUILD=$(TOOLS)/esbuild \
		./scripts/unchanged.sh console - gateway/console scripts/console.sh $(TOOLS)/esbuild -- ./scripts/console.sh --check

.PHONY: check-proto
check-proto: third_party/proto/.stamp $(TOOLS)/.buf ## Lint proto/, check its format and that it breaks no client of BASE_REF
	$(BUF) lint
	$(BUF) format --diff --exit-code proto
	@BUF=$(BUF) ./scripts/breaking.sh

.PHONY: check-tidy
check-tidy: ## Fail if a go.mod or go.sum is not tidy
	@bad=; for m in $(ALL_MODULES); do GOWORK=off $(GO) -C $$m mod tidy -diff || bad="$$bad $$m"; done; \
	[ -z "$$bad" ] || { echo "not tidy, run 'make tidy':$$bad"; exit 1; }

.PHONY: check-workflows
check-workflows: $(TOOLS)/.lint ## Fail if workflow code is not deterministic (Temporal's workflowcheck)
	@./scripts/unchanged.sh workflows workflows libs proto/gen go.mod go.sum go.work go.work.sum $(TOOLS)/workflowcheck -- $(TOOLS)/workflowcheck ./workflows/...

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
generate: third_party/proto/.stamp $(TOOLS)/.buf ## Generate Go, gateway and OpenAPI code from proto/
	@BUF=$(BUF) ./scripts/generate.sh

.PHONY: console
console: $(TOOLS)/.esbuild ## Build the pages of gateway/console/app into gateway/console/dist (needs npm)
	@ESBUILD=$(TOOLS)/esbuild ./scripts/console.sh

.PHONY: screenshots
screenshots: test-programs ## Take the pictures of docs/images again (needs npm and Chromium)
	@mkdir -p docs/images
	PICTURES=$(CURDIR)/docs/images WINDLASS_TEST_BIN=$(CURDIR)/bin/test $(GO) test -count=1 -run TestConsole ./test/browser

.PHONY: fmt
fmt: $(TOOLS)/.lint $(TOOLS)/.buf ## Format Go (gofumpt) and proto files
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
	rm -rf bin/windlass bin/windlassd bin/examples bin/release bin/.built bin/test bin/faults bin/race bin/test-results bin/cover.*

.PHONY: distclean
distclean: ## Remove everything that is built or generated outside git (.windlass data stays)
	rm -rf bin third_party

## Developer tools, in bin/tools: each family is a module under tools/ and is built again when its go.mod changes.

$(TOOLS)/.protoc: $(wildcard tools/protoc/*/*.go)
$(TOOLS)/.%: tools/%/go.mod tools/%/go.sum scripts/tools.sh
	@echo "building the tools of tools/$* (the first time on a machine takes a minute or some)"
	@TOOLS=$(CURDIR)/$(TOOLS) GO=$(GO) $(MODULE_ENV) ./scripts/tools.sh tools/$*
	@touch $@

third_party/proto/.stamp: $(TOOLS)/.protoc
	@rm -rf third_party/proto
	@$(TOOLS)/protodeps -out third_party/proto
	@touch $@

$(TOOLS)/tilt: scripts/build-tilt.sh
	@echo "building Tilt (once, some minutes; needs a C compiler)"
	@GO=$(GO) ./scripts/build-tilt.sh $@
