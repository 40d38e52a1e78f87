package campaign

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// pilotsShown is what the pilots of libraries have shown in this run. Four patterns have one linear layer of a shape, four one convolution, and differ in the
// stages behind it, which are ridge's own kernels beside a library as they are without it: what the pilot of the first says of the layer holds for
// the others, whose pilots would measure the same difference again. A way of a library was then tried on stages, not on a pattern.
type pilotsShown struct {
	serves map[string]bool         // by way, op and dtype: whether the library computed such a stage
	pilots map[string]decision     // by the stages that any of the ways computed
	sweeps map[string][]sweptShape // by way, pattern and what else they hold for: see loses
}

// decision is the outcome of a pilot of libraries.
type decision struct {
	id    string // of the comparison
	way   string // chosen; "": ridge's own was not shown to be slower
	tried []record.BaselineCandidate
}

// learn notes which steps of a program a way of a library computed, none where it cannot compute the program.
func (s *pilotsShown) learn(way string, steps []op.Step, r record.Result) {
	if s.serves == nil {
		s.serves, s.pilots = map[string]bool{}, map[string]decision{}
	}
	if !r.Status.Counts() && r.Status != record.Unsupported {
		return // nothing is known of it
	}
	for i, st := range steps {
		served := r.Status.Counts() && len(r.Arms) == 2 && slices.Contains(r.Arms[1].LibrarySteps, i)
		s.serves[serving(way, st.Op)] = s.serves[serving(way, st.Op)] || served
	}
}

func serving(way string, o op.Op) string { return way + " " + o.Name() + " " + string(o.DType()) }

// stages names the steps that any of the ways computes; "" where there are none, or where no pilot has shown of one of the steps what a way makes of it.
func (s *pilotsShown) stages(ways []string, steps []op.Step) string {
	var out []string
	for _, st := range steps {
		served := false
		for _, w := range ways {
			does, known := s.serves[serving(w, st.Op)]
			if !known {
				return ""
			}
			served = served || does
		}
		if served {
			out = append(out, fmt.Sprint(st.Op.Name(), st.Op.Params(), st.Op.DType()))
		}
	}
	return strings.Join(out, "; ")
}

// piloting is a comparison in which libraries are to be tried.
type piloting struct {
	steps []op.Step
	ways  []string
	under string // what else a decision holds for
}

// piloting of a case by the libraries in use, with the kernels that are not set aside.
func (c *campaign) piloting(k record.Case, own record.ProgramRef) piloting {
	var p piloting
	for _, s := range c.sides {
		p.ways = append(p.ways, s.Unfused...)
	}
	if len(p.ways) == 0 {
		return p
	}
	ref := own
	ref.Library = p.ways[0]
	if x, err := fusion.Program(c.cfg.Plan.Fusion, ref); err == nil { // else the run says what is wrong with it
		p.steps = x.Steps
	}
	p.under = fmt.Sprint(k.Device, k.Threads, k.Mode, p.ways, len(c.runner.Quarantined()), strings.HasSuffix(own.Name, fusion.Packed)) // own's layers, which they are held against
	return p
}

// decided gives the decision that an earlier pilot of the same stages came to.
func (c *campaign) decided(p piloting) (decision, bool) {
	stages := c.tried.stages(p.ways, p.steps)
	d, ok := c.tried.pilots[p.under+stages]
	return d, ok && stages != ""
}

// decide keeps a decision for comparisons with the same stages.
func (c *campaign) decide(p piloting, d decision) {
	if stages := c.tried.stages(p.ways, p.steps); stages != "" {
		c.tried.pilots[p.under+stages] = d
	}
}

// again is the decision for another comparison: what was tried where, and the arm that was chosen.
func (d decision) again(own record.ProgramRef) (record.ProgramRef, []record.BaselineCandidate) {
	var tried []record.BaselineCandidate
	for _, x := range d.tried {
		x.Kernels, x.Libraries = nil, nil
		x.Reason = strings.TrimSuffix("tried in "+d.id+", of the same stages by the library: "+x.Reason, ": ")
		tried = append(tried, x)
	}
	if d.way == "" {
		return own, tried
	}
	return byLibrary(own, d.way), tried
}

// byLibrary is an unfused program computed a library's way.
func byLibrary(own record.ProgramRef, way string) record.ProgramRef {
	own.Name, own.Library = fusion.Unfused+":"+way, way
	return own
}
