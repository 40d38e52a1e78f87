package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ridge/goharness/record"
)

func TestTheFastestOfEachOpIsPickedSuiteBySuiteAndThenTheSlowest(t *testing.T) {
	var rs []record.Result
	add := func(suite, op string, d record.DType, gflops float64, level string) {
		rs = append(rs, record.Result{ID: suite + op, Suite: suite, Op: op, DType: d, Status: record.OK, FLOPs: 1, GFLOPS: gflops, Time: &record.Time{MedianNS: 1},
			Ceiling: &record.ResultCeiling{Bound: map[bool]string{true: "memory", false: "compute"}[level != ""], MemoryLevel: level}})
	}
	add("stream", "triad", record.FP32, 9, "L2")   // 0
	add("stream", "triad", record.FP32, 3, "DRAM") // 1
	add("stream", "triad", record.FP32, 2, "DRAM") // 2
	add("gemm", "gemm", record.FP64, 50, "")       // 3
	add("gemm", "gemm", record.FP32, 100, "")      // 4
	add("gemm", "gemm", record.FP32, 20, "")       // 5
	add("gemm", "gemm", record.BF16, 900, "")      // 6: set aside below
	add("gemm", "gemm", record.BF16, 200, "")      // 7
	add("conv", "conv2d", record.FP32, 80, "")     // 8
	add("conv", "conv2d", record.FP32, 10, "")     // 9
	add("somebody's", "op", record.FP32, 1000, "") // 10
	add("gemm", "peak", record.FP32, 10000, "")    // 11: a ceiling
	rs[6].Status, rs[11].UseCase = record.Invalid, record.UseCaseCeiling
	for most, want := range map[int][]int{
		3:  {4, 7, 8},                       // products twice, of the precision that is fastest first
		4:  {1, 4, 7, 8},                    // what memory bounds from DRAM
		5:  {1, 4, 7, 8, 10},                // a suite that is not known comes last
		8:  {1, 3, 4, 5, 7, 8, 9, 10},       // the next turn: all precisions before any slowest case
		9:  {0, 1, 3, 4, 5, 7, 8, 9, 10},    // the slowest
		10: {0, 1, 2, 3, 4, 5, 7, 8, 9, 10}, // all
		40: {0, 1, 2, 3, 4, 5, 7, 8, 9, 10},
	} {
		if got := pickEnergy(rs, most); !slices.Equal(got, want) {
			t.Errorf("%d picked: %v, want %v", most, got, want)
		}
	}
}

// Of the stored calibrations' suites the picks hold what people ask for.
func TestThePicksOfRealSuitesHoldTheMainOpsAndPrecisions(t *testing.T) {
	for file, want := range map[string]struct{ quick, full []string }{
		"zen4-genoa": {[]string{"gemm bf16", "attention bf16", "conv2d fp32", "linear bf16"},
			[]string{"gemm bf16", "gemm fp32", "gemm fp64", "gemm int8", "attention fp32", "attention bf16", "conv2d fp32", "conv2d bf16", "conv2d int8"}},
		"h200": {[]string{"gemm fp8_e4m3", "attention bf16"},
			[]string{"gemm fp8_e4m3", "gemm int8", "gemm bf16", "gemm fp16", "gemm tf32", "gemm fp32", "gemm fp64", "attention bf16", "conv2d bf16"}},
	} {
		f, err := os.Open(filepath.Join("..", "..", "docs", "benchmarks", file, "quick.json"))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := record.ReadCalibration(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for most, kinds := range map[int][]string{8: want.quick, 40: want.full} {
			has, dram := map[string]bool{}, 0
			for _, i := range pickEnergy(doc.Results, most) {
				r := &doc.Results[i]
				has[r.Op+" "+string(r.DType)] = true
				if r.Suite == "stream" && fromDRAM(r) {
					dram++
				}
			}
			for _, k := range kinds {
				if !has[k] {
					t.Errorf("%s: of %d none is %s", file, most, k)
				}
			}
			if dram == 0 {
				t.Errorf("%s: of %d none is a stream from DRAM", file, most)
			}
		}
	}
}
