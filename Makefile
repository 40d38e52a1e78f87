# ridge: build, calibrate, test. `make help` lists the targets.
# One set of flags for every build, so that the kernels compile once: -trimpath keeps paths out of the cache key.
export GOFLAGS = -trimpath -buildvcs=false
# The kernels' objects keep their lines (ridge profile shows them) and lose their variables' places, which take gcc 0.4 of its time: the code is the same.
export CGO_CFLAGS ?= -O2 -g1
GO      ?= go
ifeq ($(origin CC),default)
CC       = gcc
endif
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git describe --always --abbrev=40 --dirty --match='' 2>/dev/null || echo unknown)
LDFLAGS  = -X main.version=$(VERSION) -X main.revision=$(REVISION)
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help build cuda cuda-toolkit cuda-check device-bundle calibrate calibrate-full test unit timed check race arm64 clang sanitize bench-peers stamp selftest fuzz readme clean compiler watch-cost bench-report bench-interleave profile-overhead

help:
	@echo "make build           bin/ridge"
	@echo "make cuda            bin/ridge with the NVIDIA platform inside, with or without a GPU (brings its compiler; docs/cuda.md)"
	@echo "make cuda-check      the same, then the platform's tests in the CPU execution model (CHIPS=80,90a: code for these alone)"
	@echo "make device-bundle   bin/device.tar.gz: the binary and the script that check a machine with a GPU (docs/cuda.md)"
	@echo "make calibrate       build, then the quick calibration of this machine (under 90 s)"
	@echo "make calibrate-full  build, then the full calibration (up to 15 min)"
	@echo "make test            vet, format, staticcheck, tests, race tests, arm64 tests where the tools are"
	@echo "make sanitize        the kernels' tests with AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make selftest        measure the measurement: known durations under known noise"
	@echo "make profile-overhead  what sampling costs the kernel that is sampled (A B B A, 30 s; OVERHEAD=flags)"
	@echo "make bench-peers     our CPU kernels, the probes and other libraries, interleaved (PEERS=flags, as -only REGEXP; see docs/benchmarks)"
	@echo "make watch-cost      what reading a meter during a run costs: the quick suite without and with it, A B B A (WATCH=flags)"
	@echo "make bench-interleave  false alarms and findings of compare --interleave on this machine (INTERLEAVE=flags, as -for 5m)"
	@echo "make bench-report    how fast large documents are read, shown and compared, and a large history is listed"
	@echo "make readme          write the README's table from the committed quick calibration"
	@echo "make stamp           after editing native/include, a .def or an .inc file: make the go command notice"

compiler:
	@command -v $(CC) >/dev/null 2>&1 || { echo "ridge needs a C compiler and '$(CC)' is not there: install gcc (Debian/Ubuntu: apt-get install gcc libc6-dev; Fedora: dnf install gcc glibc-devel)"; exit 1; }
	@v=$$(printf '#ifdef __clang__\n clang __clang_major__\n#else\n gcc __GNUC__\n#endif\n' | $(CC) -E -P - 2>/dev/null | xargs); \
	case "$$v" in "gcc "*) need=12;; "clang "*) need=14;; *) need=99;; esac; \
	test "$${v##* }" -ge $$need 2>/dev/null || { echo "ridge needs gcc 12 or clang 14 or later, with binutils 2.38 or later, and '$(CC)' is $${v:-neither}: choose another with make CC=gcc-12 or make CC=clang"; exit 1; }
	@command -v $(GO) >/dev/null 2>&1 || { echo "ridge needs Go 1.26 or later and '$(GO)' is not there: see https://go.dev/dl"; exit 1; }

# The portable models of variants that a machine may lack serve the tests: they take gcc three minutes and are not built here.
build: compiler
	CGO_ENABLED=1 CC=$(CC) $(GO) build -tags nomodels -ldflags "$(LDFLAGS)" -o bin/ridge ./cmd/ridge

# The NVIDIA platform: nvcc and cuda.h are found or brought (build/cuda), the kernels become fat
# binaries in cuda/fatbin/bin, and the binary embeds them. Starts on machines without a driver too.
# CHIPS are the compute capabilities that get code of their own; a check may do with 80,90a.
CHIPS ?= 80,90a,100a,120
CUDA_ENV = . build/cuda/env; export $$CUDA_BUILD; export CGO_ENABLED=1 CC=$(CC);
cuda: cuda-toolkit
	$(CUDA_ENV) $(GO) build -tags cuda,nomodels -ldflags "$(LDFLAGS)" -o bin/ridge ./cmd/ridge
	@if nm -D bin/ridge | grep ' U cu[A-Z]'; then echo "bin/ridge would not start without these functions of the driver: run scripts/cuda-symbols.sh"; rm bin/ridge; exit 1; fi

