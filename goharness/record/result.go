package record

import "encoding/json"

// Status of a result (DESIGN: ok, noisy, invalid, wrong, unsupported, crashed, timed_out, skipped).
type Status string

// The statuses. Only OK and Noisy carry times that a summary may count.
const (
	OK          Status = "ok"          // verified, timed, below its limits
	Noisy       Status = "noisy"       // verified and timed; the interval is wider than asked for
	Invalid     Status = "invalid"     // faster than its physical limit: never counted
	Wrong       Status = "wrong"       // the output differs from the expectation: never timed
	Unsupported Status = "unsupported" // the device or build cannot run it; reason says why
	Crashed     Status = "crashed"     // the worker died running it, or the kernel returned an error
	TimedOut    Status = "timed_out"   // the worker passed its deadline
	Skipped     Status = "skipped"     // not run (memory, selection, its kernels set aside); reason says why
)

// statuses lists every status, in the order the design names them.
var statuses = []Status{OK, Noisy, Invalid, Wrong, Unsupported, Crashed, TimedOut, Skipped}

// Counts reports whether a result of this status may enter summaries.
func (s Status) Counts() bool { return s == OK || s == Noisy }

// Executed is the arithmetic that must have been done: FLOPs, but for ops that count what nobody needs (taps in the padding) and algorithms that need less
// (Winograd) or more (3×TF32).
func (r *Result) Executed() int64 { return executed(r.FLOPs, r.ExecutedFLOPs) }

// Executed is the arm's, as the result's.
func (a *Arm) Executed() int64 { return executed(a.FLOPs, a.ExecutedFLOPs) }

func executed(flops, other int64) int64 {
	if other > 0 {
		return other
	}
	return flops
}

// ComputedIn is the precision whose ceilings bound the result.
func (r *Result) ComputedIn() DType { return computedIn(r.DType, r.Computes) }

// ComputedIn is the arm's, of a result at d.
func (a *Arm) ComputedIn(d DType) DType { return computedIn(d, a.Computes) }

func computedIn(d, computes DType) DType {
	if computes != "" {
		return computes
	}
	return d
}

