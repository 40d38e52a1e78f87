package backend

// CodeSampler is a Device that can tell which instructions its threads execute.
type CodeSampler interface {
	// StartSampling notes the program counter of every thread hz times a second from now on.
	StartSampling(hz int) error
	// StopSampling ends it and gives what fell into the windows, which are samples of Measure: for each program that was
	// measured, its windows and its answer.
	StopSampling(windows ...[]Sample) ([]CodeSamples, error)
}

// CodeSamples say where the threads of a device were at regular times.
type CodeSamples struct {
	// Unavailable says why there are none.
	Unavailable string `json:"unavailable,omitempty"`
	PeriodNS    int64  `json:"period_ns,omitempty"`
	Threads     int    `json:"threads,omitempty"`
	WindowNS    int64  `json:"window_ns,omitempty"` // all windows together
	// Outside fell between or before the windows and are not among Samples. Lost found no room or came too late.
	Outside int64 `json:"outside,omitempty"`
	Lost    int64 `json:"lost,omitempty"`
	// Events counted beside, in the order of CodeSample.Events, and such as could not be.
	Events  []string       `json:"events,omitempty"`
	Refused []RefusedEvent `json:"refused,omitempty"`
	// DRAMBytes were moved by the host's memory controllers, for all processes, in the calls that took the samples, the launches ahead of
	// them included; 0: not counted, and Refused has why where it was asked for.
	DRAMBytes int64 `json:"dram_bytes,omitempty"`

	Samples  []CodeSample  `json:"samples,omitempty"` // by thread and address
	Mappings []CodeMapping `json:"mappings,omitempty"`
}

// DRAMBytes names CodeSamples.DRAMBytes in RefusedEvent.
const DRAMBytes = "dram_bytes"

// RefusedEvent is a hardware event that was not counted, why and what to do.
type RefusedEvent struct {
	Event  string `json:"event"`
	Reason string `json:"reason"`
}

// CodeSample is how often a thread was found at an instruction.
type CodeSample struct {
	Thread  int     `json:"thread"`
	Address uint64  `json:"address"`
	Count   int64   `json:"count"`
	Events  []int64 `json:"events,omitempty"` // counted since the sample before
}

// CodeMapping is a stretch of executable memory and the file that it shows; the program itself comes first.
type CodeMapping struct {
	Start   uint64 `json:"start"`
	Limit   uint64 `json:"limit"`
	Offset  uint64 `json:"offset"`
	File    string `json:"file"`
	BuildID string `json:"build_id,omitempty"`
}
