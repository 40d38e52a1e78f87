package plan

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Every op at every precision has shapes that it takes, peak apart at the precisions of SVE alone.
func TestEveryOpHasShapesToBeVerifiedIn(t *testing.T) {
	ops := op.Builtin()
	for _, spec := range ops.Specs() {
		for _, d := range spec.DTypes {
			k := backend.KernelInfo{Name: spec.Name + "_" + string(d) + "_portable", Op: spec.Name, DType: d}
			if spec.Name == "peak" {
				for _, r := range op.PeakRows() {
					if r.DType == d {
						k.Name = "peak_" + string(d) + "_" + r.ISA
						break
					}
				}
			}
			cases, err := Checks(ops, "cpu", []backend.KernelInfo{k})
			if err != nil || len(cases) == 0 {
				t.Errorf("%s %s: %d cases, %v", spec.Name, d, len(cases), err)
			}
			var ids []string
			for _, c := range cases {
				if slices.Contains(ids, c.ID) {
					t.Errorf("%s is asked twice", c.ID)
				}
				ids = append(ids, c.ID)
				o, err := ops.New(c.Program.Op, c.Program.Params, d)
				if err != nil {
					t.Fatal(err)
				}
				if n := op.Single(o).WorkingSet(); n > 4<<20 {
					t.Errorf("%s: %d bytes are not small", c.ID, n)
				}
				if c.Program.Kernel != k.Name || c.Trials != 1 {
					t.Errorf("%s: kernel %q, %d trials", c.ID, c.Program.Kernel, c.Trials)
				}
			}
		}
	}
	// A kernel that cannot run here is not asked, and a peak's kernel is asked for its own instruction set alone.
	cases, err := Checks(ops, "cuda:0", []backend.KernelInfo{
		{Name: "gemm_fp32_simt", Op: "gemm", DType: record.FP32, Available: backend.Unsupported("none")},
		{Name: "peak_fp32_simt", Op: "peak", DType: record.FP32},
		{Name: "peak_fp32_simt_ex2", Op: "peak", DType: record.FP32, PeakISA: "ex2"},
		{Name: "peak_bf16_sm80", Op: "peak", DType: record.BF16, PeakISA: "mma"},
		{Name: "peak_bf16_sm90", Op: "peak", DType: record.BF16, PeakISA: "wgmma"}})
	var got []string
	for _, c := range cases {
		got = append(got, c.ID)
	}
	want := []string{"fp32/isa=simt,instructions=672/threads=1/hot@peak_fp32_simt", "fp32/isa=ex2,instructions=672/threads=1/hot@peak_fp32_simt_ex2",
		"bf16/isa=mma,instructions=672/threads=1/hot@peak_bf16_sm80", "bf16/isa=wgmma,instructions=672/threads=1/hot@peak_bf16_sm90"}
	for i := range want {
		want[i] = "cuda:0/peak/" + want[i]
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
