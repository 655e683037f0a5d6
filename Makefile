.DEFAULT_GOAL := help
FUZZTIME ?= 30s
RUNS ?= 200
FIRST ?= 0
CHROMIUM ?= chromium

.PHONY: help build test race quick vuln lint fuzz mutate crash hostile nightly scale load siege bench microbench interop cluster clients compliance audit browser libsecp256k1 docs demo sim lives release image

help: ## list the targets
	@grep -E '^[a-z0-9]+:.*##' Makefile | sed -E 's/:.*## /\t/'

build: ## build ./graspd
	CGO_ENABLED=0 go build -trimpath -o graspd ./cmd/graspd

test: ## the tests that need only Go
	go test ./...

race: ## the same under the race detector
	go test -race ./...

quick: ## what every commit should pass, in under three minutes
	.ci/quick

vuln: ## known vulnerabilities in what is linked in; says so where their database cannot be reached
	@if curl -sS -o /dev/null -m 20 https://vuln.go.dev/index/db.json 2>/dev/null || [ -n "$(GOVULNDB)" ]; then \
	  go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 $(if $(GOVULNDB),-db $(GOVULNDB)) ./...; \
	else echo "not looked for: https://vuln.go.dev cannot be reached from here (GOVULNDB names another place)"; fi

lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

fuzz: ## every fuzz target for FUZZTIME
	@# A worker that is busy when the time is up makes a target fail without a failing input; that is no finding.
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cache=$$(go env GOCACHE)/fuzz && \
	for p in $$(grep -rlE '^func Fuzz' --include='*_test.go' cmd internal | xargs -n 1 dirname | sort -u); do \
	  go test -c -fuzz=. -o "$$dir/targets" ./$$p || exit 1; \
	  for t in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go | cut -c6-); do \
	    echo "$$p $$t"; \
	    (cd $$p && "$$dir/targets" -test.run '^$$' -test.fuzz "^$$t$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 50x -test.fuzzcachedir "$$cache/$$p" -test.parallel 2) >"$$dir/out" 2>&1 || \
	      { grep -q 'context deadline exceeded' "$$dir/out" && ! grep -qE 'Failing input|panic' "$$dir/out"; } || \
	      { cat "$$dir/out"; exit 1; }; \
	  done; \
	done

mutate: ## plant faults, all or those of the package ONLY (internal/serve/relay) or with ONLY in their name, and say which test catches each
	cd mutate && go run . -root .. -only '$(ONLY)' -run '$(TESTS)' $(if $(NEW),-new)

crash: ## kill graspd RUNS times under load, and RUNS times under pushes, and check what is on disk after each
	go test -count=1 -run '^TestCrash' -v -timeout 24h ./cmd/graspd -args -runs $(RUNS) $(if $(SEED),-seed $(SEED))

hostile: ## random clients at a relay, and then random clients of git at a host, under the race detector, for FOR (1m) each, from SEED (1) on
	go test -race -count=1 -run '^TestHostile$$' -v -timeout 24h ./internal/serve/relay -args -for $(or $(FOR),1m) -seed $(or $(SEED),1)
	go test -race -count=1 -run '^TestHostile$$' -v -timeout 24h ./internal/git/hosting -args -for $(or $(FOR),1m) -seed $(or $(SEED),1)

nightly: ## the tests of every package, or of PACKAGES, RUNS times under load; started again, it goes on where it was
	RUNS=$(RUNS) PACKAGES='$(PACKAGES)' .ci/nightly

scale: ## the engine at the sizes that it is made for, with a report
	go test -run '^TestScale$$' -v -count=1 ./internal/sync/peer -args -scale

sim: ## RUNS random worlds of whole relays from seed FIRST on, ten times as many of git servers, half as many of each kind of nodes that share a log; or the world of SEED, told as it goes
ifdef SEED
	go test -count=1 -run '^TestWorlds$$' -v ./internal/test/sim -args -seed $(SEED)
else
	@# One process lives its worlds one after the other, so that a seed is the same run each time; two take half the time.
	go test -count=1 -run '^Test(Worlds|RandomDaysOf.*|TwoArchivesForAMonth)$$' -timeout 24h ./internal/test/sim -args -first $(FIRST) -runs $$(( $(RUNS) / 2 )) & one=$$!; \
	go test -count=1 -run '^Test(Worlds|RandomDaysOf.*|TwoArchivesForAMonth)$$' -timeout 24h ./internal/test/sim -args -first $$(( $(FIRST) + $(RUNS) / 2 )) -runs $$(( ($(RUNS) + 1) / 2 )); other=$$?; wait $$one && exit $$other
	@# Worlds of git servers take a tenth of a second each.
	go test -count=1 -run '^TestWorlds$$' -timeout 24h ./internal/git/gitplan -args -first $$(( 10 * $(FIRST) + 1 )) -runs $$(( 10 * $(RUNS) ))
	go test -count=1 -run '^Test(Stores|Buckets|Doors|TrimmedLogs)$$' -timeout 24h ./internal/test/cluster -args -first $(FIRST) -runs $$(( ($(RUNS) + 1) / 2 ))
endif

lives: ## all random lives of packages of which go test lives the first ones alone
	go test -count=1 -run '^Test(LivesOfVersions|RulingLikeANaiveModel|OrderOfArrivalDoesNotMatter)$$' ./internal/events/refs -args -long
	go test -count=1 -run '^Test(KilledWhileUnsynced|ReopenAtAnyMoment|NodesOnABucketThatMisbehaves)$$' ./internal/events/store ./internal/events/store/bucketlog -args -long
	go test -count=1 -run '^TestJunkCostsNobodyElse$$' ./internal/sync/relaysync -args -long

load: build ## many clients on loopback for LOAD (10m); the report replaces the one in the file REPORT
	cd interop && go run ./load -graspd ../graspd -for $(or $(LOAD),10m) $(if $(REPORT),-into '$(abspath $(REPORT))')

siege: build ## attack a relay in each way of ONLY (all) for FOR (20s), and measure an honest client beside; the report replaces the one in the file REPORT
	cd interop && go run ./siege -graspd $(or $(GRASPD),../graspd) -for $(or $(FOR),20s) $(if $(ONLY),-only '$(ONLY)') $(if $(REPORT),-into '$(abspath $(REPORT))')

bench: build ## measure everything against the targets and write docs/PERFORMANCE.md; takes many minutes, and fails where honest clients wait a third longer beside attackers than the page says
	cd interop && go run ./bench -graspd ../graspd -root .. -out ../docs/PERFORMANCE.md $(BENCH)

microbench: ## benchmarks of the packages
	go test -run '^$$' -bench . -benchmem ./internal/...

interop: ## against relays and clients written by others (a module of its own)
	cd interop && go test -count=1 -timeout 15m $$(go list ./... | grep -vE '/(browser|bench|cluster|git|compliance)(/|$$)')

cluster: ## what a bucket promises, on a real S3 server behind a proxy that spoils requests, with a machine that loses its disk again and again for FOR (2m), and three that come to all kinds of harm for as long; builds the server, versitygw, first
	@mkdir -p interop/.build
	GOBIN='$(CURDIR)/interop/.build' go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
	cd interop && go test -count=1 -timeout 20m ./cluster -args -for $(or $(FOR),2m)

clients: ## clients of git that others wrote, at repositories that graspd hosts; installs them
	interop/git/install
	cd interop && go test -count=1 -timeout 15m ./git/...

compliance: ## the checks of GRASP that others publish, and their client ngit; builds both with cargo the first time, which takes twenty minutes
	interop/compliance/install
	cd interop && go test -count=1 -timeout 15m ./compliance

audit: ## the checks of GRASP alone, which cargo builds in a minute or two the first time
	interop/compliance/install --audit
	cd interop && go test -count=1 -timeout 15m -run '^TestTheChecksOfOthers$$' ./compliance

browser: ## the pages in a real browser, under axe and Lighthouse; installs what it needs
	@CHROMIUM=$(CHROMIUM) interop/browser/install
	cd interop && CHROMIUM=$(CHROMIUM) go test -count=1 -timeout 20m ./browser

libsecp256k1: ## build with libsecp256k1 to check signatures, and test that; installs Debian's package where there is none
	@test -e /usr/include/secp256k1_schnorrsig.h || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libsecp256k1-dev >/dev/null; }
	CGO_ENABLED=1 go vet -tags libsecp256k1 ./internal/protocol/bip340
	CGO_ENABLED=1 go test -tags libsecp256k1 ./internal/protocol/bip340 ./internal/protocol/nostr
	CGO_ENABLED=1 go build -tags libsecp256k1 -o /dev/null ./cmd/graspd

