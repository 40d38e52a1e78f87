package ceiling

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// GPU is what the formulas need of an NVIDIA device. Zeros are unknown.
type GPU struct {
	Name       string
	Capability int // 90 for 9.0
	SMs        int
	BoostGHz   float64 // the highest clock that the driver reports; no promise under load
	MemoryGHz  float64 // of the memory's command clock, two transfers a cycle
	BusBits    int
	// PCIeGeneration and PCIeLanes of its link to the host.
	PCIeGeneration, PCIeLanes int
}

// GPUOf reads it from what a device says of itself.
func GPUOf(d record.Device) (GPU, error) {
	g := GPU{Name: d.Name}
	var major, minor int
	if n, err := fmt.Sscanf(d.Facts["compute_capability"], "%d.%d", &major, &minor); n != 2 {
		return g, fmt.Errorf("compute_capability %q: %w", d.Facts["compute_capability"], err)
	}
	number := func(name string) float64 { // missing: unknown
		v, _ := strconv.ParseFloat(d.Facts[name], 64)
		return v
	}
	g.Capability, g.SMs, g.BusBits = 10*major+minor, int(number("multiprocessors")), int(number("memory_bus_bits"))
	g.BoostGHz, g.MemoryGHz = number("boost_clock_mhz")*1e-3, number("memory_clock_mhz")*1e-3
	return g, nil
}

// gpuRate is operations per cycle and multiprocessor (1 multiply + 1 add = 2), dense.
type gpuRate struct {
	capability int
	isa        string // simt or tensor
	dtype      record.DType
	ops        float64
	source     string
}

const (
	guide  = "CUDA C++ Programming Guide, throughput of native arithmetic instructions"
	a100   = "NVIDIA A100 white paper, dense"
	hopper = "NVIDIA H100 white paper, dense"
)

// gpuRates has rows with a source alone: other capabilities are measured only.
var gpuRates = []gpuRate{
	{80, "ex2", record.FP32, 16, guide}, {86, "ex2", record.FP32, 16, guide}, {89, "ex2", record.FP32, 16, guide}, {90, "ex2", record.FP32, 16, guide},
	{80, "simt", record.FP32, 128, guide}, {80, "simt", record.FP64, 64, guide}, {80, "simt", record.FP16, 512, a100},
	{80, "tensor", record.FP64, 128, a100}, {80, "tensor", record.TF32, 1024, a100},
	{80, "tensor", record.FP16, 2048, a100}, {80, "tensor", record.BF16, 2048, a100}, {80, "tensor", record.INT8, 4096, a100},
	{86, "simt", record.FP32, 256, guide}, {86, "simt", record.FP64, 4, guide},
	{89, "simt", record.FP32, 256, guide}, {89, "simt", record.FP64, 4, guide},
	{90, "simt", record.FP32, 256, guide}, {90, "simt", record.FP64, 128, guide}, {90, "simt", record.FP16, 512, hopper},
	{90, "tensor", record.FP64, 256, hopper}, {90, "tensor", record.TF32, 2048, hopper},
	{90, "tensor", record.FP16, 4096, hopper}, {90, "tensor", record.BF16, 4096, hopper},
	{90, "tensor", record.FP8E4M3, 8192, hopper}, {90, "tensor", record.FP8E5M2, 8192, hopper}, {90, "tensor", record.INT8, 8192, hopper},
	{100, "simt", record.FP32, 256, guide}, {100, "simt", record.FP64, 128, guide},
	{120, "simt", record.FP32, 256, guide}, {120, "simt", record.FP64, 4, guide},
}

// Theory gives the formula's value for a ceiling of the device, or why there is none: then the
// ceiling is measured only. clockGHz is the clock that was measured under load; 0 takes the boost clock,
// and the formula says which.
func (g GPU) Theory(c record.Ceiling, clockGHz float64) record.Theoretical {
	switch {
	case c.Kind == record.CeilingCompute:
		return g.compute(c, clockGHz)
	case c.Kind == record.CeilingBandwidth && c.Level == DRAM:
		return g.dram()
	case c.Kind == record.CeilingBandwidth && c.Level == record.LevelHost:
		return g.link()
	case c.Kind == record.CeilingBandwidth && c.Level == record.LevelShared:
		return g.shared()
	case c.Kind == record.CeilingBandwidth:
		return record.Theoretical{Unavailable: "no formula: the caches' width per cycle has no published figure"}
	}
	return record.Theoretical{Unavailable: "no formula: latencies and the launch path have no published figure"}
}

// Of chips for export that are slowed below the rates of their capability, to one for which no figure per cycle is published: the H20 (its tensor
// cores give 148 TFLOP/s in bf16, those of as many multiprocessors elsewhere 633) and, in fp64 alone, the H800 (1 TFLOP/s in fp64).
var exportTensor, exportFP64 = regexp.MustCompile(`\bH20\b`), regexp.MustCompile(`\bH(20|800)\b`)

