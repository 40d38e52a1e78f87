package op

import (
	"fmt"
	"runtime"
	"strings"

	"ridge/goharness/record"
)

// PeakISAs are the instruction sets of the op peak, in the order of RIDGE_PROBE_* in
// native/include/ridge_probe.h. Those of GPUs are not among those: simt, the arithmetic units that are no tensor cores, ex2, their
// special function units, mma, the tensor cores by mma.sync, and wgmma, those of 9.0 by warpgroups.
var PeakISAs = []string{"portable", "sse2", "avx2", "avx512", "avx512fp16", "avx512bf16", "avx512vnni", "avxvnni", "amx",
	"neon", "dotprod", "bf16arm", "i8mm", "sve", "simt", "ex2", "mma", "wgmma"}

// PeakUnit is the number that instructions must be a multiple of (RIDGE_PROBE_UNIT).
const PeakUnit = 672

// PeakRow is one legal combination of instruction set and precision. An instruction is one
// machine instruction of the hot loop; of the portable probe, one multiply-add step of one
// number in C, whatever the compiler makes of it.
type PeakRow struct {
	ISA         string
	DType       record.DType
	Instruction string // mnemonic
	// Ops per instruction: each multiplication and each addition of each lane counts 1; one of a GPU is a warp's. 0
	// for SVE, where it depends on the vector length.
	Ops int64
	// Chunk is the instructions that one output element proves: 100 to 300 microseconds of
	// one core at 1 to 4 instructions per cycle (AMX: one per 16) and 3 to 4 GHz; of simt, one warp's share where four
	// warps share a scheduler, at 1.5 to 2 GHz.
	Chunk int64
}

const (
	scalarChunk = PeakUnit * 1024
	vectorChunk = PeakUnit * 2048
	tileChunk   = PeakUnit * 64
	warpChunk   = PeakUnit * 64
	slowChunk   = PeakUnit * 8 // of instructions that a scheduler starts every 8 cycles
	groupChunk  = PeakUnit * 2 // of instructions that take a multiprocessor 64 cycles
)