// Param is one parameter of an op, in the op's declared order.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Result is the answer to one case.
type Result struct {
	ID         string            `json:"id" jsonschema:"description=case id: device/op/dtype/params/threads=N/mode[@kernel]"`
	Op         string            `json:"op"`
	Suite      string            `json:"suite,omitempty"`
	UseCase    string            `json:"use_case,omitempty" jsonschema:"description=where this shape comes from"`
	Params     map[string]string `json:"params,omitempty"`
	DType      DType             `json:"dtype"`
	Accumulate DType             `json:"accumulate,omitempty"`
	Device     string            `json:"device"`
	Threads    int               `json:"threads,omitempty"`
	// ThreadsUsed is 1 where meeting the others would take longer than the work.
	ThreadsUsed int    `json:"threads_used,omitempty" jsonschema:"description=threads of the team that work where not all do"`
	Mode        string `json:"mode,omitempty" jsonschema:"description=hot or cold"`
	Batch       int64  `json:"batch,omitempty"`

	Kernel          string `json:"kernel,omitempty"`
	KernelRequested string `json:"kernel_requested,omitempty"`
	FallbackReason  string `json:"fallback_reason,omitempty"`
	ISA             string `json:"isa,omitempty"`
	// KernelParams are those found by a search on this machine (ridge tune).
	KernelParams map[string]int64 `json:"kernel_params,omitempty" jsonschema:"description=parameters in place of the kernel's defaults"`

	Status       Status        `json:"status"`
	Reason       string        `json:"reason,omitempty"`
	Verification *Verification `json:"verification,omitempty"`
	Time         *Time         `json:"time,omitempty"`

	FLOPs           int64  `json:"flops"`
	ExecutedFLOPs   int64  `json:"executed_flops,omitempty" jsonschema:"description=what must be executed at least where that is not flops: fewer (taps in the padding of a convolution are left out; Winograd) or more (3xTF32); ceilings are held against it"`
	Computes        DType  `json:"computes,omitempty" jsonschema:"description=precision of the kernel's multiplications where it is not dtype (3xTF32 of fp32: tf32); its ceilings are that one's"`
	Bytes           int64  `json:"bytes" jsonschema:"description=bytes the op must move: each input read once and each output written once (modelled)"`
	PackedBytes     int64  `json:"packed_bytes,omitempty" jsonschema:"description=of an operand packed beforehand outside the timed window (packed=1): bytes of the kernel's copy, which bytes counts in the operand's place"`
	WorkingSetBytes int64  `json:"working_set_bytes"`
	ReadBytes       int64  `json:"read_bytes,omitempty" jsonschema:"description=modelled bytes of the input tensors"`
	WriteBytes      int64  `json:"write_bytes,omitempty" jsonschema:"description=modelled bytes of the output tensors"`
	InputStreams    int    `json:"input_streams,omitempty" jsonschema:"description=large inputs read side by side"`
	Items           int64  `json:"items,omitempty"`
	ItemUnit        string `json:"item_unit,omitempty"`

	GFLOPS              float64 `json:"gflops,omitempty"`
	BandwidthGBps       float64 `json:"bandwidth_gbps,omitempty" jsonschema:"description=10^9 bytes per second: modelled bytes over the median time"`
	ArithmeticIntensity float64 `json:"arithmetic_intensity_flops_per_byte,omitempty"`

	Ceiling  *ResultCeiling `json:"ceiling,omitempty"`
	Metrics  *Metrics       `json:"metrics,omitempty"`
	Attempts []Attempt      `json:"attempts,omitempty"`
	Arms     []Arm          `json:"arms,omitempty"`
	Ratio    *Ratio         `json:"ratio,omitempty"`

	Candidates      []BaselineCandidate `json:"candidates,omitempty" jsonschema:"description=of a fusion pattern: what the pilot chose the first arm from"`
	FusedCandidates []BaselineCandidate `json:"fused_candidates,omitempty" jsonschema:"description=of a fusion pattern: forms of the fused program that the pilot chose the second arm from"`
	VendorFused     *VendorFused        `json:"vendor_fused,omitempty" jsonschema:"description=of a fusion pattern: a vendor library's own fused primitive"`
	VendorTried     []BaselineCandidate `json:"vendor_fused_candidates,omitempty" jsonschema:"description=of a fusion pattern: the libraries' fused primitives that vendor_fused was chosen from and why the others or all are out; absent where no library could be opened (see host.vendor_libraries)"`

	Conditions   *Conditions   `json:"conditions,omitempty"`
	DeviceMemory *DeviceMemory `json:"device_memory,omitempty"`
	Warnings     []string      `json:"warnings,omitempty"`
	Energy       *Energy       `json:"energy,omitempty"`
	Reproduce    string        `json:"reproduce,omitempty" jsonschema:"description=command line that measures this case again"`
	Started      string        `json:"started,omitempty"`
	WallNS       int64         `json:"wall_ns,omitempty" jsonschema:"description=time spent on the case in all: allocate; fill; verify; warm up; measure"`

	// Extra keeps fields of a later minor version.
	Extra map[string]json.RawMessage `json:"-"`
}

