# NanoClaw: everything a developer types. `make` alone explains it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

web    := services/gateway/web
dist   := services/gateway/internal/webui/dist
buf    := $(web)/node_modules/.bin/buf
check  := bin/tools/staticcheck
s3     := bin/tools/versitygw
jaeger := bin/tools/jaeger

# Stamps: made once, and again when what they were made from changes.
npm_tools := $(web)/node_modules/.stamp
app       := $(dist)/index.html
protodeps := third_party/.stamp

##@ Use

.PHONY: run
run: build ## Set up, build and serve everything; ARGS="--http-addr ..." is passed on
	@exec bin/nanoclaw serve $(ARGS)

.PHONY: demo
demo: build ## See every kind of tool at work, without a key and without a network; ARGS="--serve"
	@exec bin/nanoclaw demo $(ARGS)

.PHONY: build
build: setup ## Build bin/nanoclaw: one static binary, with the web app where Node.js is
	@.ci/web
	@echo "build: bin/nanoclaw $(VERSION)"
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/nanoclaw ./services/cmd/nanoclaw

.PHONY: web
web: $(app) ## Build the web app, which the binary then has in it; needs Node.js

##@ Test

.PHONY: test
test: setup ## Every test that needs no outside server; PKG=./services/search/... for some
	@.ci/test $(PKG)

.PHONY: test-faults
test-faults: setup ## The same with the long tests in full, nothing from the cache
	@NANOCLAW_TEST_FULL=1 TEST_TIMEOUT=60m TEST_FLAGS="-count=1 $${TEST_FLAGS:-}" .ci/test $(PKG)

.PHONY: test-backends
test-backends: setup $(s3) ## Stores, caches, limits and blobs on real MySQL or MariaDB, Redis and S3
	@TEST_NAME=test-backends TEST_TAGS=backends TEST_TIMEOUT=$${TEST_TIMEOUT:-10m} TEST_FLAGS="-count=1 $${TEST_FLAGS:-}" .ci/test $$(.ci/backend-packages)

.PHONY: test-node
test-node: setup $(npm_tools) ## The generated TypeScript, called through the gateway; needs Node.js
	@TEST_NAME=test-node TEST_TAGS=node TEST_FLAGS="-count=1 $${TEST_FLAGS:-}" .ci/test ./services/test/tscall

.PHONY: e2e
e2e: setup web ## The web app in headless Chromium on the real binary; E2E_FILES="talk work" for some
	@TEST_NAME=e2e TEST_TAGS=e2e TEST_TIMEOUT=$${TEST_TIMEOUT:-15m} TEST_FLAGS="-count=1 $${TEST_FLAGS:-}" .ci/test ./services/test/e2e

.PHONY: test-web
test-web: $(npm_tools) ## The parts of the web app; needs Node.js
	@npm --prefix $(web) run --silent test

.PHONY: jaeger-e2e
jaeger-e2e: setup $(jaeger) ## A question, asked of a real Jaeger: its trace in one process and in four
	@JAEGER_BINARY='$(CURDIR)/$(jaeger)' CGO_ENABLED=0 go test -v -count=1 -tags netgo,osusergo,jaeger -run Jaeger ./services/test/apart

.PHONY: check-deploy
check-deploy: setup ## deploy/ against the schemas of Compose and Kubernetes and the binary itself
	@GOWORK=off go -C services/test/deploy vet ./...
	@GOWORK=off go -C services/test/deploy test -count=1 ./...

.PHONY: fuzz
fuzz: setup ## Every fuzz target for FUZZTIME (60s) each; FUZZ=pattern for some
	@.ci/fuzz

.PHONY: bench
bench: setup ## Every benchmark, one JSON line a figure; BENCHTIME=1x for a smoke test
	@.ci/bench

##@ Change

.PHONY: generate
generate: $(npm_tools) $(protodeps) ## Generate gen/ from proto/
	@$(buf) generate