func (g GPU) slowed(isa string, d record.DType) bool {
	return row(isa) == "tensor" && exportTensor.MatchString(g.Name) || d == record.FP64 && exportFP64.MatchString(g.Name)
}

// rate is the table's row; nil: none has a published figure.
func (g GPU) rate(isa string, d record.DType) *gpuRate {
	if g.slowed(isa, d) {
		return nil
	}
	for i := range gpuRates {
		if r := &gpuRates[i]; r.capability == g.Capability && r.isa == row(isa) && r.dtype == dense(d) {
			return r
		}
	}
	return nil
}

func (g GPU) compute(c record.Ceiling, clock float64) record.Theoretical {
	r := g.rate(c.ISA, c.DType)
	if g.slowed(c.ISA, c.DType) {
		return record.Theoretical{Unavailable: fmt.Sprintf("no published figure for %s %s on %s, which is slower than its compute capability tells: measured only", c.ISA, c.DType, g.Name)}
	}
	if r == nil {
		return record.Theoretical{Unavailable: fmt.Sprintf("no published figure for %s %s on compute capability %d.%d: measured only",
			c.ISA, c.DType, g.Capability/10, g.Capability%10)}
	}
	ops, label := r.ops, ""
	if c.ISA == record.ISASparse {
		ops, label = 2*ops, "with 2:4 structured sparsity, twice the dense rate"
	}
	which := "the clock held"
	if clock == 0 {
		clock, which = g.BoostGHz, "boost clock that the driver reports"
	}
	if clock == 0 || g.SMs == 0 {
		return record.Theoretical{Unavailable: "the driver reports no clock or no count of multiprocessors"}
	}
	return record.Theoretical{Label: label, Value: ops * clock * float64(g.SMs),
		Formula: "operations per cycle and multiprocessor × clock × multiprocessors",
		Inputs:  map[string]float64{"ops_per_cycle": ops, "clock_ghz": clock, "multiprocessors": float64(g.SMs)},
		Source:  r.source + "; " + which}
}

func (g GPU) dram() record.Theoretical {
	if g.MemoryGHz == 0 || g.BusBits == 0 {
		return record.Theoretical{Unavailable: "the driver reports no memory clock or bus width: measured only"}
	}
	return record.Theoretical{Value: 2 * g.MemoryGHz * float64(g.BusBits) / 8,
		Formula: "2 transfers × memory clock × bus width / 8",
		Inputs:  map[string]float64{"memory_clock_ghz": g.MemoryGHz, "bus_bits": float64(g.BusBits)},
		Source:  "the driver's device attributes"}
}

// sharedBytes a cycle and multiprocessor: 32 banks of 32 bits.
const sharedBytes = 128

func (g GPU) shared() record.Theoretical {
	if g.BoostGHz == 0 || g.SMs == 0 {
		return record.Theoretical{Unavailable: "the driver reports no clock or no count of multiprocessors: measured only"}
	}
	return record.Theoretical{Value: sharedBytes * g.BoostGHz * float64(g.SMs), Formula: "bytes per cycle and multiprocessor × clock × multiprocessors",
		Inputs: map[string]float64{"bytes_per_cycle": sharedBytes, "clock_ghz": g.BoostGHz, "multiprocessors": float64(g.SMs)},
		Source: "CUDA C++ Programming Guide, 32 banks of 32 bits a cycle; boost clock that the driver reports"}
}

// pcieRates are the transfers of a lane in 10⁹ bits per second and the share of them that is data: 128b/130b from generation 3 on, of generation 6
// the 236 bytes of data in a flit of 256 (PCI Express Base Specification).
var pcieRates = map[int]struct{ gbits, data float64 }{3: {8, 128. / 130}, 4: {16, 128. / 130}, 5: {32, 128. / 130}, 6: {64, 236. / 256}}

// link is what PCI Express carries in one direction.
func (g GPU) link() record.Theoretical {
	if g.PCIeGeneration == 0 || g.PCIeLanes == 0 {
		return record.Theoretical{Unavailable: "the driver tells no generation and width of the PCI Express link: measured only"}
	}
	r, known := pcieRates[g.PCIeGeneration]
	if !known {
		return record.Theoretical{Unavailable: fmt.Sprintf("no row for PCI Express of generation %d: measured only", g.PCIeGeneration)}
	}
	return record.Theoretical{Value: r.gbits * r.data * float64(g.PCIeLanes) / 8, Formula: "transfers × share of data × lanes / 8, one direction",
		Inputs: map[string]float64{"generation": float64(g.PCIeGeneration), "gbits_per_lane": r.gbits, "data_share": r.data, "lanes": float64(g.PCIeLanes)},
		Source: "PCI Express Base Specification; generation and width from NVML, the most that device and system can do"}
}

// row is the table's name of an instruction set: tensor cores have one rate, however they are told to work.
func row(isa string) string {
	if record.TensorISA(isa) || isa == record.ISASparse {
		return "tensor"
	}
	return isa
}

