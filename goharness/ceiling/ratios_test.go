package ceiling

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestOddRatiosBetweenPrecisionsAreNamed(t *testing.T) {
	type probe struct {
		isa    string
		dtype  record.DType
		gflops float64
	}
	for _, tc := range []struct {
		name   string
		probes []probe
		want   string // of the one warning; "": none
	}{
		{"fp32 twice fp64", []probe{{"avx2", record.FP32, 200}, {"avx2", record.FP64, 100}}, ""},
		{"within the slack", []probe{{"avx2", record.FP32, 200}, {"avx2", record.FP64, 112}}, ""},
		{"a folded fp32 loop", []probe{{"avx2", record.FP32, 800}, {"avx2", record.FP64, 100}}, "the fp32 probe is 8.00 × the fp64 probe, the instructions define 2"},
		{"a slowed fp32 probe", []probe{{"avx2", record.FP64, 100}, {"avx2", record.FP32, 150}}, "1.50 ×"},
		{"half precision", []probe{{"neon", record.FP16, 200}, {"neon", record.FP32, 200}}, "the fp16 probe is 1.00 × the fp32 probe, the instructions define 2"},
		{"tiles: int8 twice bf16", []probe{{"amx", record.INT8, 400}, {"amx", record.BF16, 200}}, ""},
		{"tiles: int8 like bf16", []probe{{"amx", record.INT8, 200}, {"amx", record.BF16, 200}}, "the int8 probe is 1.00 × the bf16 probe"},
		{"equal ones once", []probe{{"amx", record.FP16, 100}, {"amx", record.BF16, 200}}, "define 1"},
		{"vectors of unknown length", []probe{{"sve", record.FP32, 100}, {"sve", record.FP64, 100}}, "define 2"},
		{"integer units are others", []probe{{"avx2", record.INT8, 900}, {"avx2", record.FP32, 100}}, ""},
		{"what a compiler made", []probe{{"portable", record.FP32, 100}, {"portable", record.FP64, 100}}, ""},
		{"unlike instruction sets", []probe{{"avx512", record.FP32, 100}, {"avx2", record.FP64, 100}}, ""},
	} {
		m := twoCores()
		for _, p := range tc.probes {
			compute(m, p.isa, p.dtype, 2, p.gflops)
		}
		compute(m, "avx2", record.FP64, 1, 1) // another thread count is no partner
		got := m.OddRatios()
		if (tc.want == "") != (len(got) == 0) || len(got) > 1 || tc.want != "" && !strings.Contains(got[0], tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