// peakRows: operations per instruction follow from the definition of each instruction in
// the Intel SDM volume 2 and the Arm ARM (DDI 0487): lanes × products per lane × 2. SSE2
// has no fused multiply-add; its loop is half multiplications, half additions or
// subtractions, and each counts one operation per lane. int8 of AVX2 and AVX-512 without VNNI
// multiplies pairs of 16-bit numbers (vpmaddwd) and adds them (vpaddd): two operations for
// each product, over two instructions.
var peakRows = []PeakRow{
	{"portable", record.FP64, "x*a+b in C", 2, scalarChunk},
	{"portable", record.FP32, "x*a+b in C", 2, scalarChunk},
	{"sse2", record.FP64, "mulpd, addpd, subpd", 2, vectorChunk},
	{"sse2", record.FP32, "mulps, addps, subps", 4, vectorChunk},
	{"avx2", record.FP64, "vfmadd231pd ymm", 4 * 2, vectorChunk},
	{"avx2", record.FP32, "vfmadd231ps ymm", 8 * 2, vectorChunk},
	{"avx2", record.INT8, "vpmaddwd ymm, vpaddd ymm", 16 * 2 / 2, vectorChunk},
	{"avx512", record.INT8, "vpmaddwd zmm, vpaddd zmm", 32 * 2 / 2, vectorChunk},
	{"avx512", record.FP64, "vfmadd231pd zmm", 8 * 2, vectorChunk},
	{"avx512", record.FP32, "vfmadd231ps zmm", 16 * 2, vectorChunk},
	{"avx512fp16", record.FP16, "vfmadd231ph zmm", 32 * 2, vectorChunk},
	{"avx512bf16", record.BF16, "vdpbf16ps zmm", 16 * 2 * 2, vectorChunk},
	{"avx512vnni", record.U8S8, "vpdpbusd zmm", 16 * 4 * 2, vectorChunk},
	{"avxvnni", record.U8S8, "vpdpbusd ymm", 8 * 4 * 2, vectorChunk},
	{"amx", record.BF16, "tdpbf16ps", 16 * 16 * 32 * 2, tileChunk},
	{"amx", record.FP16, "tdpfp16ps", 16 * 16 * 32 * 2, tileChunk},
	{"amx", record.INT8, "tdpbssd", 16 * 16 * 64 * 2, tileChunk},
	{"amx", record.U8S8, "tdpbusd", 16 * 16 * 64 * 2, tileChunk},
	{"neon", record.FP64, "fmla .2d", 2 * 2, vectorChunk},
	{"neon", record.FP32, "fmla .4s", 4 * 2, vectorChunk},
	{"neon", record.FP16, "fmla .8h", 8 * 2, vectorChunk},
	{"dotprod", record.INT8, "sdot .4s", 4 * 4 * 2, vectorChunk},
	{"bf16arm", record.BF16, "bfmmla .4s", 2 * 2 * 4 * 2, vectorChunk},
	{"i8mm", record.INT8, "smmla .4s", 2 * 2 * 8 * 2, vectorChunk},
	{"i8mm", record.U8S8, "usmmla .4s", 2 * 2 * 8 * 2, vectorChunk},
	{"sve", record.FP64, "fmla z.d", 0, vectorChunk},
	{"sve", record.FP32, "fmla z.s", 0, vectorChunk},
	{"sve", record.FP16, "fmla z.h", 0, vectorChunk},
	{"simt", record.FP64, "fma.rn.f64", 32 * 2, warpChunk},
	{"simt", record.FP32, "fma.rn.f32", 32 * 2, warpChunk},
	{"simt", record.FP16, "fma.rn.f16x2", 32 * 2 * 2, warpChunk},
	{"simt", record.INT8, "dp4a.s32.s32", 32 * 4 * 2, warpChunk},
	{"ex2", record.FP32, "ex2.approx.ftz.f32", 32, slowChunk},
	{"mma", record.FP64, "mma.sync m8n8k4 f64, two in one m16n8k4 from 9.0 on", 8 * 8 * 4 * 2, slowChunk},
	{"mma", record.TF32, "mma.sync m16n8k8 tf32, sums fp32", 16 * 8 * 8 * 2, slowChunk},
	{"mma", record.FP16, "mma.sync m16n8k16 f16, sums fp32", 16 * 8 * 16 * 2, slowChunk},
	{"mma", record.BF16, "mma.sync m16n8k16 bf16, sums fp32", 16 * 8 * 16 * 2, slowChunk},
	{"mma", record.INT8, "mma.sync m16n8k32 s8", 16 * 8 * 32 * 2, slowChunk},
	{"mma", record.U8S8, "mma.sync m16n8k32 u8·s8", 16 * 8 * 32 * 2, slowChunk},
	{"wgmma", record.TF32, "wgmma m64n128k8 tf32, sums fp32", 64 * 128 * 8 * 2, groupChunk},
	{"wgmma", record.FP16, "wgmma m64n128k16 f16, sums fp32", 64 * 128 * 16 * 2, groupChunk},
	{"wgmma", record.BF16, "wgmma m64n128k16 bf16, sums fp32", 64 * 128 * 16 * 2, groupChunk},
	{"wgmma", record.FP8E4M3, "wgmma m64n128k32 e4m3, sums fp32", 64 * 128 * 32 * 2, groupChunk},
	{"wgmma", record.INT8, "wgmma m64n128k32 s8", 64 * 128 * 32 * 2, groupChunk},
	{"wgmma", record.U8S8, "wgmma m64n128k32 u8·s8", 64 * 128 * 32 * 2, groupChunk},
}

// PeakRows lists every legal combination of instruction set and precision.
func PeakRows() []PeakRow { return append([]PeakRow(nil), peakRows...) }

// FindPeak finds the row of a combination; the error names the legal precisions.
func FindPeak(isa string, d record.DType) (PeakRow, error) {
	var legal []string
	for _, r := range peakRows {
		if r.ISA != isa {
			continue
		}
		if r.DType == d {
			return r, nil
		}
		legal = append(legal, string(r.DType))
	}
	if legal == nil {
		return PeakRow{}, fmt.Errorf("isa=%q: expected one of %s", isa, strings.Join(PeakISAs, ", "))
	}
	return PeakRow{}, fmt.Errorf("isa=%s has no probe at %s: expected one of %s", isa, d, strings.Join(legal, ", "))
}

// Peak executes a known number of arithmetic instructions from registers alone. Its output
// proves the number: the accumulators of every chunk end at a value that every executed
// instruction changed.
type Peak struct {
	Row          PeakRow
	Instructions int64
	VL           int64 // SVE vector length in bits, else 0
	params       []record.Param
}

