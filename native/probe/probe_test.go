//go:build cgo && linux

package probe_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/internal/badpeak"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
	"ridge/native/probe"
)

// parameters of a peak; SVE takes this machine's vector length.
func parameters(isa string, instructions int64) map[string]string {
	p := map[string]string{"isa": isa, "instructions": strconv.FormatInt(instructions, 10)}
	if isa == "sve" {
		p["vl"] = strconv.Itoa(max(128, probe.SVEBits()))
	}
	return p
}

// runnable reports whether this machine can run a peak of the row.
func runnable(t *testing.T, dev backend.Device, r op.PeakRow) bool {
	e, err := dev.Prepare(op.Single(kerneltest.Op(t, "peak", r.DType, parameters(r.ISA, op.PeakUnit))), backend.PrepareOptions{})
	if backend.IsUnsupported(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Release(); err != nil {
		t.Fatal(err)
	}
	return true
}

func open(t *testing.T, threads int) backend.Device {
	t.Helper()
	cpus := make([]int, threads)
	for i := range cpus {
		cpus[i] = -1
	}
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "none"})
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

// whole runs a full chunk and a short one once (more would be slow under emulation): the
// largest sums must still be exact.
func whole(t *testing.T, dev backend.Device, o op.Op) {
	t.Helper()
	e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	if err := e.Run(1); err != nil {
		t.Fatal(err)
	}
	var got [2]float64
	if err := e.Read("result", 0, 2, got[:]); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := o.Expect(nil, 0, int64(i)).Value; v != want {
			t.Errorf("%s chunk %d: %v instructions proved, want %v", kerneltest.Describe(o), i, v, want)
		}
	}
}

func TestPeaksExecuteExactlyTheDeclaredInstructions(t *testing.T) {
	dev := open(t, 1)
	var ops []op.Op
	for _, r := range op.PeakRows() {
		if !runnable(t, dev, r) {
			t.Logf("%s %s: not on this machine", r.ISA, r.DType)
			continue
		}
		for _, n := range []int64{op.PeakUnit, 5 * op.PeakUnit} {
			ops = append(ops, kerneltest.Op(t, "peak", r.DType, parameters(r.ISA, n)))
		}
		whole(t, dev, kerneltest.Op(t, "peak", r.DType, parameters(r.ISA, r.Chunk+op.PeakUnit)))
	}
	if len(ops) < 8 {
		t.Fatalf("%d peaks run here, want at least the portable ones", len(ops))
	}
	kerneltest.All(t, native.New(), ops)
}

func TestEveryPeakRowHasItsKernel(t *testing.T) {
	here := map[string]string{"amd64": "portable sse2 avx2 avx512 avx512fp16 avx512bf16 avx512vnni avxvnni amx", "arm64": "portable neon dotprod bf16arm i8mm sve"}
	names := map[string]bool{}
	for _, k := range native.New().Kernels() {
		names[k.Name] = true
	}
	arch := "amd64"
	if names["peak_fp32_neon_arm64"] {
		arch = "arm64"
	}
	for _, r := range op.PeakRows() {
		want := fmt.Sprintf("peak_%s_%s_%s", r.DType, r.ISA, arch)
		if r.ISA == "portable" {
			want = fmt.Sprintf("peak_%s_portable", r.DType)
		}
		if contains(here[arch], r.ISA) != names[want] {
			t.Errorf("%s %s: kernel %s registered: %v", r.ISA, r.DType, want, names[want])
		}
	}
}

func contains(words, w string) bool {
	for _, x := range strings.Fields(words) {
		if x == w {
			return true
		}
	}
	return false
}

func TestClockAndDispatchProveThatTheyRan(t *testing.T) {
	var ops []op.Op
	for _, n := range []string{"16", "32", "48", "1024", "262144"} {
		ops = append(ops, kerneltest.Op(t, "clock", record.FP64, map[string]string{"multiplications": n}))
	}
	kerneltest.All(t, native.New(), append(ops, kerneltest.Op(t, "dispatch", record.FP64, nil)))
}

func TestPeaksThatLeaveInstructionsOutAreRefused(t *testing.T) {
	dev, err := native.New(badpeak.Family()).Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	for _, c := range []struct{ name, kernel string }{
		{"the loop ends one turn early", "peak_fp32_short_portable"},
		{"a quarter of the turns, as folded accumulators need", "peak_fp32_folded_portable"},
		{"one of twelve chains is dead", "peak_fp32_dead_portable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := op.Single(kerneltest.Op(t, "peak", record.FP32, parameters("portable", 5*op.PeakUnit)))
			e, err := dev.Prepare(p, backend.PrepareOptions{Kernel: c.kernel, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Release() }()
			v, err := runner.Verify(context.Background(), e, p, 1, runner.DefaultEffort)
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed || v.Mismatch == nil {
				t.Errorf("the verifier passed %s", c.kernel)
			}
		})
	}
}

func TestSVELengthIsKnownWhereTheCPUHasSVE(t *testing.T) {
	has := false
	for _, n := range kernel.Detect().Names() {
		has = has || n == "sve"
	}
	if bits := probe.SVEBits(); has != (bits >= 128) || bits%128 != 0 {
		t.Errorf("SVE %v, vector length %d bits", has, bits)
	}
}
