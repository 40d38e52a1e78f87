package fusion

import (
	"slices"
	"strings"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Packed marks the form of a program whose layers have their weights packed beforehand, outside every timed window, as the constants of
// a model can be: "unfused:in place packed" and "fused:packed". Every way of a library that keeps weights in its own order does that.
const Packed = record.FormPacked

// PackedForm is the reference to the packed form of one of ridge's own programs; ok is false where it has none.
func PackedForm(all []Pattern, ref record.ProgramRef) (form record.ProgramRef, ok bool, err error) {
	form = ref
	arm, candidate, _ := strings.Cut(ref.Name, ":")
	form.Name = arm + ":" + strings.TrimSpace(candidate+" "+Packed)
	p, err := Program(all, ref)
	if err != nil {
		return form, false, err
	}
	_, ok = packed(p)
	return form, ok, nil
}

// packed is a program with the weights of its layers packed beforehand.
func packed(p op.Program) (_ op.Program, ok bool) {
	p.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if o, has := op.WithPacked(s.Op); has {
			p.Steps[i].Op, ok = o, true
		}
	}
	p.Name = strings.TrimSpace(p.Name + " " + Packed)
	return p, ok
}
