//go:build cgo && linux

package gemm_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/gemm"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

func TestTinyProductsAreWorkForOneThread(t *testing.T) {
	kernels := map[string]kernel.Kernel{}
	for _, k := range gemm.Family().Kernels {
		kernels[k.Name] = k
	}
	for _, c := range []struct {
		kernel string
		dtype  record.DType
		s      map[string]string
		want   bool
	}{
		{"gemm_fp32_avx512_14x32", record.FP32, shape(8, 8, 8), true},
		{"gemm_fp32_avx512_14x32", record.FP32, shape(16, 16, 16), true},
		{"gemm_fp32_avx512_14x32", record.FP32, shape(16, 16, 17), false},
		{"gemm_fp32_avx2_6x16", record.FP32, shape(1, 64, 64), true},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(32, 32, 32), true},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(32, 32, 33), false},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(64, 8, 64), false},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(32, 8, 16), true},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(1, 128, 256), false},
		{"gemm_fp32_avx512fp16_14x32", record.FP32, shape(1<<20, 1<<20, 1<<20), false},
		{"gemm_fp32_avx512intel_14x32", record.FP32, shape(16, 16, 16), true},
		{"gemm_fp32_avx512intel_14x32", record.FP32, shape(32, 32, 32), false}, // not measured there
		{"gemm_fp64_avx512fp16_14x16", record.FP64, shape(20, 20, 20), true},
		{"gemm_fp64_avx512fp16_14x16", record.FP64, shape(20, 20, 21), false},
		{"gemm_bf16_avx512fp16_widened", record.BF16, shape(16, 16, 17), false},
		{"gemm_fp64_neon_8x6", record.FP64, shape(0, 8, 8), true},
		{"gemm_int8_avx512vnni_14x32", record.INT8, shape(8, 8, 8), true},
		{"gemm_fp32_avx512_14x32", record.FP32, shape(8, 8, 8, "batch", "2"), false},
		{"gemm_fp32_avx512_14x32", record.FP32, shape(1<<20, 1<<20, 1<<20), false}, // 2^60
		{"gemm_fp32_portable", record.FP32, shape(8, 8, 8), false},
	} {
		k, there := kernels[c.kernel]
		if !there {
			continue // of another architecture
		}
		o := kerneltest.Op(t, "gemm", c.dtype, c.s)
		if got := gemm.Alone(o, k); got != c.want {
			t.Errorf("%s %s: alone %v, want %v", c.kernel, kerneltest.Describe(o), got, c.want)
		}
	}
}

// What one thread of the team does alone comes out right, and the executable says so.
func TestATeamLeavesTinyProductsToOneThread(t *testing.T) {
	d, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}})
	if err != nil {
		t.Skip(err)
	}
	defer d.Close()
	for _, c := range []struct {
		size int
		want bool
	}{{8, true}, {64, false}} {
		o := kerneltest.Op(t, "gemm", record.FP32, shape(c.size, c.size, c.size))
		e, err := d.Prepare(op.Single(o), backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if k := e.Kernels()[0]; k.Alone != c.want && !k.Portable {
			t.Errorf("%d³ by %s: alone %v, want %v", c.size, k.Name, k.Alone, c.want)
		}
		_ = e.Release()
	}
}
