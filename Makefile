.DEFAULT_GOAL := help

TOOLS := bin/tools
BUF   ?= $(TOOLS)/buf

.PHONY: generate
generate: third_party/proto/.stamp $(BUF) ## Generate Go, gateway and OpenAPI code from proto/
	@BUF=$(BUF) ./scripts/generate.sh

$(TOOLS)/.protoc: tools/protoc/go.mod tools/protoc/go.sum $(wildcard tools/protoc/*/*.go)
	@echo "building the protoc plugins (once)"
	@GOWORK=off go -C tools/protoc build -trimpath -ldflags "-s -w" -o $(CURDIR)/$(TOOLS)/ tool ./protodeps
	@touch $@

third_party/proto/.stamp: $(TOOLS)/.protoc
	@rm -rf third_party/proto
	@$(TOOLS)/protodeps -out third_party/proto
	@touch $@

$(TOOLS)/buf: tools/buf/go.mod tools/buf/go.sum
	@echo "building buf (once, some minutes)"
	@GOWORK=off go -C tools/buf build -trimpath -ldflags "-s -w" -o $(CURDIR)/$@ github.com/bufbuild/buf/cmd/buf
