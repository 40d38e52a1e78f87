package fusion

import "ridge/goharness/op"

// unfused makes a candidate out of steps that name their tensors: what a step writes and the reference does not have is a
// buffer. Where a step writes what it reads, the buffer is used in place.
func unfused(name string, ref *expected, steps ...op.Step) op.Program {
	p := op.Program{Name: name, Tensors: ref.Op.Tensors(), Steps: steps, Reference: ref}
	for _, s := range steps {
		to := s.Bind[len(s.Bind)-1]
		if _, ok := p.Tensor(to); !ok {
			y := s.Op.Tensors()[len(s.Bind)-1]
			y.Name, y.Role = to, op.Scratch
			p.Tensors = append(p.Tensors, y)
		}
	}
	return p
}

func step(o op.Op, bind ...string) op.Step { return op.Step{Op: o, Bind: bind} }