cuda-toolkit: compiler
	scripts/cuda-toolkit.sh
	. build/cuda/env; $(GO) run ./internal/fatbins -nvcc "$$NVCC" -chips $(CHIPS)

# What can be tested without a GPU: every kernel compiles for every chip without a spill, and runs
# in the CPU execution model behind a driver of the tests.
cuda-check: cuda
	$(CUDA_ENV) $(GO) vet -tags cuda ./cuda/... ./cmd/ridge
	$(CUDA_ENV) $(GO) test -timeout 30m -tags cuda ./cuda/... ./internal/fatbins

# For a machine with a GPU and without Go: the binary without its debug information, and what scripts/device-check.sh needs.
# MiB, packed: below the 60 that it may have it leaves room for a checkout beside it.
DEVICE_BUNDLE_MOST = 40
device-bundle: cuda
	rm -rf build/device && mkdir -p build/device
	strip -o build/device/ridge bin/ridge
	cp scripts/device-check.sh scripts/device-peers.py build/device
	tar -C build -czf bin/device.tar.gz device
	@for f in bin/ridge build/device/ridge bin/device.tar.gz; do echo "device-bundle: $$(( $$(wc -c <$$f) / 1048576 )) MiB $$f"; done
	@test $$(wc -c <bin/device.tar.gz) -le $$(( $(DEVICE_BUNDLE_MOST) * 1048576 )) || { echo "device-bundle: bin/device.tar.gz is above $(DEVICE_BUNDLE_MOST) MiB"; rm bin/device.tar.gz; exit 1; }

calibrate: build
	bin/ridge calibrate --quick

calibrate-full: build
	bin/ridge calibrate

test: check
	$(MAKE) unit
	$(MAKE) race
	$(MAKE) arm64

# go test would vet each package and all that it imports once more for every way in which they are compiled: check and arm64 vet.
TEST = $(GO) test -vet=off

# Tests of measure hold clocks to a deadline and fail beside other work: where unit and race run beside others (.ci/run), LEAVE=$(TIMED)
# leaves them out and timed runs them.
TIMED    = goharness/measure
LEAVE    =
packages = $$(CGO_ENABLED=1 $(GO) list $(1) $(foreach p,$(LEAVE) $(2),| grep -v '/$(p)$$'))

# The longest package takes four minutes alone and more than the go command's ten beside other work on a busy machine.
unit: compiler
	CGO_ENABLED=1 $(TEST) -timeout 40m $(call packages,./...)

timed: compiler
	CGO_ENABLED=1 $(TEST) ./$(TIMED)
	GORACE="atexit_sleep_ms=20" CGO_ENABLED=1 $(TEST) -race -short ./$(TIMED)

check: compiler
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) vet ./native ./cmd/ridge
	$(GO) run $(STATICCHECK) ./...

# Packages that start no goroutine, nor do their tests, which a test of cmd/ridge holds them to: the race detector would see nothing there. Where
# others call them from several, as the server does for its pages, it sees them in the tests of those.
SERIAL = goharness/ceiling goharness/plan goharness/report

# The Go parts under the race detector; the kernels' own tests have no Go concurrency. A process under the detector sleeps for a second
# before it exits, unless told otherwise, to see races of goroutines that are still at work: the tests start hundreds of processes. The longest package stands first.
race: compiler
	GORACE="atexit_sleep_ms=20" CGO_ENABLED=1 $(TEST) -race -short -timeout 40m $(call packages,./cmd/... ./goharness/...,$(SERIAL))

# Cross-build for arm64 and run the kernels' tests under emulation, when the tools are there. Here and with the second compiler without
# the models (*_model): one plain C text for every machine, which unit runs, and sanitize where the machine lacks the kernel. That these compilers take it is asked apart.
ARM_CC   = aarch64-linux-gnu-gcc
ARM_QEMU = $(firstword $(wildcard /usr/bin/qemu-aarch64-static /usr/bin/qemu-aarch64))
arm64:
	@if ! command -v $(ARM_CC) >/dev/null 2>&1; then echo "arm64: skipped, $(ARM_CC) is not installed (Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"; exit 0; fi; \
	set -e; for f in $$(grep -l 'go:build !nomodels' native/*/*.c); do $(ARM_CC) -fsyntax-only -Wno-psabi -Inative/include $$f; done; \
	export GOARCH=arm64 CC=$(ARM_CC) CGO_ENABLED=1; $(GO) vet -tags nomodels ./...; \
	if [ -z "$(ARM_QEMU)" ]; then echo "arm64: built; tests skipped, qemu-aarch64-static is not installed (Debian: apt-get install qemu-user-static)"; exit 0; fi; \
	RIDGE_TEST_SPARSE=1 QEMU_LD_PREFIX=/usr/aarch64-linux-gnu QEMU_CPU=max $(TEST) -tags nomodels -exec "$(ARM_QEMU)" -short -timeout 30m ./native/...

clang:
	CGO_ENABLED=1 CC=clang $(GO) build -tags nomodels -o bin/ridge-clang ./cmd/ridge
	@for f in $$(grep -l 'go:build !nomodels' native/*/*.c); do clang -fsyntax-only -Wno-psabi -Inative/include $$f || exit 1; done
	RIDGE_TEST_SPARSE=1 CGO_ENABLED=1 CC=clang $(TEST) -tags nomodels -short ./native/...

