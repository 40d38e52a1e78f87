// Package fusion holds the fusion patterns: pairs of programs over the same inputs, the chain of
// primitive ops and the fused kernel, with the shapes they are measured at, the verdict on each
// shape and the recommendation for the pattern. Adding a pattern is one file with one Pattern
// and its line in Builtin.
package fusion

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Names of the two arms of a case. A ratio is unfused over fused: the speed-up.
const (
	Unfused = "unfused"
	Fused   = "fused"
	// VendorFused is the fused program by a vendor library's own primitive.
	VendorFused = "vendor_fused"
)

// Pattern is one fusion: what is computed, how the two programs compute it, and where it is measured.
type Pattern struct {
	Name      string   // key of the profile, as REFERENCE 1.3 spells it: "Linear_Bias_ReLU"
	Group     string   // linear, conv, attention, elementwise or norm: what --patterns selects
	Doc       string   // the formula, one line
	Operators []string // the primitive ops, in order
	DTypes    []record.DType
	Params    []op.ParamSpec
	// Shapes in the order of their size, the seeds of REFERENCE 1.3 (the first two are quick's) marked.
	Shapes []Shape
	// Build makes the programs of one shape.
	Build func(v op.Values, d record.DType) (Pair, error)
	// Input is input_shape of the profile.
	Input func(v op.Values) []int64
	// Size orders shapes for the crossover: the parameter that grows, and its value.
	Size func(v op.Values) (name string, value int64)
	// GraphsBytes gives unfused and fused bytes by system C's own formula; nil where it is ours.
	GraphsBytes func(v op.Values, element int64) (unfused, fused int64)
}

// Shape is one set of parameters.
type Shape struct {
	Params map[string]string
	Quick  bool
	DTypes []record.DType // nil: those of the pattern
	// Grow, of the largest shape of a sweep that moves much memory for its arithmetic, is the parameter by which it grows beyond a large
	// last-level cache (see Grown); "": it does not.
	Grow string
}

// Pair is both ways to compute one shape. Programs have the same reference and inputs.
type Pair struct {
	// Unfused are the candidates for the baseline; their names tell them apart. Which one it
	// is, a pilot decides.
	Unfused []op.Program
	Fused   op.Program
}

// Builtin lists ridge's patterns: a new one adds one line.
func Builtin() []Pattern {
	return slices.Concat(linearPatterns(), swigluPatterns(), mlpPatterns(), requantizeLinearPatterns(), convPatterns(), requantizeConvPatterns(), attentionPatterns(), addPatterns())
}

// Groups are the values of --patterns beside all, none and the patterns' names.
func Groups(all []Pattern) []string {
	var out []string
	for _, p := range all {
		if !slices.Contains(out, p.Group) {
			out = append(out, p.Group)
		}
	}
	return out
}

// Select finds the patterns that a list of names and groups asks for, in the order of all.
func Select(all []Pattern, names []string) ([]Pattern, error) {
	var out []Pattern
	want := map[string]bool{}
	for _, n := range names {
		known := n == "all" || slices.Contains(Groups(all), n) || slices.ContainsFunc(all, func(p Pattern) bool { return p.Name == n })
		if !known {
			var list []string
			for _, p := range all {
				list = append(list, p.Name)
			}
			return nil, fmt.Errorf("unknown fusion pattern %q: expected all, a group (%s) or some of %s", n, strings.Join(Groups(all), ", "), strings.Join(list, ", "))
		}
		want[n] = true
	}
	for _, p := range all {
		if want["all"] || want[p.Group] || want[p.Name] {
			out = append(out, p)
		}
	}
	return out, nil
}

// Specs declares the patterns as ops, so that their parameters are checked and their cases named
// as every op's are. The op is the reference of both programs.
func Specs(all []Pattern) *op.Registry {
	var specs []op.Spec
	for _, p := range all {
		specs = append(specs, p.spec(nil))
	}
	return op.NewRegistry(specs...)
}

// spec declares the pattern; seen hears the values of an op that is made.
func (p Pattern) spec(seen func(op.Values, Pair)) op.Spec {
	return op.Spec{
		Name: p.Name, Family: "fusion", Suite: "fusion", Doc: p.Doc, Item: "execution", Metric: "gflops", Params: p.Params, DTypes: p.DTypes,
		Candidates: p.candidates,
		New: func(v op.Values, d record.DType) (op.Op, error) {
			pair, err := p.Build(v, d)
			if err != nil {
				return nil, err
			}
			if seen != nil {
				seen(v, pair)
			}
			return pair.Fused.Reference, nil
		},
	}
}

// pair checks a shape's parameters and makes its programs.
func (p Pattern) pair(params map[string]string, d record.DType) (v op.Values, pair Pair, err error) {
	_, err = op.NewRegistry(p.spec(func(x op.Values, y Pair) { v, pair = x, y })).New(p.Name, params, d)
	return v, pair, err
}

// candidates are the names of a shape's unfused programs.
func (p Pattern) candidates(params map[string]string, d record.DType) ([]string, error) {
	_, pair, err := p.pair(params, d)
	var out []string
	for _, u := range pair.Unfused {
		out = append(out, u.Name)
	}
	return out, err
}

// find gives the pattern of a name.
func find(all []Pattern, name string) (Pattern, bool) {
	i := slices.IndexFunc(all, func(p Pattern) bool { return p.Name == name })
	if i < 0 {
		return Pattern{}, false
	}
	return all[i], true
}

// Program resolves an arm: ref.Pattern names the pattern, ref.Name the arm ("fused", "unfused"
// or "unfused:CANDIDATE", and their packed forms, see Packed; "" is the reference, as the fused program). A vendor library (ref.Library)
// computes the last candidate, with the elementwise stages in place where they can be, or the fused program.
func Program(all []Pattern, ref record.ProgramRef) (op.Program, error) {
	p, ok := find(all, ref.Pattern)
	if !ok {
		return op.Program{}, fmt.Errorf("unknown fusion pattern %q", ref.Pattern)
	}
	_, pair, err := p.pair(ref.Params, ref.DType)
	if err != nil {
		return op.Program{}, err
	}
	if out, ok := pair.arm(ref.Name, ref.Library != ""); ok {
		return out, nil
	}
	return op.Program{}, fmt.Errorf("pattern %s has no arm %q", p.Name, ref.Name)
}

// arm is the program of a name, as Program has it; library: a vendor library computes it.
func (p Pair) arm(name string, library bool) (found op.Program, ok bool) {
	arm, candidate, _ := strings.Cut(name, ":")
	if arm == "" || arm == VendorFused {
		return p.Fused, true
	}
	if arm == Unfused && library && len(p.Unfused) > 0 {
		return p.Unfused[len(p.Unfused)-1], true
	}
	of, isPacked := strings.CutSuffix(candidate, Packed)
	of = strings.TrimSpace(of)
	switch arm {
	case Fused:
		found, ok = p.Fused, of == ""
	case Unfused:
		i := slices.IndexFunc(p.Unfused, func(u op.Program) bool { return of == "" || u.Name == of })
		if ok = i >= 0; ok {
			found = p.Unfused[i]
		}
	}
	if ok && isPacked {
		return packed(found)
	}
	return found, ok
}
