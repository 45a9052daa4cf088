.DEFAULT_GOAL := help

LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## What can be made
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: ## Everything in one process, with sample data
	go run ./cmd/callboard dev

.PHONY: build
build: ## The three binaries, into bin
	go build -o bin/ ./cmd/...

.PHONY: test
test: ## All tests
	go test ./...

.PHONY: test/race
test/race: ## All tests under the race detector
	go test -race ./...

.PHONY: properties
properties: ## The fold's properties, twenty thousand cases each
	go test ./projector/fold -rapid.checks=20000

.PHONY: fuzz
fuzz: ## Publish what nobody would publish and ask what nobody would ask, for a minute each
	go test ./events -run '^$$' -fuzz FuzzDecode -fuzztime 1m -fuzzminimizetime 1x
	go test ./readapi -run '^$$' -fuzz FuzzService -fuzztime 1m -fuzzminimizetime 1x
	go test ./readapi -run '^$$' -fuzz FuzzCursor -fuzztime 1m -fuzzminimizetime 1x

.PHONY: soak
soak: ## Kill, freeze and cut off everything five hundred times, rebuilds too, for an hour or more
	go test ./cmd/fault -run TestSoak -soak 500 -timeout 4h -v

.PHONY: bench
bench: ## Throughput beside a bare baseline of the same run
	go test ./projector/... ./readapi/... ./events -run '^$$' -bench .

.PHONY: fmt
fmt: ## Format
	go run $(LINT) fmt

.PHONY: lint
lint: ## Vet and lint
	go vet ./...
	go run $(LINT) run

.PHONY: tidy
tidy: ## Check that go.mod says what is used
	go mod tidy -diff

.PHONY: check
check: tidy lint test/race ## What CI runs
	test -z "$$(gofmt -l .)"