# The kernels' tests with every memory access and every operation of undefined result checked; a
# finding ends the test. Three checks are left out because they double the time to compile and what
# they find shows anyway: a null or overflown pointer faults when it is used, and AddressSanitizer
# knows the sizes of objects. Vectors in element-aligned memory are declared aligned(1..8): what the
# alignment check refuses is an access that promised more. gcc makes one multiply-add of a product and
# a sum from -O2 on alone, and two ways to one product have equal bits only so: it is asked for.
SANITIZE = -fsanitize=address,undefined
SANITIZE_FLAGS = -g1 -fexpensive-optimizations $(SANITIZE) -fno-sanitize=null,object-size,pointer-overflow -fno-sanitize-recover=all
sanitize: compiler
	@start=$$(date +%s); set -x; \
	SANITIZE_CC=$(CC) PATH=$(CURDIR)/scripts:$$PATH CC=sanitize-cc CGO_CFLAGS="$(SANITIZE_FLAGS)" CGO_LDFLAGS="$(SANITIZE)" CGO_ENABLED=1 \
	RIDGE_TEST_SPARSE=1 UBSAN_OPTIONS=print_stacktrace=1 $(TEST) -short -timeout 20m ./native/... || exit 1; \
	set +x; echo "sanitize: $$(( $$(date +%s) - start )) s"

stamp:
	$(GO) run ./internal/stamp/cmd

# The peers go into build/peers; without them the rows have no peer. PEERS holds flags of the
# program: -only REGEXP, -threads 1,2, -rounds N, -ms N, -update, -out FILE, -list. Without a peer and measuring
# nothing, go run ./internal/benchpeers -render -chip FOLDER writes docs/benchmarks/FOLDER/peers.md again from its data.
PEERS ?=
bench-peers: compiler
	@test -e build/peers/installed || scripts/peers
	@scripts/peers adapters # they share the kernels' structs: older ones would crash
	CGO_ENABLED=1 CC=$(CC) $(GO) build -tags nomodels -o build/benchpeers ./internal/benchpeers
	build/benchpeers -revision $(VERSION) $(PEERS)

readme:
	$(GO) run ./internal/readmetable

selftest: build
	bin/ridge selftest

# Flags: -quartets N (0: show the log) -for 30m -operations gemm,stream -trials N -every 100ms. Quartets add up in build/watchcost.jsonl.
WATCH ?=
watch-cost: build
	$(GO) run ./internal/watchcost $(WATCH)
# Real comparisons of two builds: one with itself, and with one that does 5 % more work. They add up in build/interleave.jsonl.
INTERLEAVE ?=
bench-interleave: build
	CGO_ENABLED=1 CC=$(CC) $(GO) build -tags nomodels -o build/slowworker ./internal/slowworker
	$(GO) build -o build/interleavebench ./internal/interleavebench
	build/interleavebench $(INTERLEAVE)
# Flags: -rate 500 (that of ridge profile --native in a virtual machine; default 1000) -budget 40s.
OVERHEAD ?=
profile-overhead: compiler
	CGO_ENABLED=1 CC=$(CC) $(GO) build -tags nomodels -o build/sampleoverhead ./internal/sampleoverhead
	build/sampleoverhead $(OVERHEAD)

fuzz:
	scripts/fuzz.sh 5s

# Figures of reading, showing, comparing and keeping documents: a page of 10 machines with 1,000 results each, documents of
# 100 MB, a comparison of 2 × 10,000 results, a history of 10,000 runs with 300 results each.
bench-report: compiler
	CGO_ENABLED=1 $(GO) test ./goharness/report ./cmd/ridge ./goharness/history/compare ./goharness/history -run '^$$' -bench 'PageOf|ReadLarge|TenThousand|CommandsOnMeasured' -benchtime 1x -timeout 10m

clean:
	rm -rf bin build
