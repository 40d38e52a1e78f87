//go:build cgo && linux

package fusion_test

import (
	"fmt"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/kerneltest"
)

func bytesOf(p op.Program, role op.Role) (n int64) {
	for _, x := range p.Tensors {
		if x.Role == role {
			n += x.Elements() * x.DType.Size()
		}
	}
	return n
}

func openTwo(t *testing.T) backend.Device {
	t.Helper()
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func TestWrittenBytesAreThoseOfOutputsAndIntermediates(t *testing.T) {
	dev := openTwo(t)
	for _, c := range []struct {
		pattern string
		dtypes  []record.DType
		params  map[string]string
		outputs int64 // elements
		between int64 // elements of the intermediates of the chain with a buffer for each
		inPlace int64 // of the chain in place; -1: there is none
	}{
		{"Linear_Bias_ReLU", []record.DType{record.FP32, record.BF16}, map[string]string{"m": "37", "k": "19", "n": "53"}, 37 * 53, 2 * 37 * 53, 0},
		{"Conv2d_BN_ReLU", []record.DType{record.FP32, record.BF16}, map[string]string{"n": "2", "c": "5", "k": "7", "hw": "9", "r": "3"}, 2 * 7 * 81, 2 * 2 * 7 * 81, 0},
		{"QK_Softmax", []record.DType{record.FP32, record.BF16}, map[string]string{"b": "2", "s": "33", "d": "16"}, 2 * 33 * 33, 2 * 2 * 33 * 33, -1},
		{"SwiGLU", []record.DType{record.FP32, record.BF16}, map[string]string{"m": "37", "k": "19", "n": "53"}, 37 * 53, 3 * 37 * 53, 37 * 53},
		{"Add_LayerNorm", []record.DType{record.FP32, record.BF16}, map[string]string{"rows": "7", "cols": "100"}, 2 * 700, 0, -1}, // the sum is an output of both
		{"Add_ReLU", []record.DType{record.FP32, record.BF16}, map[string]string{"rows": "7", "cols": "1000"}, 7000, 7000, 0},
	} {
		for _, d := range c.dtypes {
			for arm, elements := range map[string]int64{fusion.Fused: 0, fusion.Unfused + ":buffers": c.between, fusion.Unfused + ":in place": c.inPlace} {
				if elements < 0 {
					continue
				}
				p, err := fusion.Program(fusion.Builtin(), record.ProgramRef{Op: c.pattern, Pattern: c.pattern, DType: d, Name: arm, Params: c.params})
				if err != nil {
					t.Fatal(err)
				}
				want := d.Size() * (c.outputs + elements)
				v := kerneltest.Program(t, dev, p)
				if !v.Passed || v.WrittenBytes != want {
					t.Errorf("%s %s %s: passed %v, wrote %d bytes, want %d", c.pattern, d, arm, v.Passed, v.WrittenBytes, want)
				}
			}
		}
	}
}

// omitting is an executable whose last step but one is as if it had left the first elements of an intermediate out.
type omitting struct {
	backend.Executable
	tensor string
	bytes  int
}

func (o omitting) Run(n int) error {
	err := o.Executable.Run(n)
	if err != nil {
		return err
	}
	mem, before, _, err := o.ReadRaw(o.tensor)
	for i := range o.bytes {
		mem[i] = before[0] // the poison of this run
	}
	return err
}

func TestBytesThatAKernelLeavesUnwrittenAreNotCounted(t *testing.T) {
	dev := openTwo(t)
	for _, d := range []record.DType{record.FP32, record.BF16} {
		p, err := fusion.Program(fusion.Builtin(), record.ProgramRef{Op: "Linear_Bias_ReLU", Pattern: "Linear_Bias_ReLU", DType: d, Name: fusion.Unfused + ":buffers",
			Params: map[string]string{"m": "37", "k": "19", "n": "53"}})
		if err != nil {
			t.Fatal(err)
		}
		whole := bytesOf(p, op.Out) + bytesOf(p, op.Scratch)
		for _, n := range []int{0, int(d.Size()), 1000} {
			t.Run(fmt.Sprintf("%s without %d bytes", d, n), func(t *testing.T) {
				e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 7, Sets: 1})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = e.Release() }()
				v, err := runner.Verify(t.Context(), omitting{e, "t1", n}, p, 7, runner.DefaultEffort)
				if err != nil || !v.Passed || v.WrittenBytes != whole-int64(n) {
					t.Errorf("%v, passed %v: wrote %d bytes, want %d of %d", err, v.Passed, v.WrittenBytes, whole-int64(n), whole)
				}
			})
		}
		// Of an output the verification fails, and nothing is said of a wrong program.
		e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 7, Sets: 1})
		if err != nil {
			t.Fatal(err)
		}
		v, err := runner.Verify(t.Context(), omitting{e, "c", int(d.Size())}, p, 7, runner.DefaultEffort)
		if err != nil || v.Passed || v.WrittenBytes != 0 {
			t.Errorf("an output left out: %v, passed %v, %d bytes", err, v.Passed, v.WrittenBytes)
		}
		_ = e.Release()
	}
}
