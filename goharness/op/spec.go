package op

import (
	"fmt"
	"math"
	"math/bits"
	"sort"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// ParamSpec declares one parameter. Integer parameters have a range, enumerations a list.
type ParamSpec struct {
	Name    string
	Doc     string
	Default string   // "" means the caller must give it
	Enum    []string // non-empty: an enumeration
	Min     int64
	Max     int64
}

// Spec declares an op: one of these is the registry line of a new op.
type Spec struct {
	Name   string
	Family string // gemm, conv, attention, elementwise, reduction, memory, probe
	Suite  string // the row group of tables and summaries
	Doc    string
	Item   string // what one item is, for throughput
	Metric string // "gflops", "gbps" or "ns": the figure a table shows
	Params []ParamSpec
	DTypes []record.DType
	// Batch is the parameter that --batch sets, or "".
	Batch string
	// Candidates, of a fusion pattern, names the programs that may be the baseline of a shape: its
	// cases compare two arms. Nil for ops.
	Candidates func(params map[string]string, d record.DType) ([]string, error)
	// New builds the op from complete, range-checked values.
	New func(v Values, d record.DType) (Op, error)
}

// Values are a spec's parameters, complete and in declared order.
type Values struct{ params []record.Param }

// Int returns an integer parameter.
func (v Values) Int(name string) int64 {
	n, _ := strconv.ParseInt(v.Str(name), 10, 64)
	return n
}

// Str returns a parameter as text.
func (v Values) Str(name string) string {
	for _, p := range v.params {
		if p.Name == name {
			return p.Value
		}
	}
	panic("op: undeclared parameter " + name)
}

// Bool returns a 0/1 parameter.
func (v Values) Bool(name string) bool { return v.Str(name) == "1" }

// List returns the parameters in declared order.
func (v Values) List() []record.Param { return append([]record.Param(nil), v.params...) }

// Registry finds ops by name. The zero value is empty; Builtin holds ridge's own.
type Registry struct{ specs []Spec }

// NewRegistry makes a registry of the given specs.
func NewRegistry(specs ...Spec) *Registry { return (&Registry{}).With(specs...) }

// With returns a registry that also holds the given specs.
func (r *Registry) With(specs ...Spec) *Registry {
	return &Registry{specs: append(append([]Spec(nil), r.specs...), specs...)}
}

// Specs lists the registered ops in registration order.
func (r *Registry) Specs() []Spec { return r.specs }

// Spec finds an op's declaration.
func (r *Registry) Spec(name string) (Spec, bool) {
	for _, s := range r.specs {
		if s.Name == name {
			return s, true
		}
	}
	return Spec{}, false
}

// New builds an op. Unknown names, missing or out-of-range parameters, dtypes the op does
// not have and sizes that overflow are errors that name what was expected.
func (r *Registry) New(name string, params map[string]string, d record.DType) (Op, error) {
	s, ok := r.Spec(name)
	if !ok {
		return nil, fmt.Errorf("unknown op %q: expected one of %s", name, strings.Join(r.names(), ", "))
	}
	if !s.has(d) {
		return nil, fmt.Errorf("op %s has no precision %q: expected one of %s", name, d, joinDTypes(s.DTypes))
	}
	var v Values
	left := map[string]bool{}
	for k := range params {
		left[k] = true
	}
	for _, p := range s.Params {
		val, given := params[p.Name]
		delete(left, p.Name)
		if !given {
			if p.Default == "" {
				return nil, fmt.Errorf("op %s: parameter %s is missing (%s)", name, p.Name, p.Doc)
			}
			val = p.Default
		}
		norm, err := p.check(val)
		if err != nil {
			return nil, fmt.Errorf("op %s: %w", name, err)
		}
		v.params = append(v.params, record.Param{Name: p.Name, Value: norm})
	}
	for k := range left {
		return nil, fmt.Errorf("op %s has no parameter %q: expected %s", name, k, s.paramNames())
	}
	o, err := s.New(v, d)
	if err != nil {
		return nil, fmt.Errorf("op %s: %w", name, err)
	}
	if err := checkSizes(o); err != nil {
		return nil, fmt.Errorf("op %s: %w", name, err)
	}
	return o, nil
}

func (s Spec) has(d record.DType) bool {
	for _, x := range s.DTypes {
		if x == d {
			return true
		}
	}
	return false
}

func (s Spec) paramNames() string {
	var n []string
	for _, p := range s.Params {
		n = append(n, p.Name)
	}
	return strings.Join(n, ", ")
}

func (r *Registry) names() []string {
	var n []string
	for _, s := range r.specs {
		n = append(n, s.Name)
	}
	sort.Strings(n)
	return n
}

func (p ParamSpec) check(val string) (string, error) {
	if len(p.Enum) > 0 {
		for _, e := range p.Enum {
			if e == val {
				return val, nil
			}
		}
		return "", fmt.Errorf("parameter %s=%q: expected one of %s", p.Name, val, strings.Join(p.Enum, ", "))
	}
	n, err := strconv.ParseInt(val, 10, 64)
	if err != nil {
		return "", fmt.Errorf("parameter %s=%q: expected a whole number", p.Name, val)
	}
	if n < p.Min || n > p.Max {
		return "", fmt.Errorf("parameter %s=%d: expected %d to %d", p.Name, n, p.Min, p.Max)
	}
	return strconv.FormatInt(n, 10), nil
}

func joinDTypes(ds []record.DType) string {
	var n []string
	for _, d := range ds {
		n = append(n, string(d))
	}
	return strings.Join(n, ", ")
}

// Product multiplies non-negative sizes and saturates at MaxInt64, which the registry
// refuses: no size computation in an op wraps around.
func Product(f ...int64) int64 {
	n := uint64(1)
	for _, x := range f {
		if x <= 0 {
			return 0
		}
	}
	for _, x := range f {
		hi, lo := bits.Mul64(n, uint64(x))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		n = lo
	}
	return int64(n)
}

// checkSizes refuses ops whose tensors, FLOP or bytes do not fit int64.
func checkSizes(o Op) error {
	var total int64
	for _, t := range o.Tensors() {
		for _, d := range t.Dims {
			if d < 0 {
				return fmt.Errorf("tensor %s has a negative dimension %d", t.Name, d)
			}
		}
		if t.Pitch != 0 && t.Pitch < t.Row() {
			return fmt.Errorf("tensor %s: row pitch %d is less than its row of %d", t.Name, t.Pitch, t.Row())
		}
		dims := append([]int64{t.DType.Size(), t.LD()}, t.Dims[:max(0, len(t.Dims)-1)]...)
		b := Product(dims...)
		if b == math.MaxInt64 || total > math.MaxInt64-b {
			return fmt.Errorf("tensor %s of %v: the bytes overflow 64 bits", t.Name, t.Dims)
		}
		total += b
	}
	if o.FLOPs() < 0 || o.FLOPs() == math.MaxInt64 {
		return fmt.Errorf("the FLOP count overflows 64 bits")
	}
	if o.Bytes() < 0 || o.Bytes() == math.MaxInt64 {
		return fmt.Errorf("the byte count overflows 64 bits")
	}
	return nil
}