.PHONY: check-generated
check-generated: generate ## Fail when gen/ is not what proto/ generates
	@git diff --exit-code --stat -- gen || stale=yes; \
		new=$$(git ls-files --others --exclude-standard -- gen); \
		test -z "$${stale:-}$$new" || { printf '%s\ngen/ was not fresh: run make generate and commit it\n' "$$new" >&2; exit 1; }

.PHONY: lint
lint: $(npm_tools) $(protodeps) $(check) $(app) ## gofmt, go vet, staticcheck, buf, and the web app's types, rules and size
	@files=$$(git ls-files '*.go' ':!gen/go' | xargs gofmt -l); \
		test -z "$$files" || { printf 'not gofmt-ed:\n%s\n' "$$files" >&2; exit 1; }
	@STATICCHECK=$(CURDIR)/$(check) .ci/lint
	$(buf) lint
	$(buf) format proto --diff --exit-code
	npm --prefix $(web) run --silent check
	npm --prefix $(web) run --silent lint
	npm --prefix $(web) run --silent size

.PHONY: breaking
breaking: $(npm_tools) $(protodeps) ## Fail when proto/ breaks callers; BASE=commit to compare with another
	@.ci/breaking

##@ Set up

.PHONY: setup
setup: ## What building and testing needs (run by the others)
	@deploy/setup.sh

.PHONY: setup-all
setup-all: ## And what generate, lint, web and test-node need: Node.js, buf, staticcheck
	@deploy/setup.sh all
	@$(MAKE) --no-print-directory $(npm_tools) $(protodeps) $(check)

.PHONY: clean
clean: ## Remove what was built (never data/ or config.yml)
	@rm -rf bin third_party $(web)/node_modules
	@find $(dist) -mindepth 1 ! -name .keep -delete

.PHONY: help
help:
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET" } \
		/^##@ / { print "\n" substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# buf and the TypeScript generator, as package-lock.json pins them.
$(npm_tools): $(web)/package-lock.json
	@command -v npm >/dev/null || { echo "this needs Node.js and npm: run make setup-all" >&2; exit 1; }
	@echo "setup: npm tools"
	@cd $(web) && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# The web app, built again when something of it changes.
$(app): $(npm_tools) $(wildcard $(web)/*.html $(web)/*.ts) $(shell find $(web)/src $(web)/public gen/ts -type f ! -name '*.test.ts' ! -name .keep 2>/dev/null)
	@echo "build: the web app"
	@npm --prefix $(web) run --silent build -- --logLevel warn
	@touch $@

# The protos that ours import, printed from the Go modules that hold them.
$(protodeps): gen/go.mod gen/go.sum $(wildcard gen/internal/protodeps/*.go)
	@echo "setup: imported protos"
	@rm -rf third_party
	@go run ./gen/internal/protodeps third_party/proto
	@touch $@

# The S3 server of the tests, as its go.mod pins it.
$(s3): services/test/s3gateway/go.mod services/test/s3gateway/go.sum
	@echo "setup: versitygw, an S3 server (about 2 minutes, once)"
	@mkdir -p $(@D)
	@GOWORK=off CGO_ENABLED=0 go -C $(<D) build -trimpath -ldflags '-s -w' -o '$(CURDIR)/$(@D)/' tool
	@touch $@

# Jaeger, as its go.mod pins it. Its web pages are not in it.
$(jaeger): services/test/jaeger/go.mod services/test/jaeger/go.sum
	@echo "setup: Jaeger (5 to 20 minutes, once)"
	@mkdir -p $(@D)
	@GOWORK=off CGO_ENABLED=0 go -C $(<D) build -trimpath -ldflags '-s -w' -o '$(CURDIR)/$(@D)/' tool
	@touch $@

# Checkers, as .ci/tools/go.mod pins them.
$(check): .ci/tools/go.mod .ci/tools/go.sum
	@echo "setup: staticcheck"
	@mkdir -p $(@D)
	@GOWORK=off CGO_ENABLED=0 go -C .ci/tools build -o '$(CURDIR)/$(@D)/' tool