// dense: signed and mixed bytes have one rate.
func dense(d record.DType) record.DType {
	if d == record.U8S8 {
		return record.INT8
	}
	return d
}

// Unprobed are the published peaks of the device for which ridge has no probe: the tensor cores' with sparsity.
func (g GPU) Unprobed() []record.Ceiling {
	var out []record.Ceiling
	for _, r := range gpuRates {
		if r.capability != g.Capability || r.isa != "tensor" || r.dtype == record.FP64 || g.slowed(r.isa, r.dtype) { // fp64 has no sparsity
			continue
		}
		unit := "GFLOPS"
		if !r.dtype.Float() {
			unit = "GOPS"
		}
		out = append(out, record.Ceiling{Kind: record.CeilingCompute, ISA: record.ISASparse, DType: r.dtype, Unit: unit,
			Measured: record.Measured{Unavailable: "ridge has no kernels for structured sparsity"}})
	}
	return out
}

// Peak is the device's highest theoretical arithmetic rate for results of a dtype, at a clock (0: nominal).
func (g GPU) Peak(d record.DType, clockGHz float64) record.Theoretical {
	best := g.compute(record.Ceiling{Kind: record.CeilingCompute, ISA: "simt", DType: d}, clockGHz)
	if t := g.compute(record.Ceiling{Kind: record.CeilingCompute, ISA: record.ISAMma, DType: d}, clockGHz); t.Value > best.Value {
		return t
	}
	return best
}

// held is a compute ceiling's formula at the clock that its best probe held; nil where that is not known.
func (g GPU) held(x record.Ceiling) *record.Held {
	for _, p := range x.Probes {
		if x.Kind != record.CeilingCompute || p.ClockGHz == 0 || p.Value != x.Measured.Value {
			continue
		}
		if t := g.compute(x, p.ClockGHz); t.Value > 0 {
			return &record.Held{ClockGHz: p.ClockGHz, Value: t.Value, Ratio: x.Measured.Value / t.Value, Source: p.ClockSource}
		}
	}
	return nil
}

// diagnose is the one line on the gap between formula and probe. alike: every arithmetic row is exceeded by about the same factor.
func (g GPU) diagnose(x record.Ceiling, alike bool) string {
	nominal := 1e3 * x.Theoretical.Inputs["clock_ghz"]
	clock := fmt.Sprintf("at the nominal %.0f MHz", nominal)
	switch {
	case x.Measured.Value == 0:
		return "not measured: " + x.Measured.Unavailable
	case x.Theoretical.Value == 0:
		return "measured only: " + strings.TrimSuffix(x.Theoretical.Unavailable, ": measured only")
	case x.Level == record.LevelHost:
		return fmt.Sprintf("%.0f %% of the link: headers of packets and acknowledgements take 10 to 15 %%; the host's memory and a link that is narrower than its slot the rest", 100*x.Ratio)
	case x.Level == record.LevelShared:
		return fmt.Sprintf("%.0f %% of %d bytes a cycle %s: the clock held, and what the loop issues beside its loads", 100*x.Ratio, sharedBytes, clock)
	case x.Kind == record.CeilingBandwidth:
		return fmt.Sprintf("%.0f %% of the bus: refresh, turnarounds between reads and writes, and error correction take the rest", 100*x.Ratio)
	case x.Ratio > 1.03 && x.Held != nil && x.Held.Ratio <= 1.03:
		return fmt.Sprintf("measured above the row %s: the chip held %.0f MHz, more than the driver reports as its highest", clock, 1e3*x.Held.ClockGHz)
	case x.Ratio > 1.03 && alike:
		return fmt.Sprintf("measured above the row %s, as every row is and by about the same factor: the clock was read too low, not the rows wrong", clock)
	case x.Ratio > 1.03:
		return fmt.Sprintf("measured above the row %s: the row is wrong for this chip (%s), or it held a higher clock than was read", clock, x.Theoretical.Source)
	case x.Held == nil:
		return fmt.Sprintf("%.0f %% %s; the clock held is not known", 100*x.Ratio, clock)
	}
	why := "the clock is the gap"
	switch {
	case x.ISA == record.ISAMma && g.Capability >= 90 && x.DType != record.FP64 && x.Held.Ratio < 0.97:
		why = "mma.sync does not reach the tensor cores' whole rate from 9.0 on"
	case math.Abs(x.Held.Ratio-0.5) < 0.03:
		why = "half of the row: one of two pipes"
	case x.Held.Ratio < 0.97:
		why = "the rest is not the clock: issue slots, latency, or the tail of a launch"
	case x.Ratio >= 0.97:
		why = "at the limit"
	}
	if math.Abs(nominal-1e3*x.Held.ClockGHz) < 0.5 {
		return fmt.Sprintf("%.0f %% %s, which it held: %s", 100*x.Ratio, clock, why)
	}
	return fmt.Sprintf("%.0f %% %s, %.0f %% at the %.0f MHz held: %s", 100*x.Ratio, clock, 100*x.Held.Ratio, 1e3*x.Held.ClockGHz, why)
}
