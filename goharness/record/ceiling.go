package record

// Ceiling kinds.
const (
	CeilingCompute   = "compute"
	CeilingBandwidth = "bandwidth"
	CeilingLatency   = "latency"
	CeilingLaunch    = "launch"
)

// Instruction sets of NVIDIA's tensor cores, by the instruction.
const (
	ISAMma     = "mma"     // mma.sync, from 8.0 on
	ISAWgmma   = "wgmma"   // of 9.0 alone
	ISATcgen05 = "tcgen05" // of 10.0 alone
)

// ISASparse is tensor cores on operands with structured sparsity: rows of their own, never mixed with dense ones.
const ISASparse = "tensor 2:4 sparse"

// LevelShared is the scratchpads of a GPU's multiprocessors.
const LevelShared = "shared"

// LevelHost is the link between a device with memory of its own and the host.
const LevelHost = "host"

// Accesses of LevelHost.
const (
	AccessToDevice = "h2d"
	AccessToHost   = "d2h"
)

// TensorISA reports whether an instruction set is one of tensor cores: only a probe of its own instructions and precision bounds its kernels.
func TensorISA(isa string) bool { return isa == ISAMma || isa == ISAWgmma || isa == ISATcgen05 }

// Ceiling is one physical limit of a device: what a formula says and what the best
// sustained probe reached.
type Ceiling struct {
	Device      string      `json:"device"`
	Kind        string      `json:"kind" jsonschema:"enum=compute,enum=bandwidth,enum=latency,enum=launch"`
	DType       DType       `json:"dtype,omitempty"`
	Level       string      `json:"level,omitempty" jsonschema:"description=L1 L2 L3 DRAM; of a GPU also shared and host (the link to it)"`
	ISA         string      `json:"isa,omitempty"`
	Access      string      `json:"access,omitempty" jsonschema:"description=read; write; nt_write; copy; triad; of host h2d and d2h; of a launch graph; persistent or priority"`
	Threads     int         `json:"threads"`
	Unit        string      `json:"unit" jsonschema:"description=GFLOPS; GOPS; GB/s (10^9 bytes per second); ns"`
	Theoretical Theoretical `json:"theoretical"`
	Measured    Measured    `json:"measured"`
	Probes      []Probe     `json:"probes,omitempty" jsonschema:"description=every probe of this ceiling with its time; the best is the ceiling"`
	Ratio       float64     `json:"ratio,omitempty" jsonschema:"description=measured over theoretical; for latency theoretical over measured"`
	Held        *Held       `json:"held,omitempty" jsonschema:"description=the formula at the clock that the device held"`
	Diagnosis   string      `json:"diagnosis" jsonschema:"description=one line on the gap between the two"`
	// CapacityBytes is the size of the level (all instances this device's threads use), for bandwidth ceilings.
	CapacityBytes int64 `json:"capacity_bytes,omitempty"`
}

// Theoretical is a limit by formula, or the reason there is none.
type Theoretical struct {
	Value       float64            `json:"value,omitempty"`
	Formula     string             `json:"formula,omitempty"`
	Inputs      map[string]float64 `json:"inputs,omitempty"`
	Source      string             `json:"source,omitempty" jsonschema:"description=table row and its source; inferred from features; user"`
	Label       string             `json:"label,omitempty" jsonschema:"description=for example whole-socket upper bound"`
	Unavailable string             `json:"unavailable,omitempty"`
}

// Held is a theoretical peak at the clock that was held while something was measured, and what share of it was reached.
type Held struct {
	ClockGHz float64 `json:"clock_ghz"`
	Value    float64 `json:"value" jsonschema:"description=of the peak at that clock, in the ceiling's unit"`
	Ratio    float64 `json:"ratio" jsonschema:"description=measured over it"`
	Source   string  `json:"source" jsonschema:"description=of the clock"`
}

// Measured is the best sustained probe, or the reason there is none.
type Measured struct {
	Value       float64 `json:"value,omitempty"`
	CaseID      string  `json:"case_id,omitempty"`
	Unavailable string  `json:"unavailable,omitempty"`
}

// Probe is one measurement of a ceiling at a point in time.
type Probe struct {
	Time  string     `json:"time" jsonschema:"description=RFC 3339"`
	Value float64    `json:"value"`
	CI95  [2]float64 `json:"ci95"`
	Best  float64    `json:"best" jsonschema:"description=fastest sample"`
	// Of a device whose clock is read: what it held.
	ClockGHz    float64 `json:"clock_ghz,omitempty"`
	ClockSource string  `json:"clock_source,omitempty"`
	// Concurrent devices were measured at the same time.
	Concurrent []string `json:"concurrent,omitempty" jsonschema:"description=the other devices that the run measured at the same time"`
	Case       string   `json:"case_id"`
	Why        string   `json:"why" jsonschema:"description=initial; sweep; periodic; reprobe (a result was refused); exceeded (a result was faster than it); low (below 1.2 times one thread)"`
}