// Verification says how the output was checked before timing.
type Verification struct {
	Passed      bool    `json:"passed"`
	IntegerTest string  `json:"integer_test" jsonschema:"description=exact or why not done"`
	Checked     int64   `json:"checked_elements" jsonschema:"description=elements compared with the float64 expectation"`
	Elements    int64   `json:"elements"`
	Projection  bool    `json:"projection,omitempty" jsonschema:"description=a Freivalds projection of the whole output was compared too"`
	Repeatable  bool    `json:"repeatable" jsonschema:"description=a second run gave the same bits"`
	WorstBound  float64 `json:"worst_error_over_bound" jsonschema:"description=largest error divided by its bound; at most 1 when passed"`
	BoundC      float64 `json:"bound_constant"`
	RoundedC    float64 `json:"rounded_constant,omitempty" jsonschema:"description=units in the last place of the precision that are allowed for operands which the kernel computes and rounds itself (attention weights) or for what tensor cores cut off sums of fp8 products; see op.Expectation"`
	// WrittenBytes are measured: a byte counts once, however many steps write it.
	WrittenBytes int64     `json:"written_bytes,omitempty" jsonschema:"description=measured: distinct bytes of outputs and intermediates that the program wrote; those that differ from the poison after one of two runs over two poisons. Row padding; inputs; a kernel's own scratch (packed panels and sums in its workspace) and writing a byte again are not in it. Absent where the verification did not get so far"`
	Mismatch     *Mismatch `json:"mismatch,omitempty"`
}

// Mismatch is the first wrong element found.
type Mismatch struct {
	Tensor string  `json:"tensor"`
	Index  []int64 `json:"index"`
	Got    string  `json:"got"`
	Want   string  `json:"want"`
	Bound  float64 `json:"bound"`
	Phase  string  `json:"phase" jsonschema:"description=integer; random; projection; padding; input; repeat"`
}

// Time is the distribution of one launch's time, from samples of many launches each.
type Time struct {
	MedianNS        float64    `json:"median_ns"`
	CI95NS          [2]float64 `json:"ci95_ns"`
	MinNS           float64    `json:"min_ns"`
	MaxNS           float64    `json:"max_ns"`
	MeanNS          float64    `json:"mean_ns"`
	StdNS           float64    `json:"std_ns"`
	MADNS           float64    `json:"mad_ns"`
	P90NS           float64    `json:"p90_ns"`
	P95NS           float64    `json:"p95_ns"`
	P99NS           float64    `json:"p99_ns"`
	SamplesNS       []float64  `json:"samples_ns"`
	Disturbed       []int      `json:"disturbed,omitempty" jsonschema:"description=indices of samples during which the team lost its CPU"`
	Launches        int        `json:"launches_per_sample"`
	Lag1            float64    `json:"lag1_autocorrelation"`
	EffectiveN      float64    `json:"effective_n"`
	RelHalfWidth    float64    `json:"relative_half_width" jsonschema:"description=half the interval's width over the median"`
	WarmupNS        float64    `json:"warmup_ns"`
	WarmupLaunches  int        `json:"warmup_launches"`
	WarmupConverged bool       `json:"warmup_converged"`
	StopRule        string     `json:"stop_rule" jsonschema:"description=what ended sampling: interval; budget; trials"`
}

// ResultCeiling holds a result against the measured ceilings that apply to it.
type ResultCeiling struct {
	ComputeGFLOPS float64 `json:"compute_gflops,omitempty"`
	MemoryGBps    float64 `json:"memory_gbps,omitempty"`
	MemoryLevel   string  `json:"memory_level,omitempty"`
	Bound         string  `json:"bound" jsonschema:"description=compute or memory: which limit predicts the longer time; or unknown"`
	FloorNS       float64 `json:"floor_ns,omitempty" jsonschema:"description=shortest time the ceilings allow"`
	Fraction      float64 `json:"fraction" jsonschema:"description=floor_ns over the median time"`
	Source        string  `json:"source" jsonschema:"description=measured; theoretical; or user"`
	Nominal       *Held   `json:"nominal,omitempty" jsonschema:"description=of a GPU: its theoretical arithmetic peak at the nominal clock and the share of it that the executed operations reached"`
	Held          *Held   `json:"held,omitempty" jsonschema:"description=the same at the clock that it held"`
	UserFraction  float64 `json:"user_fraction,omitempty" jsonschema:"description=work over the peaks that the user gave over the median time; above 1 a given peak is too low"`
}