// PeakSpec declares peak.
func PeakSpec() Spec {
	return Spec{
		Name: "peak", Family: "probe", Suite: "peak", Item: "instruction", Metric: "gflops",
		Doc: "register-only arithmetic at full rate; result[i] proves the instructions of chunk i",
		Params: []ParamSpec{
			{Name: "isa", Doc: "instruction set", Enum: PeakISAs},
			{Name: "instructions", Doc: "arithmetic instructions over all threads, a multiple of 672; 0: one chunk (100 to 300 µs on one thread)",
				Default: "0", Max: maxDim},
			{Name: "vl", Doc: "SVE vector length in bits; 0 for every other isa", Default: "0", Max: 2048},
		},
		DTypes: []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.TF32, record.FP8E4M3, record.INT8, record.U8S8},
		New:    newPeak,
	}
}

func newPeak(v Values, d record.DType) (Op, error) {
	p := &Peak{Instructions: v.Int("instructions"), VL: v.Int("vl"), params: v.List()}
	var err error
	if p.Row, err = FindPeak(v.Str("isa"), d); err != nil {
		return nil, err
	}
	if p.Instructions%PeakUnit != 0 {
		return nil, fmt.Errorf("instructions=%d: expected a multiple of %d", p.Instructions, PeakUnit)
	}
	if p.Instructions == 0 {
		p.Instructions = p.Row.Chunk
	}
	switch sve := p.Row.ISA == "sve"; {
	case sve && (p.VL < 128 || p.VL%128 != 0):
		return nil, fmt.Errorf("vl=%d: isa=sve needs its vector length in bits, a multiple of 128 from 128 to 2048", p.VL)
	case !sve && p.VL != 0:
		return nil, fmt.Errorf("vl=%d: isa=%s has a fixed vector length, leave vl at 0", p.VL, p.Row.ISA)
	}
	return p, nil
}

// Name, Params, DType: see Op.
func (p *Peak) Name() string           { return "peak" }
func (p *Peak) Params() []record.Param { return p.params }
func (p *Peak) DType() record.DType    { return p.Row.DType }

// Accumulate: dot-product and tile instructions accumulate in 32 bits, the others in the
// dtype itself.
func (p *Peak) Accumulate() record.DType {
	switch {
	case !p.Row.DType.Float():
		return record.INT32
	case p.Row.DType == record.BF16 || p.Row.DType == record.TF32 || p.Row.DType == record.FP8E4M3 || p.Row.ISA == "amx" || (p.Row.ISA == "mma" || p.Row.ISA == "wgmma") && p.Row.DType == record.FP16:
		return record.FP32
	}
	return p.Row.DType
}

// Chunks is the number of output elements. A plan for n threads asks for n·Row.Chunk
// instructions, so that each thread has one chunk.
func (p *Peak) Chunks() int64 { return (p.Instructions + p.Row.Chunk - 1) / p.Row.Chunk }

// Tensors: result[chunks], the instructions that each chunk's accumulators prove.
func (p *Peak) Tensors() []Tensor {
	return []Tensor{{Name: "result", Role: Out, DType: record.FP64, Dims: []int64{p.Chunks()}}}
}

// OpsPerInstruction is the row's figure, or for SVE lanes × 2.
func (p *Peak) OpsPerInstruction() int64 {
	if p.VL != 0 {
		return p.VL / 8 / p.Row.DType.Size() * 2
	}
	return p.Row.Ops
}

// FLOPs is instructions × operations per instruction.
func (p *Peak) FLOPs() int64 { return Product(p.Instructions, p.OpsPerInstruction()) }

// Bytes are the results alone: nothing else leaves the registers.
func (p *Peak) Bytes() int64 { return tensorBytes(p.Tensors()) }

// Items are instructions.
func (p *Peak) Items() int64 { return p.Instructions }

// IntegerExact: sums of small integers that stay inside the accumulator's exact range.
func (p *Peak) IntegerExact() (bool, string) { return true, "" }

// Expect is the chunk's number of instructions, exactly.
func (p *Peak) Expect(_ *Inputs, _ int, i int64) Expectation {
	return Expectation{Value: float64(min(p.Row.Chunk, p.Instructions-i*p.Row.Chunk))}
}

// probe is an op with no inputs and one number as its output.
type probe struct {
	name   string
	items  int64
	want   float64
	params []record.Param
}

