package record

import "slices"

// Fact is a value that may be unknown. Exactly one of Value and Unavailable is set.
type Fact[T any] struct {
	Value       *T     `json:"value,omitempty"`
	Source      string `json:"source,omitempty"`
	Unavailable string `json:"unavailable,omitempty"`
}

// Known makes a fact with a value and where it comes from.
func Known[T any](v T, source string) Fact[T] { return Fact[T]{Value: &v, Source: source} }

// Unknown makes a fact without a value; reason must not be empty.
func Unknown[T any](reason string) Fact[T] { return Fact[T]{Unavailable: reason} }

// Get returns the value and whether it is known.
func (f Fact[T]) Get() (v T, ok bool) {
	if f.Value == nil {
		return v, false
	}
	return *f.Value, true
}

// Conditions under which a result was measured. What is missing carries a reason.
type Conditions struct {
	Threads             int           `json:"threads"`
	CPUs                []int         `json:"cpus" jsonschema:"description=CPU each team thread was pinned to; -1 when not pinned"`
	Affinity            string        `json:"affinity"`
	ClockBeforeGHz      Fact[float64] `json:"clock_before_ghz"`
	ClockAfterGHz       Fact[float64] `json:"clock_after_ghz"`
	BarrierBeforeNS     Fact[float64] `json:"barrier_before_ns,omitzero" jsonschema:"description=time of an empty step of the team: how fast its CPUs exchange cache lines"`
	BarrierAfterNS      Fact[float64] `json:"barrier_after_ns,omitzero"`
	TogetherOverAlone   Fact[float64] `json:"together_over_alone,omitzero" jsonschema:"description=how much longer arithmetic took on all threads at once than on one: 1 where each had a core to itself and 2 where two shared one; taken beside the shorter of both barriers"`
	StealNS             Fact[int64]   `json:"steal_ns"`
	RunDelayNS          Fact[int64]   `json:"run_delay_ns"`
	InvoluntarySwitches Fact[int64]   `json:"involuntary_switches"`
	MajorFaults         Fact[int64]   `json:"major_faults"`
	TemperatureC        Fact[float64] `json:"temperature_c"`
	Throttled           Fact[string]  `json:"throttled"`
	InputDistribution   string        `json:"input_distribution"`
	Seed                uint64        `json:"seed"`
	FlushDenormals      Fact[bool]    `json:"flush_denormals"`
	PageSize            string        `json:"page_size" jsonschema:"description=small pages and the share of the worker's anonymous memory in huge ones"`
	HugePageShare       Fact[float64] `json:"huge_page_share" jsonschema:"description=of the worker's anonymous memory (0..1)"`
	NUMA                Fact[string]  `json:"numa_placement"`
	QuotaCPUs           Fact[float64] `json:"cgroup_quota_cpus"`
	Compiler            string        `json:"compiler"`
	CompilerFlags       string        `json:"compiler_flags"`
	Driver              string        `json:"driver"`
	BufferSets          int           `json:"buffer_sets" jsonschema:"description=1 hot; 2 or more rotated when cold"`
	Priority            string        `json:"priority" jsonschema:"description=scheduling group and priority the worker obtained"`
	PeakMemoryBytes     int64         `json:"peak_memory_bytes"`
	MemoryBeforeBytes   int64         `json:"memory_before_bytes"`
	MemoryAfterBytes    int64         `json:"memory_after_bytes"`
	Board               *Board        `json:"board,omitempty" jsonschema:"description=of a device with sensors of its own: what they showed"`
	// Concurrent is empty for a device that was measured alone.
	Concurrent []Concurrent `json:"concurrent,omitempty" jsonschema:"description=the other devices that the run measured at the same time"`
	// Of devices that are timed by events.
	Launching         []Launching   `json:"launching,omitempty" jsonschema:"description=how the samples reached the device; of a comparison, of each arm"`
	EventResolutionNS Fact[float64] `json:"event_resolution_ns,omitzero" jsonschema:"description=least difference that two events of the device show"`
}

// Board is what the sensors of a device showed while a case was timed; 0 and "" mean not given.
type Board struct {
	Source         string  `json:"source"`
	Readings       int     `json:"readings"`
	ClockMHz       float64 `json:"clock_mhz,omitempty" jsonschema:"description=of the multiprocessors; median"`
	LeastClockMHz  float64 `json:"least_clock_mhz,omitempty"`
	MemoryClockMHz float64 `json:"memory_clock_mhz,omitempty" jsonschema:"description=median"`
	PowerWatts     float64 `json:"power_watts,omitempty" jsonschema:"description=of the moment or averaged by the board (source says which); median"`
	TemperatureC   float64 `json:"temperature_c,omitempty" jsonschema:"description=highest"`
	// Beside this device's work.
	Beside      []string `json:"beside,omitempty" jsonschema:"description=what else uses the device or shares its power and its bus"`
	Unavailable string   `json:"unavailable,omitempty"`
}

// Concurrent is a device that was measured at the same time as another: its program ran (warming up; being timed; or kept
// going) from before the other's measurement to its end.
type Concurrent struct {
	Device string `json:"device"`
	Case   string `json:"case" jsonschema:"description=what ran there"`
	Cut    string `json:"cut,omitempty" jsonschema:"description=why it ran for a part of the time alone: it failed meanwhile"`
}

// With names the devices that were measured at the same time, in order; none: the device was alone.
func (c *Conditions) With() []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, x := range c.Concurrent {
		out = append(out, x.Device)
	}
	slices.Sort(out)
	return out
}

// Paths of Launching.
const (
	LaunchStream = "stream" // one by one
	LaunchGraph  = "graph"  // each sample as one graph
	// LaunchResident: a kernel that stays on the device takes them one by one from memory that it shares with the host.
	LaunchResident = "resident"
	// LaunchPriority: one by one on a stream of the greatest priority, beside one of the least that keeps the device busy.
	LaunchPriority = "priority"
)

// QueueNotFilled begins Launching.Queue where the device was not held while its queue was filled; the reason follows.
const QueueNotFilled = "not filled beforehand: "

// Launching is how samples reached a device that runs what is enqueued to it.
type Launching struct {
	Path  string `json:"path" jsonschema:"enum=stream,enum=graph,enum=resident,enum=priority"`
	Why   string `json:"why" jsonschema:"description=why that path"`
	Queue string `json:"queue" jsonschema:"description=how much was enqueued before the device began: the rest may have waited for the host"`
	Clock string `json:"clock_anchor" jsonschema:"description=the moment that places the device's times on the host's monotonic clock"`
}
