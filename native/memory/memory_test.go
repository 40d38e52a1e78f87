//go:build cgo && linux

package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

func params(kv ...any) map[string]string {
	p := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		p[kv[i].(string)] = fmt.Sprint(kv[i+1])
	}
	return p
}

var (
	streams  = []string{"stream_copy", "stream_scale", "stream_add", "stream_triad", "axpy", "dot"}
	onArrays = []string{"copy", "fill", "add_scalar"}
)

// Below and above the vectors and the unrolled loops, with tails of both.
var lengths = []int{0, 1, 67, 4999}

func TestStreamsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, n := range lengths {
		for _, name := range streams {
			for _, d := range []record.DType{record.FP32, record.FP64} {
				ops = append(ops, kerneltest.Op(t, name, d, params("n", n)))
			}
		}
		for _, name := range onArrays {
			for _, d := range []record.DType{record.FP32, record.BF16} {
				ops = append(ops, kerneltest.Op(t, name, d, params("rows", 3, "cols", n)))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestTransposeMatchesTheExpectation(t *testing.T) {
	shapes := [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 1000}, {1000, 1}, {2, 3}, {7, 13}, {8, 8}, {15, 17}, {16, 16},
		{16, 64}, {64, 64}, {65, 63}, {128, 64}, {129, 130}, {200, 333}, {512, 31}, {9, 2048}, {2048, 8}}
	var ops []op.Op
	for _, s := range shapes {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			ops = append(ops, kerneltest.Op(t, "transpose", d, params("rows", s[0], "cols", s[1])))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// In both directions: blocks of 8, 16 and 32 rows and their remainders, tiles and theirs, few channels, several images.
func TestLayoutConversionMatchesTheExpectation(t *testing.T) {
	shapes := [][4]int{{0, 3, 4, 5}, {2, 0, 4, 5}, {1, 1, 1, 1}, {1, 3, 31, 33}, {3, 3, 5, 7}, {2, 16, 8, 8}, {1, 32, 4, 8}, {2, 37, 9, 11},
		{1, 64, 16, 16}, {3, 67, 13, 21}, {1, 300, 7, 9}, {2, 24, 19, 1}}
	var ops []op.Op
	for _, s := range shapes {
		for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
			for _, to := range []string{"nhwc", "nchw"} {
				ops = append(ops, kerneltest.Op(t, "layout", d, params("n", s[0], "c", s[1], "h", s[2], "w", s[3], "to", to)))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestTheChaseEndsWhereTheCycleSays(t *testing.T) {
	var ops []op.Op
	for _, lines := range []int{1, 2, 3, 7, 64, 1000} {
		for _, steps := range []int{0, 1, 7, 8, lines, 3*lines + 5} {
			ops = append(ops, kerneltest.Op(t, "chase", record.INT64, params("bytes", lines*64, "steps", steps)))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// A launch starts where the last one ended: together they walk the whole cycle.
func TestAWalkGoesOnWhereItEnded(t *testing.T) {
	const lines, steps, launches = 1000, 77, 20
	dev := open(t, native.New(), 2)
	o := kerneltest.Op(t, "chase", record.INT64, params("bytes", lines*64, "steps", steps))
	e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	if err := e.Fill(false, 0); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= launches; n++ {
		if err := e.Run(1); err != nil {
			t.Fatal(err)
		}
		var y [1]float64
		if err := e.Read("y", 0, 1, y[:]); err != nil {
			t.Fatal(err)
		}
		if want := op.ChaseAfter(op.Key(5, 0), lines, n*steps); int64(y[0]) != want {
			t.Fatalf("after %d launches of %d steps the walk is at %g, want %d", n, steps, y[0], want)
		}
	}
}

func TestBandwidthProbesProveTheirWork(t *testing.T) {
	var ops []op.Op
	for _, access := range op.Accesses {
		for _, bytes := range []int{0, 1000, 200003} {
			for _, passes := range []int{1, 3} {
				ops = append(ops, kerneltest.Op(t, "bandwidth", record.FP32, params("access", access, "bytes", bytes, "passes", passes)))
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Reading has an order of its own beyond L2 and beyond L3, asked for ahead or not.
func TestTheReadProbeProvesItsWorkBeyondTheCaches(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 14 MiB")
	}
	b := native.New()
	dev, runs := open(t, b, 1), open(t, b, 1)
	kerneltest.ReadRuns(runs)
	for _, bytes := range []int{3<<20 + 4*77, 14<<20 + 4*1501} {
		o := kerneltest.Op(t, "bandwidth", record.FP32, params("access", "read", "bytes", bytes, "passes", 2))
		for _, k := range kerneltest.Names(b, o) {
			for i, dev := range []backend.Device{dev, runs} {
				if err := kerneltest.One(dev, o, k, 4); err != nil {
					t.Errorf("%s, %d bytes, several runs=%v: %v", k, bytes, i == 1, err)
				}
			}
		}
	}
}

// So have dot products of arrays that lie in memory, whose parts and rest are added once each.
func TestDotProductsOfSeveralPartsMatchTheExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 9 MiB")
	}
	b := native.New()
	dev := open(t, b, 1)
	kerneltest.ReadRuns(dev)
	dev.(interface{ SetAround(bytes int64) }).SetAround(16 << 20)
	for _, d := range []record.DType{record.FP32, record.FP64} {
		o := kerneltest.Op(t, "dot", d, params("n", (9<<20)/d.Size()+77))
		for _, k := range kerneltest.Names(b, o) {
			if err := kerneltest.One(dev, o, k, d.Size()); err != nil {
				t.Errorf("%s: %v", k, err)
			}
		}
	}
}

// Non-temporal kernels take only working sets above 64 MiB, or less where their processor tells: just above it, three threads, misaligned.
func TestNonTemporalKernelsMatchTheExpectationOnLargeArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("large arrays")
	}
	b := native.New()
	dev, runs := open(t, b, 3), open(t, b, 3)
	kerneltest.ReadRuns(runs)
	n := 64<<20/4 + 1003
	var ops []op.Op
	for _, name := range streams[:5] {
		ops = append(ops, kerneltest.Op(t, name, record.FP32, params("n", n/2)), kerneltest.Op(t, name, record.FP64, params("n", n/4)))
	}
	for _, name := range onArrays {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			ops = append(ops, kerneltest.Op(t, name, d, params("rows", 1, "cols", int64(n)*4/d.Size())))
		}
	}
	for _, d := range []record.DType{record.FP32, record.BF16} {
		ops = append(ops, kerneltest.Op(t, "transpose", d, params("rows", 4099, "cols", 8209/d.Size())))
	}
	ops = append(ops, kerneltest.Op(t, "layout", record.INT8, params("n", 3, "c", 1031, "h", 107, "w", 103)))
	for _, o := range ops {
		for _, k := range kerneltest.Names(b, o) {
			if !strings.HasSuffix(k, "_nt") {
				continue
			}
			for _, dev := range []backend.Device{dev, runs} {
				if err := kerneltest.One(dev, o, k, o.Tensors()[0].DType.Size()); err != nil {
					t.Errorf("%s %s: %v", k, kerneltest.Describe(o), err)
				}
			}
		}
	}
}

func TestNonTemporalKernelsAreChosenAboveTheSetsThatCachesHold(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		op            string
		around, above int // bytes of all arrays
	}{
		{"stream_copy", 16 * mib, 16 * mib}, {"stream_copy", 40 * mib, 40 * mib}, {"stream_copy", 80 * mib, 80 * mib},
		{"fill", 16 * mib, 64 * mib}, {"fill", 40 * mib, 64 * mib}, {"fill", 80 * mib, 80 * mib},
	} {
		b := native.New()
		dev := open(t, b, 1)
		dev.(interface{ SetAround(bytes int64) }).SetAround(int64(c.around))
		for _, more := range []int{0, 1} {
			size := params("n", c.above/8+more) // two arrays
			if c.op == "fill" {
				size = params("rows", 1, "cols", c.above/4+more)
			}
			o := kerneltest.Op(t, c.op, record.FP32, size)
			any := false
			for _, k := range kerneltest.Names(b, o) {
				any = any || strings.HasSuffix(k, "_nt")
			}
			if !any {
				t.Skip("this machine has no non-temporal kernel")
			}
			e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			name := e.Kernels()[0].Name
			if got, want := strings.HasSuffix(name, "_nt"), more > 0; got != want {
				t.Errorf("%s, %d bytes and %d elements, around the caches above %d: kernel %s; non-temporal expected %v", c.op, c.above, more, c.around, name, want)
			}
			if err := e.Release(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestThePortableProbeRefusesNonTemporalAccess(t *testing.T) {
	dev := open(t, native.New(), 1)
	for _, access := range []string{"nt_write", "nt_copy", "nt_triad"} {
		o := kerneltest.Op(t, "bandwidth", record.FP32, params("access", access, "bytes", 4096))
		if err := kerneltest.One(dev, o, "bandwidth_fp32_portable", 0); !backend.IsUnsupported(err) {
			t.Errorf("%s: error %v, expected unsupported", access, err)
		}
	}
}

func open(t *testing.T, b *native.Backend, threads int) backend.Device {
	t.Helper()
	cpus := make([]int, threads)
	for i := range cpus {
		cpus[i] = -1
	}
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}
