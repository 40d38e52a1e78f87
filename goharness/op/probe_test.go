package op_test

import (
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestPeakCountsOperationsPerInstruction(t *testing.T) {
	// The figures are those of one core and cycle in published tables divided by the
	// instructions per cycle they assume: Golden Cove AVX-512 fp32 64 at 2, AMX bf16 1024 at
	// 1/16, Zen 3 AVX2 fp32 32 at 2, Neoverse V1 NEON fp32 32 at 4.
	for _, c := range []struct {
		isa   string
		d     record.DType
		vl    string
		flops int64
	}{
		{"sse2", record.FP32, "0", 4}, {"avx2", record.FP32, "0", 32 / 2}, {"avx2", record.FP64, "0", 16 / 2},
		{"avx512", record.FP32, "0", 64 / 2}, {"avx512fp16", record.FP16, "0", 128 / 2}, {"avx512bf16", record.BF16, "0", 128 / 2},
		{"avx512vnni", record.U8S8, "0", 256 / 2}, {"avxvnni", record.U8S8, "0", 128 / 2},
		{"amx", record.BF16, "0", 1024 * 16}, {"amx", record.INT8, "0", 2048 * 16},
		{"neon", record.FP32, "0", 32 / 4}, {"neon", record.FP16, "0", 64 / 4}, {"dotprod", record.INT8, "0", 128 / 4},
		{"bf16arm", record.BF16, "0", 128 / 4}, {"i8mm", record.INT8, "0", 256 / 4}, {"simt", record.FP32, "0", 64}, {"simt", record.FP16, "0", 128}, {"simt", record.INT8, "0", 256},
		{"sve", record.FP32, "256", 16}, {"sve", record.FP64, "128", 4}, {"sve", record.FP16, "512", 64},
	} {
		o, err := op.Builtin().New("peak", map[string]string{"isa": c.isa, "vl": c.vl, "instructions": "1344"}, c.d)
		if err != nil {
			t.Errorf("%s %s: %v", c.isa, c.d, err)
			continue
		}
		if got := o.FLOPs() / 1344; got != c.flops || o.FLOPs()%1344 != 0 {
			t.Errorf("%s %s: %d operations per instruction, want %d", c.isa, c.d, got, c.flops)
		}
	}
}

func TestPeakChunksCoverAllInstructions(t *testing.T) {
	for _, r := range op.PeakRows() {
		for _, n := range []int64{op.PeakUnit, r.Chunk - op.PeakUnit, r.Chunk, r.Chunk + op.PeakUnit, 3 * r.Chunk} {
			p := map[string]string{"isa": r.ISA, "instructions": strconv.FormatInt(n, 10)}
			if r.ISA == "sve" {
				p["vl"] = "128"
			}
			o, err := op.Builtin().New("peak", p, r.DType)
			if err != nil {
				t.Fatal(err)
			}
			var sum float64
			for i := int64(0); i < o.Tensors()[0].Elements(); i++ {
				v := o.Expect(nil, 0, i).Value
				if v <= 0 || v > float64(r.Chunk) {
					t.Errorf("%s %s: chunk %d of %d instructions", r.ISA, r.DType, i, int64(v))
				}
				sum += v
			}
			if int64(sum) != n {
				t.Errorf("%s %s: the chunks hold %d instructions, want %d", r.ISA, r.DType, int64(sum), n)
			}
		}
	}
}

func TestProbesRefuseBadParameters(t *testing.T) {
	for _, c := range []struct {
		op   string
		p    map[string]string
		d    record.DType
		want string
	}{
		{"peak", map[string]string{"isa": "avx2"}, record.BF16, "expected one of fp64, fp32"},
		{"peak", map[string]string{"isa": "dotprod"}, record.FP32, "expected one of int8"},
		{"peak", map[string]string{"isa": "avx3"}, record.FP32, "expected one of portable"},
		{"peak", map[string]string{"isa": "avx2", "instructions": "1000"}, record.FP32, "multiple of 672"},
		{"peak", map[string]string{"isa": "sve"}, record.FP32, "needs its vector length"},
		{"peak", map[string]string{"isa": "sve", "vl": "200"}, record.FP32, "multiple of 128"},
		{"peak", map[string]string{"isa": "neon", "vl": "128"}, record.FP32, "leave vl at 0"},
		{"clock", map[string]string{"multiplications": "17"}, record.FP64, "multiple of 16"},
		{"dispatch", nil, record.FP32, "no precision"},
	} {
		_, err := op.Builtin().New(c.op, c.p, c.d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v %s: error %v, want one with %q", c.op, c.p, c.d, err, c.want)
		}
	}
}

func TestClockResultIsWhereTheChainOfEachArchitectureEnds(t *testing.T) {
	const f = 0x9E3779B97F4A7C15
	product, sum := uint64(3), uint64(3)
	for n := int64(0); n < 200; n++ {
		if got := op.ClockResult("amd64", n); got != float64(product>>11) {
			t.Fatalf("after %d multiplications: %v, want %v", n, got, float64(product>>11))
		}
		if got := op.ClockResult("arm64", n); got != float64(sum>>11) {
			t.Fatalf("after 3 times %d additions: %v, want %v", n, got, float64(sum>>11))
		}
		product *= f
		for range 3 {
			sum += f
		}
	}
}