release: ## archives, packages, SBOMs and checksums of the commit that is checked out, made twice, into dist/; VERSION names it, MAINTAINER, SUPPORT, HOME_URL and NOSTR_URL say who makes it, and where
	@# A module of its own: what makes packages is no part of what is in them.
	cd release && go run . -root .. -out ../dist $(if $(VERSION),-version '$(VERSION)') $(if $(SYSTEMS),-systems '$(SYSTEMS)') $(if $(ONCE),-once) $(if $(WARM),-warm) $(if $(MAINTAINER),-maintainer '$(MAINTAINER)') $(if $(SUPPORT),-support '$(SUPPORT)') $(if $(HOME_URL),-home '$(HOME_URL)') $(if $(NOSTR_URL),-nostr '$(NOSTR_URL)')

image: ## the image of a container, named VERSION, for DOCKER (docker)
	$(or $(DOCKER),docker) build -f deploy/Dockerfile --build-arg VERSION=$(VERSION) -t graspd:$(or $(VERSION),latest) .

docs: ## write the pages that are made from the source, and the pictures in them
	go test ./internal/test/arch -run LogLines -args -update
	go test ./internal/operate/metrics -run EveryMetric -args -update
	go test ./cmd/graspd -run FlagsPage -args -update
	cd interop && CHROMIUM=$(CHROMIUM) PICTURE=../../docs/page.png STORY=../../docs go test -count=1 -run '^Test(Picture|Story)$$' ./browser

demo: ## a relay on this machine that fills from three others
	go run ./cmd/graspd demo
