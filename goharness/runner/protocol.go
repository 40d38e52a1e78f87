package runner

import (
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// The worker speaks JSON lines: one request, one reply, on descriptors of their own, since
// vendor libraries print to stdout.

// Verbs of the worker.
const (
	VerbHello   = "hello"
	VerbPrepare = "prepare"
	VerbVerify  = "verify"
	VerbMeasure = "measure"
	VerbSoak    = "soak"
	VerbRelease = "release"
	VerbClock   = "clock"
	VerbLibrary = "library"
)

// Request asks the worker for one thing.
type Request struct {
	Verb    string       `json:"verb"`
	Case    *record.Case `json:"case,omitempty"`    // prepare
	Exclude []string     `json:"exclude,omitempty"` // prepare: quarantined kernels
	Seconds float64      `json:"seconds,omitempty"` // soak
	Arm     int          `json:"arm,omitempty"`     // verify, soak: which arm
	// FillOnly, of verify: the arm's tensors are filled and nothing is checked, for it will be later if it has to.
	FillOnly bool `json:"fill_only,omitempty"`
	// Launches of a sample, for the soak of an arm that an earlier request measured; 0: those of the measurement.
	Launches int    `json:"launches,omitempty"`
	Library  string `json:"library,omitempty"` // library: the vendor library to open, for the threads of Case
	// SampleHz, of measure and soak: how often a second the device's threads are asked which instruction they execute; 0: never.
	SampleHz int `json:"sample_hz,omitempty"`
}

// Reply is the worker's answer. Err is set when the verb failed.
type Reply struct {
	Err      *WorkerError         `json:"err,omitempty"`
	Hello    *Hello               `json:"hello,omitempty"`
	Prepared *Prepared            `json:"prepared,omitempty"`
	Verified *record.Verification `json:"verified,omitempty"` // of the arm asked for
	Measured *Measured            `json:"measured,omitempty"`
	Soaked   *Soaked              `json:"soaked,omitempty"`
	Clock    *ClockReading        `json:"clock,omitempty"`

	Library *record.VendorLibrary `json:"library,omitempty"`
}

// KindLost is a device that can do nothing more in this worker's process.
const KindLost = "lost"

// WorkerError carries a failure across the process border. Kind is one of the record
// statuses (unsupported, skipped), "usage", "internal" or KindLost.
type WorkerError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// SetAside names the quarantined kernels that alone keep the case from running.
	SetAside []string `json:"set_aside,omitempty"`
}

func (e *WorkerError) Error() string { return e.Message }

// Hello identifies the worker.
type Hello struct {
	PID      int    `json:"pid"`
	Protocol int    `json:"protocol"`
	Priority string `json:"priority"`
}

// Protocol is the version of the worker protocol; both sides must agree.
const Protocol = 2

// Prepared says what the case became on the device.
type Prepared struct {
	Arms            []PreparedArm  `json:"arms"`
	Accumulate      record.DType   `json:"accumulate"`
	Params          []record.Param `json:"params"`
	FLOPs           int64          `json:"flops"`
	Bytes           int64          `json:"bytes"`
	WorkingSetBytes int64          `json:"working_set_bytes"`
	StorageBytes    int64          `json:"storage_bytes"`
	Items           int64          `json:"items"`
	ItemUnit        string         `json:"item_unit"`
	Traffic         op.Traffic     `json:"traffic"`
	MemoryBefore    int64          `json:"memory_before"`
	DeviceMemory    int64          `json:"device_memory"`
	DeviceBefore    int64          `json:"device_memory_before"`
	DeviceReserved  int64          `json:"device_memory_reserved,omitempty"`
	DevicePeak      int64          `json:"device_memory_peak,omitempty"`
}

// PreparedArm is one program's kernels.
type PreparedArm struct {
	Name    string   `json:"name"`
	Kernels []string `json:"kernels"` // one per step
	Ops     []string `json:"ops"`     // of the steps
	// Libraries are version and code path of each kernel of a vendor library.
	Libraries    []string `json:"libraries,omitempty"`
	LibrarySteps []int    `json:"library_steps,omitempty"` // that they compute, by number
	ISA          []string `json:"isa"`                     // of the arm's most demanding kernel
	ISAs         []string `json:"isas,omitempty"`          // the tags of all its kernels, each once
	// Params of the last kernel that stand in place of its defaults.
	Params map[string]int64 `json:"params,omitempty"`
	// PassedOver are quarantined kernels that would have been picked otherwise.
	PassedOver []string `json:"passed_over,omitempty"`
	FLOPs      int64    `json:"flops"`
	// ExecutedFLOPs, where the kernels' algorithms execute fewer or more; else 0.
	ExecutedFLOPs int64 `json:"executed_flops,omitempty"`
	// Computes, where a kernel multiplies in another precision than the op's; else "".
	Computes record.DType `json:"computes,omitempty"`
	Bytes    int64        `json:"bytes"`
	// PackedBytes of operands packed beforehand, which count in Bytes in their place.
	PackedBytes int64 `json:"packed_bytes,omitempty"`
	// ThreadsUsed is 1 where one thread of the team runs all steps alone; else 0.
	ThreadsUsed int `json:"threads_used,omitempty"`
	Sets        int `json:"sets"` // buffer sets it rotates through
}

// Measured is the timing of a case, or of both arms with their ratio.
type Measured struct {
	Times      []record.Time     `json:"times"`
	Ratio      *record.Ratio     `json:"ratio,omitempty"`
	Converged  bool              `json:"converged"`
	Conditions record.Conditions `json:"conditions,omitzero"` // none of a pilot
	Warnings   []string          `json:"warnings,omitempty"`  // of the result
	// Code, of each arm, is there when the request asked for samples.
	Code []backend.CodeSamples `json:"code,omitempty"`
}

// Soaked is a finished sustain phase.
type Soaked struct {
	StartNS  int64 `json:"start_ns"` // CLOCK_MONOTONIC
	EndNS    int64 `json:"end_ns"`
	Launches int64 `json:"launches"`
	// Code is there when the request asked for samples.
	Code []backend.CodeSamples `json:"code,omitempty"`
}

// ClockReading is the device's measured clock. LoadedUnavailable says why LoadedGHz is 0.
type ClockReading struct {
	IdleGHz           float64 `json:"idle_ghz"`
	LoadedGHz         float64 `json:"loaded_ghz"`
	LoadedUnavailable string  `json:"loaded_unavailable,omitempty"`
}
