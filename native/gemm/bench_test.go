//go:build cgo && linux

package gemm_test

import (
	"context"
	"fmt"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/internal/fmapeak"
	"ridge/native/kerneltest"
)

// benchmark reports the best of b.N samples of the preferred kernel and, measured before
// and after, the best register-only FMA rate: read the ratio, and only on a quiet machine.
func benchmark(b *testing.B, d record.DType, shapes ...map[string]string) {
	for _, s := range shapes {
		for threads := 1; threads <= 2; threads++ {
			o := kerneltest.Op(b, "gemm", d, s)
			b.Run(fmt.Sprintf("%sx%sx%s/threads=%d", s["m"], s["n"], s["k"], threads), func(b *testing.B) {
				if !fmapeak.Runnable() {
					b.Skip("needs AVX2 with FMA, or NEON")
				}
				cpus := []int{0, 1}[:threads]
				dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "compact"})
				if err != nil {
					b.Fatal(err)
				}
				defer dev.Close()
				e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = e.Release() }()
				if err := e.Fill(false, 0); err != nil {
					b.Fatal(err)
				}
				unit := record.FP32
				if d == record.FP64 {
					unit = d
				}
				peak := 0.0
				ceiling := func() {
					p, err := fmapeak.GFLOPs(cpus, unit, 20)
					if err != nil {
						b.Fatal(err)
					}
					peak = max(peak, p)
				}
				ceiling()
				b.ResetTimer()
				samples, err := e.Measure(context.Background(), 1, b.N)
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				ceiling()
				best := 0.0
				for _, x := range samples {
					best = max(best, float64(o.FLOPs())/x.NS())
				}
				b.ReportMetric(best, "GFLOP/s")
				b.ReportMetric(peak, "FMA-GFLOP/s")
				b.ReportMetric(best/peak, "of-peak")
			})
		}
	}
}

func cube(n int) map[string]string { return shape(n, n, n) }

func BenchmarkGemmFP32(b *testing.B) {
	benchmark(b, record.FP32, cube(256), cube(1024), cube(2048), shape(1, 4096, 4096))
}
func BenchmarkGemmFP64(b *testing.B) { benchmark(b, record.FP64, cube(1024), cube(2048)) }
func BenchmarkGemmBF16(b *testing.B) { benchmark(b, record.BF16, cube(1024), shape(1, 4096, 4096)) }
func BenchmarkGemmFP16(b *testing.B) { benchmark(b, record.FP16, cube(1024)) }
func BenchmarkGemmINT8(b *testing.B) { benchmark(b, record.INT8, cube(1024)) }
func BenchmarkGemmU8S8(b *testing.B) { benchmark(b, record.U8S8, cube(1024)) }
