.DEFAULT_GOAL := help

LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: ## Run everything in one process, with sample data
	go run ./cmd/callboard dev

.PHONY: build
build: ## Build the three binaries into bin
	go build -o bin/ ./cmd/...

.PHONY: test
test: ## Run all tests
	go test ./...

.PHONY: test/race
test/race: ## Run all tests under the race detector
	go test -race ./...

.PHONY: properties
properties: ## Test the fold's properties with 20,000 cases each
	go test ./projector/fold -rapid.checks=20000

.PHONY: fuzz
fuzz: ## Fuzz the decoder, the service and the cursors for a minute each
	go test ./events -run '^$$' -fuzz FuzzDecode -fuzztime 1m -fuzzminimizetime 1x
	go test ./readapi -run '^$$' -fuzz FuzzService -fuzztime 1m -fuzzminimizetime 1x
	go test ./readapi -run '^$$' -fuzz FuzzCursor -fuzztime 1m -fuzzminimizetime 1x

.PHONY: soak
soak: ## Inject 500 faults (kills, freezes, cuts) for an hour or more
	go test ./cmd/fault -run TestSoak -soak 500 -timeout 4h -v

.PHONY: bench
bench: ## Measure throughput beside a bare baseline of the same run
	go test ./projector/... ./readapi/... ./events -run '^$$' -bench .

.PHONY: fmt
fmt: ## Format
	go run $(LINT) fmt

.PHONY: lint
lint: ## Vet and lint
	go vet ./...
	go run $(LINT) run

.PHONY: tidy
tidy: ## Check go.mod
	go mod tidy -diff

.PHONY: check
check: ## Run what CI runs
	.ci/run
