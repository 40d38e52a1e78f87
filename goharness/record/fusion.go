package record

// SchemaFusion names the fusion profile's schema.
const SchemaFusion = "ridge.fusion/1"

// Fusion is a fusion profile: for every pattern and shape measured on one device whether the
// fused kernel or the chain of primitive kernels is faster, by how much, and what to do.
type Fusion struct {
	Schema   string          `json:"schema" jsonschema:"const=ridge.fusion/1"`
	RunID    string          `json:"run_id"`
	Created  string          `json:"created" jsonschema:"description=RFC 3339"`
	Tool     Tool            `json:"tool"`
	Host     Host            `json:"host"`
	Device   Device          `json:"device"`
	Quick    bool            `json:"quick"`
	Complete bool            `json:"complete" jsonschema:"description=false when the run was interrupted"`
	Patterns []FusionPattern `json:"patterns"`
}

// FusionPattern is a pattern in one precision and mode.
type FusionPattern struct {
	Pattern        string         `json:"pattern"`
	Operators      []string       `json:"operators"`
	DType          DType          `json:"dtype"`
	Mode           string         `json:"mode" jsonschema:"description=hot or cold"`
	Shapes         []FusionShape  `json:"shapes"`
	Recommendation Recommendation `json:"recommendation"`
}

// FusionShape is one shape of a pattern. The first fields are the result of one pattern under
// the names that other tools know; what they cannot say follows.
type FusionShape struct {
	Pattern         string            `json:"fusion_pattern"`
	InputShape      []int64           `json:"input_shape"`
	Params          map[string]string `json:"params"`
	UnfusedMS       float64           `json:"unfused_latency_ms" jsonschema:"description=of the baseline: of the samples that speedup_factor is formed of"`
	UnfusedGFLOPS   float64           `json:"unfused_gflops" jsonschema:"description=flops / unfused_latency_ms"`
	UnfusedBytes    int64             `json:"unfused_bytes" jsonschema:"description=modelled: each stage reads its inputs and writes its output once"`
	FusedMS         float64           `json:"fused_latency_ms" jsonschema:"description=of the fused program; unfused_latency_ms / fused_latency_ms is speedup_factor"`
	FusedGFLOPS     float64           `json:"fused_gflops" jsonschema:"description=fused_flops / fused_latency_ms"`
	FusedBytes      int64             `json:"fused_bytes" jsonschema:"description=modelled: inputs read and output written once"`
	Speedup         float64           `json:"speedup_factor" jsonschema:"description=time of unfused over time of fused, by quartets A B B A: of several visits the ratio of undisturbed times (the fastest third of the samples), of one the pseudo-median of the quiet half"`
	MemoryReduction float64           `json:"memory_reduction" jsonschema:"description=1 - fused_bytes/unfused_bytes"`
	UnfusedWritten  int64             `json:"unfused_written_bytes,omitempty" jsonschema:"description=measured at verification: distinct bytes of outputs and intermediates that the baseline wrote (a stage in place writes none beside those before it); a kernel's own scratch is not in it (see verification.written_bytes). Absent in older documents and of imported files"`
	FusedWritten    int64             `json:"fused_written_bytes,omitempty" jsonschema:"description=measured as unfused_written_bytes: of the fused program"`
	Improvement     float64           `json:"gflops_improvement" jsonschema:"description=(fused_gflops - unfused_gflops)/unfused_gflops: speedup_factor - 1 where both execute the same FLOP"`
	Extra           map[string]int64  `json:"extra_params"`
	FLOPs           int64             `json:"flops" jsonschema:"description=of the unfused chain"`
	FusedFLOPs      int64             `json:"fused_flops,omitempty" jsonschema:"description=of the fused program: fewer where it leaves out what a mask hides or folds a normalisation; absent in older documents: their fused_gflops are of flops"`

	CaseID         string     `json:"case_id"`
	Status         Status     `json:"status"`
	Reason         string     `json:"reason,omitempty"`
	SpeedupCI95    [2]float64 `json:"speedup_ci95"`
	Trials         int        `json:"num_trials" jsonschema:"description=quartets A B B A"`
	BarrierNS      float64    `json:"barrier_ns,omitempty" jsonschema:"description=longest empty step of the team around the visits that count: how near the CPUs were"`
	Verdict        string     `json:"verdict" jsonschema:"enum=strong,enum=moderate,enum=minimal,enum=slower,enum=inconclusive,enum=not measured"`
	AtLeast        string     `json:"at_least,omitempty" jsonschema:"description=the best verdict whose cut the whole interval reaches"`
	Baseline       string     `json:"baseline,omitempty" jsonschema:"description=the unfused candidate that won the pilot"`
	UnfusedKernels []string   `json:"unfused_kernels,omitempty"`
	// Candidates are what the pilot chose from, VendorFused a library's own fused primitive, VendorTried what it was chosen from.
	Candidates      []BaselineCandidate `json:"baseline_candidates,omitempty"`
	FusedForm       string              `json:"fused_form,omitempty" jsonschema:"description=packed: the fused program has its weights packed beforehand, outside the timed window, which a pilot showed to be faster; absent: it takes them as they are stored"`
	FusedCandidates []BaselineCandidate `json:"fused_candidates,omitempty" jsonschema:"description=forms of the fused program that a pilot chose from, and why they are out of the choice; absent where it has one form"`
	VendorFused     *VendorFused        `json:"vendor_fused,omitempty"`
	VendorTried     []BaselineCandidate `json:"vendor_fused_candidates,omitempty" jsonschema:"description=the libraries' fused primitives that vendor_fused was chosen from and why the others or all are out; absent where no library could be opened (see host.vendor_libraries)"`
	FusedKernels    []string            `json:"fused_kernels,omitempty"`
	Explanation     string              `json:"explanation,omitempty"`
	Predicted       float64             `json:"predicted_speedup,omitempty" jsonschema:"description=by the machine's measured ceilings: each step at its limit and a dispatch for each launch"`
	Misfit          string              `json:"misfit,omitempty" jsonschema:"description=set when measured and predicted speed-up differ by more than 1.25"`
	UnfusedLimit    *FusionLimit        `json:"unfused_limit,omitempty"`
	FusedLimit      *FusionLimit        `json:"fused_limit,omitempty"`
	GraphsReduction *float64            `json:"graphs_memory_reduction,omitempty" jsonschema:"description=memory_reduction by the byte formula of the graphs format where it differs"`
	Energy          *Energy             `json:"energy,omitempty" jsonschema:"description=of the unfused program; or why neither has any"`
	FusedEnergy     *Energy             `json:"fused_energy,omitempty"`
	EnergyRatio     float64             `json:"energy_ratio,omitempty" jsonschema:"description=joules of a launch: unfused over fused"`
	EnergyRatioCI95 *[2]float64         `json:"energy_ratio_ci95,omitempty"`
}

