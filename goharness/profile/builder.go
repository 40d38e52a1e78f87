package profile

import (
	"fmt"
	"math"
	"slices"

	pprof "github.com/google/pprof/profile"
)

// fits refuses values that add up to more than 64 bits hold, as those of a document from elsewhere may: pprof and
// our tables would show negative totals.
func fits(p *pprof.Profile) error {
	for i, t := range p.SampleType {
		sum := int64(0)
		for _, s := range p.Sample {
			v := abs(s.Value[i])
			if v < 0 || v >= math.MaxInt64-sum {
				return fmt.Errorf("%s adds up to more than %d %s: expected what a run can measure", t.Type, int64(math.MaxInt64-1), t.Unit)
			}
			sum += v
		}
	}
	return nil
}

// frame is one level of a stack without an address.
type frame struct {
	name, file string
	line       int64
}

// builder hands out functions and locations by first use, so that equal inputs give equal files.
type builder struct {
	p         *pprof.Profile
	measured  bool // counters saw the traffic of some launches
	locate    func(kernel string) (Source, bool)
	ticks     func(id, arm string) Ticks // nil: nothing is known of phases
	locations map[frame]*pprof.Location
	functions map[frame]*pprof.Function // by name, file and first line
}

func newBuilder(locate func(string) (Source, bool)) *builder {
	return &builder{p: &pprof.Profile{}, locate: locate, locations: map[frame]*pprof.Location{}, functions: map[frame]*pprof.Function{}}
}

// function with the line that it starts at.
func (b *builder) function(name, system, file string, start int64) *pprof.Function {
	key := frame{name, file, start}
	f := b.functions[key]
	if f == nil {
		f = &pprof.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: system, Filename: file, StartLine: start}
		b.functions[key] = f
		b.p.Function = append(b.p.Function, f)
	}
	return f
}

func (b *builder) location(f frame) *pprof.Location {
	l := b.locations[f]
	if l == nil {
		l = &pprof.Location{ID: uint64(len(b.p.Location) + 1), Line: []pprof.Line{{Function: b.function(f.name, f.name, f.file, f.line), Line: f.line}}}
		b.locations[f] = l
		b.p.Location = append(b.p.Location, l)
	}
	return l
}

// stack gives the locations of frames from the outermost on, in pprof's order: the innermost first.
func (b *builder) stack(parts ...[]frame) []*pprof.Location {
	var out []*pprof.Location
	for _, frames := range parts {
		for _, f := range frames {
			out = append(out, b.location(f))
		}
	}
	slices.Reverse(out)
	return out
}
