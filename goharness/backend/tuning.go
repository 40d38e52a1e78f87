package backend

import (
	"maps"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Tuned is what a search on this machine found for a class of shapes of one op.
type Tuned struct {
	Op    string       `json:"op"`
	DType record.DType `json:"dtype"`
	// Class of shapes (Space.Class) and the thread count that it holds for.
	Class   string `json:"class"`
	Threads int    `json:"threads"`
	Kernel  string `json:"kernel"`
	// Params of the kernel in place of its defaults.
	Params map[string]int64 `json:"params,omitempty"`
	// Replaces is the kernel that is picked without tuning, where it is another.
	Replaces string `json:"replaces,omitempty"`
}

// Tuning is a table of what was found. The zero value tunes nothing.
type Tuning []Tuned

// Find gives the entry for an op in a class of shapes.
func (t Tuning) Find(o op.Op, class string, threads int) (Tuned, bool) {
	for _, e := range t {
		if class != "" && e.Op == o.Name() && e.DType == o.DType() && e.Class == class && e.Threads == threads {
			return e, true
		}
	}
	return Tuned{}, false
}

// ParamsFor gives a copy of the parameters for a kernel in that place; nil where there are none.
func (t Tuning) ParamsFor(o op.Op, class string, threads int, kernel string) map[string]int64 {
	if e, ok := t.Find(o, class, threads); ok && e.Kernel == kernel {
		return maps.Clone(e.Params)
	}
	return nil
}

// Caches are the data caches that one thread, or for the last level all threads together, may
// fill, in bytes; 0 is unknown.
type Caches struct{ L1, L2, LLC int64 }

// Axis is one parameter of a kernel with the values worth trying, ascending.
type Axis struct {
	Name   string
	Values []int64
}

// Space is what can be tried for a kernel on an op.
type Space struct {
	Class string // of shapes: what is found for one holds for all of them
	// Start lists the parameter sets to begin with; the kernel's defaults are not among them.
	Start []map[string]int64
	// Axes give the neighbours of a set: one parameter one value up or down.
	Axes []Axis
}

// Tuner is a Backend whose kernels have parameters that a search may set.
type Tuner interface {
	// Space says what can be tried; false where the kernel has no parameters or the shape does not
	// use them.
	Space(o op.Op, kernel string, caches Caches, threads int) (Space, bool)
}
