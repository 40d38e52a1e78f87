//go:build cgo && linux

package kerneltest

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
)

// Bounds of a drawn op: its multiply-adds and bytes, so that the expectation takes milliseconds.
const (
	drawnFLOPs = 6e6
	drawnBytes = 4 << 20
)

// sizes of a drawn dimension, by how much they are rounded up and down about tiles of kernels: the ways through a kernel change
// with sizes and options together, and a list of shapes meets few of the pairs.
func drawSize(r *rand.Rand) int64 {
	switch r.IntN(6) {
	case 0:
		return r.Int64N(4)
	case 1:
		return 1 + r.Int64N(16)
	case 2:
		return 1 + r.Int64N(80)
	case 3:
		return 16*(1+r.Int64N(20)) + r.Int64N(3) - 1
	case 4:
		return 1 + r.Int64N(400)
	}
	return 1 + r.Int64N(1500)
}

// draw makes an op of a spec with drawn parameters; nil where they do not go together or make too much work.
func draw(r *rand.Rand, s op.Spec) op.Op {
	params := map[string]string{}
	for _, p := range s.Params {
		switch {
		case len(p.Enum) > 0:
			params[p.Name] = p.Enum[r.IntN(len(p.Enum))]
		case p.Default != "" && r.IntN(3) > 0:
			params[p.Name] = p.Default
		case p.Name == "r" || p.Name == "s" || p.Name == "stride" || p.Name == "pad" || p.Name == "dilation":
			params[p.Name] = strconv.FormatInt(p.Min+r.Int64N(5), 10)
		case p.Name == "groups": // depthwise, often
			params[p.Name] = params["c"]
			if r.IntN(2) == 0 {
				params["k"] = params["c"]
			}
		default:
			params[p.Name] = strconv.FormatInt(min(p.Max, max(p.Min, drawSize(r))), 10)
		}
	}
	o, err := op.NewRegistry(s).New(s.Name, params, s.DTypes[r.IntN(len(s.DTypes))])
	if err != nil || o.FLOPs() > drawnFLOPs || op.Single(o).StorageBytes() > drawnBytes {
		return nil
	}
	return o
}

// Every kernel at drawn ops, thread counts and alignments. RIDGE_TEST_DRAWS draws more, RIDGE_TEST_SEED others.
func TestKernelsMatchTheExpectationAtDrawnShapes(t *testing.T) {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return otherwise
	}
	draws, seed := number("RIDGE_TEST_DRAWS", 120), number("RIDGE_TEST_SEED", 1)
	if testing.Short() {
		draws = min(draws, 40)
	}
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	b := native.New()
	var devices []backend.Device
	for threads := 1; threads <= 4; threads++ {
		cpus := make([]int, threads)
		for i := range cpus {
			cpus[i] = -1
		}
		dev, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "none"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dev.Close() }()
		devices = append(devices, dev)
	}
	var specs []op.Spec
	for _, s := range op.Builtin().Specs() {
		if s.Family != "probe" {
			specs = append(specs, s)
		}
	}
	// Rows without elements and with a pitch have no memory.
	for _, k := range Names(b, Op(t, "gemm", record.FP32, map[string]string{"m": "4", "n": "0", "k": "3"})) {
		if err := One(devices[0], Op(t, "gemm", record.FP32, map[string]string{"m": "4", "n": "0", "k": "3", "ldc": "21"}), k, 0); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	only, ran := os.Getenv("RIDGE_TEST_OPS"), 0
	for n := 0; n < draws; {
		s := specs[r.IntN(len(specs))]
		if s.Family == "elementwise" && r.IntN(4) > 0 || only != "" && !strings.Contains(","+only+",", ","+s.Name+",") {
			continue
		}
		o := draw(r, s)
		if o == nil {
			continue
		}
		n++
		ref := remember(o)
		for _, k := range Names(b, o) {
			dev := devices[r.IntN(len(devices))]
			how := backend.PrepareOptions{Kernel: k}
			if r.IntN(2) == 0 {
				how.Misalign = offVectors(o)
			}
			err := verify(dev, o, ref, how)
			var unsupported *backend.UnsupportedError
			if errors.As(err, &unsupported) {
				continue
			}
			ran++
			if err != nil {
				t.Errorf("%s %s %s threads=%d shift=%d: %v", k, o.DType(), Describe(o), dev.Conditions().Threads, how.Misalign, err)
			}
		}
	}
	if ran == 0 {
		t.Error("no kernel ran")
	}
	t.Logf("%d draws, %d runs of kernels", draws, ran)
}