// Attempt is one kernel tried for a case that did not give the answer.
type Attempt struct {
	Kernel string `json:"kernel"`
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// Arm is one side of a comparison.
type Arm struct {
	Name          string           `json:"name"`
	Kernels       []string         `json:"kernels"`
	Libraries     []string         `json:"libraries,omitempty" jsonschema:"description=version and code path of each kernel of a vendor library"`
	LibrarySteps  []int            `json:"-"` // those of the program that a vendor library computes, by number: for the run alone
	KernelParams  map[string]int64 `json:"kernel_params,omitempty" jsonschema:"description=parameters of the last kernel in place of its defaults"`
	ISA           string           `json:"isa,omitempty" jsonschema:"description=instruction set of the most demanding kernel"`
	ISAs          []string         `json:"isas,omitempty" jsonschema:"description=those of all its kernels, each once: one may widen to a format that is multiplied faster than another's"`
	Verification  *Verification    `json:"verification,omitempty"`
	Time          *Time            `json:"time,omitempty"`
	FLOPs         int64            `json:"flops"`
	ExecutedFLOPs int64            `json:"executed_flops,omitempty" jsonschema:"description=what must be executed at least where that is not flops: fewer (taps in the padding of a convolution are left out; Winograd) or more (3xTF32); ceilings are held against it"`
	Computes      DType            `json:"computes,omitempty" jsonschema:"description=as of a result"`
	Bytes         int64            `json:"bytes"`

	GFLOPS        float64 `json:"gflops,omitempty" jsonschema:"description=this arm's flops over its median time"`
	BandwidthGBps float64 `json:"bandwidth_gbps,omitempty" jsonschema:"description=this arm's bytes over its median time in 10^9 bytes per second"`
	BufferSets    int     `json:"buffer_sets,omitempty" jsonschema:"description=1 hot; 2 or more rotated when cold"`
	ThreadsUsed   int     `json:"threads_used,omitempty" jsonschema:"description=as of a result"`
	Energy        *Energy `json:"energy,omitempty"`
}

// Ratio of a two-arm case: time of arm 0 over time of arm 1 (above 1: arm 1 is faster),
// of one visit the pseudo-median of (A1+A2)/(B1+B2) over the quiet half of the quartets A B B A, of several the ratio of the means of the
// fastest third of either arm's samples.
type Ratio struct {
	Value      float64    `json:"value"`
	CI95       [2]float64 `json:"ci95"`
	Quartets   []float64  `json:"quartets" jsonschema:"description=ratio of each quartet A B B A; quartet i is samples 2i and 2i+1 of either arm"`
	Quiet      []int      `json:"quiet,omitempty" jsonschema:"description=of one visit: indices of the quartets that count, the half with the least product of both arms' times"`
	Visits     []int      `json:"visits,omitempty" jsonschema:"description=where the case was measured at several times of the run: the quartets of each"`
	Counted    []int      `json:"counted_visits,omitempty" jsonschema:"description=of several visits: indices of those of which the fastest third of either arm's samples counts"`
	EffectiveN float64    `json:"effective_n"`
	// BarrierNS of each visit, the slower of before and after; empty where it is not known.
	BarrierNS []float64 `json:"barrier_ns,omitempty" jsonschema:"description=what an empty step of the team took around each visit: visits with CPUs further apart do not count where others do"`
}

// Faster reports whether the second arm was shown to be faster: the whole interval lies above 1. A nil ratio shows nothing.
func (r *Ratio) Faster() bool { return r != nil && r.CI95[0] > 1 }

// DeviceMemory is what the device's buffers held before and during the case.
type DeviceMemory struct {
	StartBytes int64 `json:"start_bytes"`
	EndBytes   int64 `json:"end_bytes"`
	// Of a device with memory of its own.
	ReservedBytes int64 `json:"reserved_bytes,omitempty" jsonschema:"description=held from the driver during the case: the buffers and blocks that are kept for later cases"`
	PeakBytes     int64 `json:"peak_bytes,omitempty" jsonschema:"description=most that buffers of the case held at once"`
}