// FormPacked is the form of a program whose weights are packed beforehand.
const FormPacked = "packed"

// FusionLimit is what the measured ceilings say of one program: its steps one after another.
type FusionLimit struct {
	Bound      string  `json:"bound" jsonschema:"description=what the longest step waits for: compute; memory; or dispatch where the launches take longest"`
	Level      string  `json:"level,omitempty" jsonschema:"description=of the memory hierarchy where bound is memory"`
	FloorNS    float64 `json:"floor_ns" jsonschema:"description=shortest time that the ceilings allow the steps"`
	DispatchNS float64 `json:"dispatch_ns" jsonschema:"description=measured cost of the program's launches"`
	BoundShare float64 `json:"bound_share,omitempty" jsonschema:"description=part of floor_ns + dispatch_ns that the steps of that bound and level take; absent in older documents"`
	Fraction   float64 `json:"fraction" jsonschema:"description=(floor_ns + dispatch_ns) over the program's latency of the shape"`
}

// TimeNS is the time at the limits.
func (l FusionLimit) TimeNS() float64 { return l.FloorNS + l.DispatchNS }

// Recommendation is what the shapes of a pattern amount to.
type Recommendation struct {
	Verdict   string     `json:"verdict" jsonschema:"enum=fuse,enum=do_not_fuse,enum=depends_on_size,enum=inconclusive"`
	Reason    string     `json:"reason"`
	Crossover *Crossover `json:"crossover,omitempty"`
}

// Crossover is the size at which the answer changes, bracketed by shapes with a verdict.
type Crossover struct {
	Parameter string   `json:"parameter"`
	Between   [2]int64 `json:"between" jsonschema:"description=the largest size with one answer and the smallest with the other"`
	FuseAbove bool     `json:"fuse_above" jsonschema:"description=true: fuse from the upper size on; false: fuse up to the lower one"`
	// Value is 0 in documents of before November 2026.
	Value float64 `json:"value,omitempty" jsonschema:"description=about where both programs take the same time: speed-up and size interpolated between the two by their logarithms"`
}
