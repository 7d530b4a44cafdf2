# Doors to the house. What a target does stands in the script it calls.

# Tools are pinned in tools/go.mod, apart from the product's own modules.
TOOL = go tool -modfile=tools/go.mod

# The product has no cgo: it is linted and verified the way it is shipped. (The
# race detector needs cgo; scripts/test.sh turns it on for its own run.)
export CGO_ENABLED = 0

.DEFAULT_GOAL := help
.PHONY: help build demo test lint fmt verify generate fuzz bench

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/gateway, without cgo
	go build -trimpath -o bin/gateway ./cmd/gateway

demo: build ## a pay period of 18,067 lines, killed and resumed, reconciled to the cent; needs Go alone
	bin/gateway demo

test: ## every test; starts the private PostgreSQL it needs
	scripts/test.sh

lint: ## golangci-lint as configured in .golangci.yml
	$(TOOL) golangci-lint run ./...

fmt: ## format the sources
	$(TOOL) golangci-lint fmt ./...

verify: ## generated files fresh, go.mod tidy, sources formatted, import directions kept
	scripts/verify.sh

generate: ## make the generated files anew
	go generate ./...

fuzz: ## each fuzz target for FUZZTIME (10s)
	scripts/fuzz.sh

bench: ## the figures of docs/benchmarks.md, measured here; long
	scripts/bench.sh
