package record

// Modes of a case.
const (
	Hot  = "hot"  // one set of buffers, launch after launch
	Cold = "cold" // buffer sets rotate; together at least twice the last-level cache
)

// Use cases of probes: their results feed the ceilings and the cache sweep, and are shown there.
const (
	UseCaseCeiling = "ceiling"
	UseCaseSweep   = "cache sweep"
)

// UseCaseVerification marks results whose kernels were verified and launched once: their time is no figure.
const UseCaseVerification = "verification"

// Probe reports whether a result was measured to find a limit and not to rate a kernel.
func (r *Result) Probe() bool { return r.UseCase == UseCaseCeiling || r.UseCase == UseCaseSweep }

// HasFigure reports whether a result's time and rates say something: it counts, and was not launched once to be verified.
func (r *Result) HasFigure() bool { return r.Status.Counts() && r.UseCase != UseCaseVerification }

// Case is one question: "fp32 GEMM 1024³ on cpu, 2 threads, hot". It is plain data, so that
// a worker process can be asked it. Programs are named and resolved by the worker.
type Case struct {
	ID      string     `json:"id"`
	Device  string     `json:"device"`
	Program ProgramRef `json:"program"`
	// Arms of a comparison (two); empty for a single measurement. Program then names the
	// reference whose expectation both arms meet.
	Arms    []ProgramRef `json:"arms,omitempty"`
	Threads int          `json:"threads"`
	Mode    string       `json:"mode"`
	// Baselines are candidates for the first arm, by name; a pilot whose samples are thrown
	// away decides. Cuts are the ratios at which the verdict changes.
	Baselines []string  `json:"baselines,omitempty"`
	Cuts      []float64 `json:"cuts,omitempty"`

	Suite   string `json:"suite,omitempty"`
	UseCase string `json:"use_case,omitempty"`
	Batch   int64  `json:"batch,omitempty"`
	// Effort of this case.
	Quick    bool  `json:"quick,omitempty"`
	Warmup   int   `json:"warmup,omitempty"` // with Trials: fixed counts in place of the stop rule
	Trials   int   `json:"trials,omitempty"`
	BudgetNS int64 `json:"budget_ns,omitempty"`
	// Launches of a sample of a comparison, where no program can take less than a sample must; 0: they are calibrated.
	Launches int `json:"launches,omitempty"`
	// MostLaunchNS: a comparison whose unfused program takes longer by the measured ceilings is skipped; 0: none is.
	MostLaunchNS int64 `json:"most_launch_ns,omitempty"`
	// LeastQuartets of a comparison that is measured in several visits: fewer than a verdict needs, where a launch is long.
	LeastQuartets int `json:"least_quartets,omitempty"`
	// Pilot: the samples only choose a baseline and are thrown away; the winner is verified before it
	// is measured, so the pilot is not.
	Pilot bool `json:"pilot,omitempty"`
	// VerifyIfFaster, of a pilot: the second arm is verified behind its samples, and only where they show it to be faster.
	VerifyIfFaster bool `json:"verify_if_faster,omitempty"`
	// Clear ends the quartets of a comparison with fixed counts early, where its interval is wholly beyond this ratio or its inverse; 0: never.
	Clear float64 `json:"clear,omitempty"`
	// Verified: the same kernels passed on this case earlier in the run; its inputs are only filled.
	Verified bool `json:"verified,omitempty"`
	// Probe cases feed ceilings; Level and Why describe what for.
	Level string `json:"level,omitempty"`
	// SkipReason, when set by the plan, means the case is recorded as skipped or
	// unsupported (Unsupported) without being run.
	SkipReason  string `json:"skip_reason,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// ProgramRef names a program: one op with its parameters, or (Pattern) a registered pair of
// programs with the arm's name.
type ProgramRef struct {
	Name   string            `json:"name,omitempty"` // of an arm
	Op     string            `json:"op"`
	Params map[string]string `json:"params,omitempty"`
	DType  DType             `json:"dtype"`
	Kernel string            `json:"kernel,omitempty"` // forced
	// KernelParams of the forced kernel in place of its defaults, for a search.
	KernelParams map[string]int64 `json:"kernel_params,omitempty"`
	Pattern      string           `json:"pattern,omitempty"`
	// Library is a way of using a vendor library for the program's steps ("onednn packed").
	Library string `json:"library,omitempty"`
}
