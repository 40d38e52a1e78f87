//go:build cgo && linux

package memory_test

import (
	"context"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/internal/badmemory"
	"ridge/native/kerneltest"
)

func TestKernelsThatCheatAreRefused(t *testing.T) {
	probe := func(access string) op.Op {
		return kerneltest.Op(t, "bandwidth", record.FP32, params("access", access, "bytes", 40000, "passes", 3))
	}
	dev := open(t, native.New(badmemory.Family()), 3)
	for _, c := range []struct {
		name   string
		o      op.Op
		kernel string
	}{
		{"a transpose that is only a view", kerneltest.Op(t, "transpose", record.FP32, params("rows", 64, "cols", 64)), "transpose_fp32_view"},
		{"a transpose of one element that moves nothing", kerneltest.Op(t, "transpose", record.FP32, params("rows", 1, "cols", 1)), "transpose_fp32_view"},
		{"a conversion that keeps the order", kerneltest.Op(t, "layout", record.FP32, params("n", 2, "c", 5, "h", 6, "w", 7)), "layout_fp32_same_order"},
		{"a conversion of the first image alone", kerneltest.Op(t, "layout", record.FP32, params("n", 2, "c", 5, "h", 6, "w", 7)), "layout_fp32_first_image"},
		{"a copy without its last element", kerneltest.Op(t, "copy", record.FP32, params("rows", 100, "cols", 999)), "copy_fp32_short"},
		{"a large copy without its last element", kerneltest.Op(t, "stream_copy", record.FP32, params("n", 5<<20)), "copy_fp32_short"},
		{"a probe that reads once for three passes", kerneltest.Op(t, "bandwidth", record.FP32, params("access", "read", "bytes", 40000, "passes", 3)), "bandwidth_fp32_once"},
		{"a probe that writes once for three passes", probe("write"), "bandwidth_fp32_written_once"},
		{"a probe that writes once around the caches", probe("nt_write"), "bandwidth_fp32_written_once"},
		{"a probe that copies once for three passes", probe("copy"), "bandwidth_fp32_written_once"},
		{"a probe that copies once around the caches", probe("nt_copy"), "bandwidth_fp32_written_once"},
		{"a triad that runs once for three passes", probe("triad"), "bandwidth_fp32_written_once"},
		{"a triad that runs once around the caches", probe("nt_triad"), "bandwidth_fp32_written_once"},
		{"a dot product without its last element", kerneltest.Op(t, "dot", record.FP32, params("n", 1<<20)), "dot_fp32_short"},
		{"a walk that is one step short", kerneltest.Op(t, "chase", record.INT64, params("bytes", 64000, "steps", 77)), "chase_int64_short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := op.Single(c.o)
			e, err := dev.Prepare(p, backend.PrepareOptions{Kernel: c.kernel, Seed: 42})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Release(); err != nil {
					t.Error(err)
				}
			}()
			v, err := runner.Verify(context.Background(), e, p, 42, runner.DefaultEffort)
			if err != nil {
				t.Fatal(err)
			}
			if v.Passed || v.Mismatch == nil {
				t.Errorf("the verifier passed %s", c.kernel)
			}
		})
	}
}
