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

// The figures of an H200 (9.0): fp64 has half of fp32's units, mma.sync reaches the whole row of fp64 and 0.58 of the others.
func TestRatiosOfAGPUFollowItsTableOfRates(t *testing.T) {
	type probe struct {
		isa    string
		dtype  record.DType
		gflops float64
		ghz    float64
	}
	h200 := []probe{{"simt", record.FP64, 33140, 1.98}, {"simt", record.FP32, 58654, 1.98}, {"simt", record.FP16, 115554, 1.98}, {"simt", record.INT8, 128479, 1.98},
		{"ex2", record.FP32, 4126, 1.98}, {record.ISAMma, record.FP64, 63564, 1.98}, {record.ISAMma, record.TF32, 309638, 1.98}, {record.ISAMma, record.FP16, 619029, 1.98},
		{record.ISAMma, record.BF16, 619095, 1.98}, {record.ISAMma, record.INT8, 1245920, 1.98}, {record.ISAMma, record.U8S8, 1244952, 1.98},
		{record.ISAWgmma, record.BF16, 922015, 1.98}, {record.ISAWgmma, record.FP16, 866445, 1.935}, {record.ISAWgmma, record.TF32, 480096, 1.92},
		{record.ISAWgmma, record.FP8E4M3, 1754894, 1.8}, {record.ISAWgmma, record.INT8, 1922985, 1.92}}
	slow := func(isa string, d record.DType, factor, ghz float64) []probe {
		out := append([]probe(nil), h200...)
		for i := range out {
			if out[i].isa == isa && out[i].dtype == d {
				out[i].gflops, out[i].ghz = factor*out[i].gflops, ghz
			}
		}
		return out
	}
	for _, tc := range []struct {
		name       string
		capability int
		probes     []probe
		want       []string // of each warning
	}{
		{"as measured", 90, h200, nil},
		{"no row of the chip", 130, h200, nil},
		{"half of fp32", 90, slow("simt", record.FP32, 0.5, 1.98), []string{"simt at 1 threads: the fp32 probe is 0.88 × the fp64 probe, the table of the device's rates has 2", "the fp16 probe is 3.94 × the fp32 probe"}},
		{"a lower clock held", 90, slow(record.ISAWgmma, record.TF32, 0.7, 1.92*0.7), nil},
		{"mma.sync of fp64 has no partner", 90, slow(record.ISAMma, record.FP64, 0.3, 1.98), nil},
		{"on 8.0 it has", 80, []probe{{record.ISAMma, record.FP64, 19e3, 0}, {record.ISAMma, record.TF32, 78e3, 0}}, []string{"the tf32 probe is 4.11 × the fp64 probe, the table of the device's rates has 8"}},
	} {
		m := NewModel("cuda:0", nil, nil)
		m.GPU = &GPU{Capability: tc.capability, SMs: 132, BoostGHz: 1.98}
		for _, p := range tc.probes {
			r := record.Result{Status: record.OK, FLOPs: int64(p.gflops * 1e6), Time: timeOf(1e6), Conditions: &record.Conditions{}}
			if p.ghz > 0 {
				r.Conditions.Board = &record.Board{Source: "test", ClockMHz: 1e3 * p.ghz}
			}
			m.Probe(record.Ceiling{Kind: record.CeilingCompute, ISA: p.isa, DType: p.dtype, Threads: 1, Unit: "GFLOPS"}, r, "initial")
		}
		got := m.OddRatios()
		if len(got) != len(tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
			continue
		}
		for i, want := range tc.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", tc.name, got[i], want)
			}
		}
	}
}
