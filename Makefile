.DEFAULT_GOAL := help

LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z\/-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: ## Run everything in one process, with sample data
	go run ./cmd/callboard dev

.PHONY: build
build: ## Build the binaries into bin
	go build -o bin/ ./cmd/...

# The commands of deploy/Dockerfile, so that both give the same images. An image has another user than this machine, so
# everybody may read the programs.
.PHONY: images/programs
images/programs: ## Build the images' programs into bin/image
	umask 022 && CGO_ENABLED=0 GOOS=linux go build -trimpath -buildvcs=auto -tags operator -ldflags='-s -w' -o bin/image/ \
	    ./cmd/projector ./cmd/readapi ./cmd/webhooks ./cmd/callboard
	umask 022 && mkdir -p bin/image/volumes/secrets bin/image/volumes/backup
	umask 022 && mkdir -p -m 1777 bin/image/volumes/nats bin/image/volumes/nats2 bin/image/volumes/nats3

CALLBOARD_VERSION ?= dev

.PHONY: images
images: images/programs ## Build the images callboard/projector, callboard/readapi, callboard/webhooks and callboard/callboard
	set -e; for program in projector readapi webhooks callboard; do \
	  docker build -f deploy/prebuilt.Dockerfile --target $$program -t callboard/$$program:$(CALLBOARD_VERSION) \
	    --build-arg VERSION=$(CALLBOARD_VERSION) --build-arg REVISION=$$(git rev-parse HEAD || echo unknown) bin/image; \
	done

.PHONY: standin
standin: ## Build stand-ins for the images that docker-compose.yml pulls, where no registry is reached
	deploy/standin/build

.PHONY: compose/check
compose/check: ## Check docker-compose.yml on this machine's container engine: start, scale, kill, restart
	go -C deploy/test test -count=1 -timeout 30m -v ./compose -run 'TestEngine$$' -engine

.PHONY: compose/check/cluster
compose/check/cluster: ## Check docker-compose.yml with deploy/compose/cluster.yml in the same way
	go -C deploy/test test -count=1 -timeout 30m -v ./compose -run TestClusterEngine -engine

.PHONY: compose/check/citus
compose/check/citus: ## Check docker-compose.yml with deploy/compose/citus.yml: start, take a worker away, kill, restart
	go -C deploy/test test -count=1 -timeout 30m -v ./compose -run TestCitusEngine -engine

.PHONY: images/check
images/check: ## Check the images: static, small, reproducible, unprivileged
	go -C deploy/test test -count=1 ./image -cold

.PHONY: test
test: ## Run the first tier's tests
	go test ./...

.PHONY: test/e2e
test/e2e: ## Run the second tier's tests: processes, kills, browsers, S3, a generated client, manifests and images
	go -C deploy/test test -vet=off -count=1 -p 2 -timeout 60m ./command ./fault ./load ./scenario
	CALLBOARD_TEST_LONG=1 go test -vet=off -count=1 -run '$(PROGRAMS)' ./readapi/audio ./readapi/docs/receiver
	go -C readapi/docs/goclient test -count=1 ./...
	go -C deploy/test test -vet=off -count=1 -timeout 30m ./compose ./image ./kubernetes ./monitoring ./programtest

# Tests beside the code that start an S3 server or receivers.
PROGRAMS := TestBucket$$|TestVerify_|TestReceivers

.PHONY: test/race
test/race: ## Run the first tier's tests under the race detector
	go test -race -timeout 90m ./...

# Tests of the stream and of keys, whose statements on nodes are those of other tests.
ON_ONE_SERVER := Stream|Lost|Unreadable|DoesNotResume|Throttle|Registry|Roles

.PHONY: test/citus
test/citus: ## Run the tests of what Citus executes, on a coordinator and two workers; deploy/standin/citus installs the extension
	@log=$$(mktemp); failed=0; export CALLBOARD_TEST_CITUS=1; \
	go test -count=1 -v -p 1 -timeout 30m -skip '$(ON_ONE_SERVER)' \
	    ./schema ./projector/store ./projector/deadletter ./projector/rebuild ./readapi/access ./readapi/query >>$$log 2>&1 || failed=1; \
	go -C deploy/test test -count=1 -v -timeout 30m ./fault -run TestNodes >>$$log 2>&1 || failed=1; \
	grep -E '^(ok|FAIL|panic:|--- FAIL|    --- FAIL)' $$log; \
	echo "left out: tests of the stream and of keys ($(ON_ONE_SERVER)); skipped, and why:"; \
	grep -ohE 'not on nodes: .*' $$log | sort | uniq -c; \
	echo "all output: $$log"; \
	exit $$failed

