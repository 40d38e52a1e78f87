package runner

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Known keeps what is expected of a program between verifications by different kernels: the ways of a library compute one program, and of two
// linear layers in a row the float64 work takes longer than a kernel's launches. The same elements are compared of each.
type Known struct {
	program  string
	elements map[place]expectations
	rows     map[place][]op.Expectation // of Projector.Project
}

// place is an output on one kind of inputs.
type place struct {
	out     int
	integer bool
}

// expectations of elements, by index.
type expectations struct {
	idx []int64
	of  []op.Expectation
}

// mostKnown bounds what is kept of an output: of larger ones that are compared whole an element is cheap.
const mostKnown = 1 << 16

// of gives what is known of these elements; nil where they have to be computed. A nil Known knows nothing.
func (k *Known) of(at place, idx []int64) []op.Expectation {
	if k == nil {
		return nil
	}
	if e := k.elements[at]; len(idx) > 0 && slices.Equal(e.idx, idx) {
		return e.of
	}
	return nil
}

func (k *Known) keep(at place, idx []int64, of []op.Expectation) {
	if k == nil || len(idx) > mostKnown {
		return
	}
	if k.elements == nil {
		k.elements = map[place]expectations{}
	}
	k.elements[at] = expectations{idx, of}
}

// project is Projector.Project, once.
func (k *Known) project(at place, compute func() []op.Expectation) []op.Expectation {
	if k == nil {
		return compute()
	}
	if x, ok := k.rows[at]; ok {
		return x
	}
	x := compute()
	if len(x) <= mostKnown {
		if k.rows == nil {
			k.rows = map[place][]op.Expectation{}
		}
		k.rows[at] = x
	}
	return x
}

// mostPrograms are remembered: those of both arms of a comparison, and one before.
const mostPrograms = 3

// known is what was expected of a program before, for one seed. Expectations are told by the pattern or op, parameters, format and inputs: both arms of
// a comparison and a library's ways compute one thing. Where they allow for intermediates that are rounded, each arm has its own.
func (s *Server) known(ref record.ProgramRef, p op.Program) *Known {
	name := fmt.Sprint(ref.Pattern, "|", ref.Op, "|", ref.Params, "|", ref.DType, "|", inputsOf(p))
	if r, ok := p.Reference.(op.Rounder); ok && r.RoundsIntermediates() {
		arm, _, _ := strings.Cut(ref.Name, ":")
		name += "|" + arm
	}
	i := slices.IndexFunc(s.expected, func(k *Known) bool { return k.program == name })
	if i < 0 {
		s.expected = append([]*Known{{program: name}}, s.expected[:min(len(s.expected), mostPrograms-1)]...)
		return s.expected[0]
	}
	k := s.expected[i]
	s.expected = slices.Insert(slices.Delete(s.expected, i, i+1), 0, k)
	return k
}

// inputsOf names what the tensors of a program's reference are filled with: a tensor's number selects its random stream.
func inputsOf(p op.Program) string {
	var out []string
	for _, want := range p.Reference.Tensors() {
		i := slices.IndexFunc(p.Tensors, func(t op.Tensor) bool { return t.Name == want.Name })
		if i < 0 {
			out = append(out, want.Name)
			continue
		}
		t := p.Tensors[i]
		out = append(out, fmt.Sprint(i, t.DType, t.Dims, t.Fill, t.IntRange))
	}
	return strings.Join(out, ";")
}