// DispatchSpec declares dispatch.
func DispatchSpec() Spec {
	return launchSpec("dispatch", "an empty kernel: the latency of handing work to all threads and of the barrier after it")
}

// DispatchGraphSpec declares dispatch_graph.
func DispatchGraphSpec() Spec {
	return launchSpec("dispatch_graph", "an empty kernel, many times in one graph: the time of a launch where the host takes no part. Only devices with graphs have it")
}

// DispatchPersistentSpec declares dispatch_persistent.
func DispatchPersistentSpec() Spec {
	return launchSpec("dispatch_persistent", "an empty task for a kernel that stays on the device: from the host's word in memory that both reach to the answer. "+
		"Only devices with memory of their own have it")
}

// DispatchPrioritySpec declares dispatch_priority.
func DispatchPrioritySpec() Spec {
	return launchSpec("dispatch_priority", "an empty kernel on a stream of the greatest priority, while a stream of the least keeps the whole device busy: what a launch "+
		"waits there. Only devices with priorities have it")
}

func launchSpec(name, doc string) Spec {
	return Spec{
		Name: name, Family: "probe", Suite: "peak", Item: "launch", Metric: "ns", Doc: doc,
		DTypes: []record.DType{record.FP64},
		New: func(v Values, _ record.DType) (Op, error) {
			return &probe{name: name, items: 1, want: 1, params: v.List()}, nil
		},
	}
}

// ClockStepCycles is the cycles of one step of the clock's chain. On x86-64 a step is one
// dependent 64-bit imul: 3 cycles on Intel's Core since Nehalem and on every Zen (uops.info).
// It is slower, and the clock reads low, on AMD's Bulldozer family (6, Agner Fog's tables) and
// on some Atom cores (uops.info lists them by name). On arm64 a step is three dependent additions of registers, one
// cycle each on every core; multiplications take 2 to 4 there (LLVM's scheduling models).
const ClockStepCycles = 3

// clockFactor is RIDGE_CLOCK_FACTOR of native/include/ridge_probe.h.
const clockFactor = 0x9E3779B97F4A7C15

// ClockSpec declares clock.
func ClockSpec() Spec {
	return Spec{
		Name: "clock", Family: "probe", Suite: "peak", Item: "cycle", Metric: "ns",
		Doc: "a chain of dependent steps of 3 cycles on the first thread, each a 64-bit multiplication, on arm64 three additions: " +
			"items per second is the clock",
		Params: []ParamSpec{
			{Name: "multiplications", Doc: "steps of the chain, a multiple of 16", Default: "262144", Min: 16, Max: 1 << 32},
		},
		DTypes: []record.DType{record.FP64},
		New: func(v Values, _ record.DType) (Op, error) {
			n := v.Int("multiplications")
			if n%16 != 0 {
				return nil, fmt.Errorf("multiplications=%d: expected a multiple of 16", n)
			}
			return &probe{name: "clock", items: n * ClockStepCycles, want: ClockResult(runtime.GOARCH, n), params: v.List()}, nil
		},
	}
}

// ClockResult is what a chain of n steps ends at on an architecture (a GOARCH): the upper 53
// bits of 3·clockFactor^n mod 2^64, on arm64 of 3 + 3n·clockFactor.
func ClockResult(arch string, n int64) float64 {
	x, f := uint64(3), uint64(clockFactor)
	if arch == "arm64" {
		return float64((x + 3*uint64(n)*f) >> 11)
	}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			x *= f
		}
		f *= f
	}
	return float64(x >> 11)
}

func (p *probe) Name() string             { return p.name }
func (p *probe) Params() []record.Param   { return p.params }
func (p *probe) DType() record.DType      { return record.FP64 }
func (p *probe) Accumulate() record.DType { return record.FP64 }
func (p *probe) Tensors() []Tensor {
	return []Tensor{{Name: "result", Role: Out, DType: record.FP64, Dims: []int64{1}}}
}
func (p *probe) FLOPs() int64                           { return 0 }
func (p *probe) Bytes() int64                           { return tensorBytes(p.Tensors()) }
func (p *probe) Items() int64                           { return p.items }
func (p *probe) IntegerExact() (bool, string)           { return true, "" }
func (p *probe) Expect(*Inputs, int, int64) Expectation { return Expectation{Value: p.want} }