.PHONY: test/mutate
test/mutate: ## Make 300 random changes of the code, and fail if the tests of its packages notice fewer than nine of ten
	go -C deploy/test test ./mutate -run 'TestMutants$$' -mutants 300 -count=1 -timeout 3h -v $(FLAGS)

.PHONY: properties
properties: ## Test the fold's properties with 20,000 cases each, those of the store and of ingest with 500
	go test ./projector/fold -rapid.checks=20000
	go test ./projector/store ./projector/ingest -rapid.checks=500 -timeout 1h

.PHONY: fuzz
fuzz: ## Fuzz the decoder, its scanner, the encoder of turns, the service and the cursors for a minute each
	go test ./events -run '^$$' -fuzz FuzzDecode -fuzztime 1m -fuzzminimizetime 1x
	go test ./events -run '^$$' -fuzz FuzzScan -fuzztime 1m -fuzzminimizetime 1x
	go test ./projector/fold -run '^$$' -fuzz FuzzJSONTurns -fuzztime 1m -fuzzminimizetime 1x
	go test ./readapi -run '^$$' -fuzz FuzzService -fuzztime 1m -fuzzminimizetime 1x

.PHONY: soak
soak: ## Test clusters, kill senders, then inject 500 faults (kills, freezes, cuts) for an hour or more
	CALLBOARD_TEST_LONG=1 go -C deploy/test test -timeout 2h ./fault -v -run 'TestReplicas_TwoPrimaries|TestReplicas_LeaderIsolated|TestWebhooks_SendersKilled'
	CALLBOARD_TEST_LONG=1 go test ./readapi/audio -v -run 'TestBucket$$'
	CALLBOARD_TEST_LONG=1 go test ./projector -v -run Stall
	go -C deploy/test test ./fault -run TestSoak -soak 500 -timeout 4h -v

.PHONY: hostile
hostile: ## Publish hostile messages for ten minutes, in the memory of docker-compose.yml
	go -C deploy/test test ./fault -run TestHostile -hostile 10m -timeout 30m -v

.PHONY: bench
bench: ## Measure throughput beside a bare baseline of the same run
	go test ./projector/... ./events -run '^$$' -bench .

.PHONY: bench/read
bench/read: ## Compare report and list pages of the reader with those of a bare server; needs wrk, takes half an hour
	go -C deploy/test test ./load -run 'TestRead$$' -read -count=1 -timeout 3h -v $(FLAGS)

.PHONY: bench/write
bench/write: ## Measure the projector and rebuilds beside bare writes of the same rows; takes an hour
	go -C deploy/test test ./load -run 'TestWrite$$' -write -count=1 -timeout 3h -v $(FLAGS)

.PHONY: bench/webhooks
bench/webhooks: ## Measure how soon and how fast webhooks are sent, and what they cost the projector
	go -C deploy/test test ./load -run 'TestWebhooks$$' -webhooks -count=1 -timeout 2h -v $(FLAGS)

.PHONY: bench/capacity
bench/capacity: ## Measure what a sizing needs, with one and three NATS servers, and on Citus where it is installed; needs wrk
	go -C deploy/test test ./load -run 'TestCapacity$$' -capacity -count=1 -timeout 2h -v -calls 15000 $(FLAGS)

.PHONY: load/read
load/read: ## Load a reader with the largest requests, and limiters while leaders change
	go -C deploy/test test ./load -run TestLoad -load -count=1 -timeout 3h -v $(FLAGS)
	CALLBOARD_TEST_LONG=1 go test ./readapi/limit -run TestTake_LeaderChanges -count=1 -v

.PHONY: fmt
fmt: ## Format
	go run $(LINT) fmt

.PHONY: lint
lint: ## Lint, with the analyses of go vet
	go run $(LINT) run
	go run $(LINT) run --build-tags operator ./cmd/callboard
	cd deploy/test && go run $(LINT) run

.PHONY: tidy
tidy: ## Check go.mod
	go mod tidy -diff

.PHONY: size
size: ## Print lines of code, packages, tables, commands and words beside their budgets
	.ci/size

.PHONY: check
check: ## Run what CI runs
	.ci/run
