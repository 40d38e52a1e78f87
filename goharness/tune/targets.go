package tune

import (
	"fmt"
	"slices"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// shapes stand for the classes of a matrix product: one each for what block sizes depend on. Large
// enough that a launch is far above the timer, small enough for hundreds of comparisons in minutes:
// each verifies both of its arms first.
var shapes = []map[string]string{
	{"m": "1024", "n": "1024", "k": "1024"},
	{"m": "384", "n": "384", "k": "384"},
	{"m": "32", "n": "2048", "k": "2048"},
	{"m": "2048", "n": "64", "k": "2048"},
	{"m": "1024", "n": "1024", "k": "48"},
}

// shapesOfAccelerators stand for the classes of a device with hundreds of tensor cores: many rounds of tiles, a few, one, skinny, and a short k; B
// stored by columns as layers of networks have it, and by rows.
var shapesOfAccelerators = []map[string]string{
	{"m": "8192", "n": "8192", "k": "4096"},
	{"m": "2048", "n": "2048", "k": "4096"},
	{"m": "1024", "n": "1024", "k": "4096"},
	{"m": "64", "n": "8192", "k": "4096"},
	{"m": "4096", "n": "4096", "k": "256"},
	{"m": "8192", "n": "8192", "k": "4096", "tb": "1"},
	{"m": "2048", "n": "2048", "k": "4096", "tb": "1"},
	{"m": "1024", "n": "1024", "k": "4096", "tb": "1"},
}

// Ops that have parameters to search.
var Ops = []string{"gemm", "linear"}

// Targets lists the shapes to search for ops and precisions; a precision that an op does not
// have is an error when it has none of them. The shapes are those of the CPU, or of an accelerator.
func Targets(ops *op.Registry, names []string, dtypes []record.DType, accelerator bool) ([]Target, error) {
	var out []Target
	shapes := shapes
	if accelerator {
		shapes = shapesOfAccelerators
	}
	for _, name := range names {
		spec, ok := ops.Spec(name)
		if !ok || !slices.Contains(Ops, name) {
			return nil, fmt.Errorf("tune %q: expected some of %v", name, Ops)
		}
		found := false
		for _, d := range dtypes {
			if !slices.Contains(spec.DTypes, d) {
				continue
			}
			found = true
			for _, s := range shapes {
				if declares(spec, s) {
					out = append(out, Target{name, d, s})
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("tune %s: it has no precision of %v: expected some of %v", name, dtypes, spec.DTypes)
		}
	}
	return out, nil
}

// declares reports whether an op has all parameters of a shape.
func declares(spec op.Spec, shape map[string]string) bool {
	for name := range shape {
		if !slices.ContainsFunc(spec.Params, func(p op.ParamSpec) bool { return p.Name == name }) {
			return false
		}
	}
	return true
}

// Caches are the sizes that block sizes are computed from: L1 and L2 of one core, and of the last
// level what all threads of the CPUs reach. CPUs with caches of several sizes count by the
// smallest.
func Caches(h record.Host, llc int64) backend.Caches {
	c := backend.Caches{LLC: llc}
	for _, x := range h.CPU.Caches {
		if x.Type == "instruction" || x.SizeBytes == 0 {
			continue
		}
		least := func(to *int64) {
			if *to == 0 || x.SizeBytes < *to {
				*to = x.SizeBytes
			}
		}
		switch x.Level {
		case 1:
			least(&c.L1)
		case 2:
			least(&c.L2)
		}
	}
	return c
}
