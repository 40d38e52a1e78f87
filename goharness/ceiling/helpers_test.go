package ceiling

import (
	"fmt"

	"ridge/goharness/record"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// twoCores is a fictitious chip: 32 KiB L1 and 512 KiB L2 per core, 32 MiB L3 for both.
func twoCores() *Model {
	return NewModel("cpu",
		[]Level{{"L1", 64 * kib, 32 * kib}, {"L2", mib, 512 * kib}, {"L3", 32 * mib, 32 * mib}, {Name: DRAM}},
		[]Level{{"L1", 32 * kib, 32 * kib}, {"L2", 512 * kib, 512 * kib}, {"L3", 32 * mib, 32 * mib}, {Name: DRAM}})
}

// probed has every bandwidth ceiling (10⁹ bytes/s) of one thread and of two, and avx2
// arithmetic probes in fp32 and fp64.
func probed() *Model {
	m := twoCores()
	for _, t := range []int{1, 2} {
		f := float64(t)
		for level, read := range map[string]float64{"L1": 200, "L2": 100, "L3": 50, DRAM: 20} {
			bandwidth(m, level, "read", t, read*f)
			bandwidth(m, level, "copy", t, read*f*0.8)
			bandwidth(m, level, "triad", t, read*f*0.9)
			bandwidth(m, level, "write", t, read*f*0.5)
		}
		compute(m, "avx2", record.FP32, t, 100*f)
		compute(m, "avx2", record.FP64, t, 50*f)
	}
	return m
}

// timeOf is a distribution whose samples are all ns.
func timeOf(ns float64) *record.Time {
	return &record.Time{MedianNS: ns, CI95NS: [2]float64{ns, ns}, MinNS: ns, MaxNS: ns, MeanNS: ns, SamplesNS: []float64{ns}}
}

func bandwidth(m *Model, level, access string, threads int, gbps float64) {
	m.Probe(record.Ceiling{Kind: record.CeilingBandwidth, Level: level, Access: access, Threads: threads, Unit: "GB/s"},
		record.Result{ID: fmt.Sprintf("probe/%s/%s/%d", level, access, threads), Status: record.OK, Time: timeOf(1e6), Bytes: int64(gbps * 1e6)}, "initial")
}

func compute(m *Model, isa string, d record.DType, threads int, gflops float64) {
	m.Probe(record.Ceiling{Kind: record.CeilingCompute, ISA: isa, DType: d, Threads: threads, Unit: "GFLOPS"},
		record.Result{ID: fmt.Sprintf("probe/%s/%s/%d", isa, d, threads), Status: record.OK, Time: timeOf(1e6), FLOPs: int64(gflops * 1e6)}, "initial")
}

// result of a kernel: two threads, avx2, fp32.
func result(flops, bytes, workingSet int64, ns float64) record.Result {
	return record.Result{ID: "case", Op: "op", DType: record.FP32, ISA: "avx2", Threads: 2, Mode: record.Hot, Status: record.OK, Time: timeOf(ns),
		FLOPs: flops, Bytes: bytes, WorkingSetBytes: workingSet, ReadBytes: bytes / 2, WriteBytes: bytes - bytes/2, InputStreams: 1}
}
