// Package op says what is computed: for every operation its parameters, tensors, FLOP,
// bytes, inputs as a pure function of (seed, tensor, index), and the expected value of any
// output element with the magnitude that bounds its rounding error. It knows no device.
package op

import (
	"slices"

	"ridge/goharness/record"
)

// Role of a tensor in an op.
type Role int

// Tensor roles.
const (
	In Role = iota
	Out
	Scratch // an intermediate of a program, written and read by its steps
	// Derived: an input that no fill kernel makes: element i is Tensor.Derive of the other
	// inputs, computed on the host before timing (weights with a batch norm folded in).
	Derived
	// Latent: an input of the reference that no step reads, because tensors derived from it
	// take its place. It has a random stream and no memory.
	Latent
)

// Input reports whether steps read the tensor and never write it.
func (r Role) Input() bool { return r == In || r == Derived }

// Fill is the distribution of an input tensor in random mode. In integer mode every kind
// becomes small integers (see Inputs.At).
type Fill int

// Fill kinds. The numeric values are shared with native/include/ridge_fill.h.
const (
	FillUniform  Fill = 0 // uniform in [-1, 1), 2^24 steps, then rounded to the dtype
	FillPositive Fill = 1 // uniform in [0.5, 1.5): variances, scales
	FillBytes    Fill = 2 // int8: all of [-128, 127]; uint8: all of [0, 255]
	FillChase    Fill = 3 // int64: one random cycle through all cache lines (pointer chase)
	FillWide     Fill = 4 // uniform in [-8, 8): arguments of exp, tanh, sigmoid, sin, ...
	FillBalanced Fill = 5 // as FillUniform; in integer mode numbers that are never 0 and sum to 0 (see balanced)
	// FillScales: uniform in [0.5, 1.5)·2^-IntRange; in integer mode 1/2, 1/4 or 1/8, so that the
	// scaled integers are exact and often halfway between two.
	FillScales Fill = 6
	// FillWeights: FillUniform times 2^-IntRange, as layers are initialised, so that what follows a long product has arguments of its own size;
	// in integer mode as FillUniform.
	FillWeights Fill = 7
)

// Tensor describes one operand. Logical elements are numbered row-major over Dims.
// In memory the rows (all dims but the last) are Pitch elements apart.
type Tensor struct {
	Name  string
	Role  Role
	DType record.DType
	Dims  []int64
	Pitch int64 // elements between rows; 0 means Dims[len-1]
	Fill  Fill
	// Host: on a device with memory of its own it lies in page-locked memory of the host.
	Host bool
	// IntRange r: integer mode draws from {-r..r} ({0..r} for uint8; of FillBalanced the odd
	// ones); 0 means 3. FillScales, FillWeights: the exponent, 0 to 126.
	IntRange int64
	// Seen lists, by dimension, the indices that the op reads, where it leaves some out: pixels between the windows of a convolution. nil: all.
	Seen [][]int64
	// Derive gives element i of a Derived tensor from the program's inputs, bound in the order
	// of DeriveFrom; the value is rounded once to the dtype.
	Derive     func(in *Inputs, i int64) float64
	DeriveFrom []string
}

// Elements is the number of logical elements.
func (t Tensor) Elements() int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Row is the length of the contiguous last dimension and Rows how many there are.
func (t Tensor) Row() int64 {
	if len(t.Dims) == 0 {
		return 1
	}
	return t.Dims[len(t.Dims)-1]
}

// Rows is the number of rows: the product of all dims but the last, none where rows have no elements.
func (t Tensor) Rows() int64 {
	n := int64(1)
	if t.Row() == 0 {
		return 0
	}
	for _, d := range t.Dims[:max(0, len(t.Dims)-1)] {
		n *= d
	}
	return n
}

// LD is the effective pitch in elements.
func (t Tensor) LD() int64 {
	if t.Pitch > 0 {
		return t.Pitch
	}
	return t.Row()
}

// Storage is the number of elements allocated, padding included.
func (t Tensor) Storage() int64 {
	if t.Rows() == 0 {
		return 0
	}
	return (t.Rows()-1)*t.LD() + t.Row()
}

// StorageBytes is Storage in bytes.
func (t Tensor) StorageBytes() int64 { return t.Storage() * t.DType.Size() }

// Offset is the storage offset in elements of logical element i.
func (t Tensor) Offset(i int64) int64 {
	r := t.Row()
	return i/r*t.LD() + i%r
}

// Coordinates turns a logical index into one index per dimension.
func (t Tensor) Coordinates(i int64) []int64 {
	c := make([]int64, len(t.Dims))
	for d := len(t.Dims) - 1; d >= 0; d-- {
		if t.Dims[d] > 0 {
			c[d] = i % t.Dims[d]
			i /= t.Dims[d]
		}
	}
	return c
}

// Expectation of one output element. A kernel's value v is right when
//
//	|v − Value| ≤ c·u(acc)·Magnitude + r·u(dtype)·Rounded + max(u(out)·|Value|, floor(out)) + Tiny
//
// with c the kernel's declared constant, r that of a kernel which rounds an operand that it computed itself or adds fp8 products up on tensor cores (cutoff.go; 0 for all others), u(acc) the unit roundoff of its accumulator and
// u(out) that of the output's dtype, floor(out) half the step of its subnormals. For a dot product Magnitude is Σ|a||b|; for a
// function f it is |f(x)| plus |x·f'(x)| where the argument is computed.
type Expectation struct {
	Value     float64
	Magnitude float64
	Rounded   float64 // the change of Value, in units of a computed operand's roundoff or of what tensor cores cut off, as the root of the sum of squares
	Tiny      float64 // absolute slack, for flush-to-zero of denormals and for operands that lie halfway between two tf32; usually 0
}

// Op is one operation with all its parameters fixed.
type Op interface {
	// Name is the registered name: "gemm", "relu", "stream_triad".
	Name() string
	// Params in declared order, defaults included.
	Params() []record.Param
	DType() record.DType
	// Accumulate is the accumulator's format that expectations assume.
	Accumulate() record.DType
	// Tensors in the order that kernels bind them: inputs first, then outputs.
	Tensors() []Tensor
	// FLOPs of one execution (integer operations count the same way).
	FLOPs() int64
	// Bytes that must move: every input read once, every output written once, unless the
	// op's formula in REFERENCE says otherwise.
	Bytes() int64
	// Items processed by one execution (images, tokens, elements; see Spec.Item).
	Items() int64
	// Expect gives element i (logical index) of tensor number out, recomputing from in just
	// the inputs it needs, in float64.
	Expect(in *Inputs, out int, i int64) Expectation
	// IntegerExact reports whether the result on the small-integer fill is exact in every
	// order of summation and so compared bit for bit; the reason is given when not.
	IntegerExact() (bool, string)
}

// Projector is implemented by ops whose whole output can be checked in less work than
// computing it (Freivalds): for a random ±1 vector x, out·x is compared with the
// expectation built from the inputs.
type Projector interface {
	// Project returns for every row of output tensor out the expected Σ_j row[j]·x[j] with
	// its magnitude. x has the row's length.
	Project(in *Inputs, out int, x []float64) []Expectation
}

// Coster is implemented by ops whose Expect costs more than FLOPs() divided by the output's
// elements, because every element goes over a whole row again (softmax, norms). The verifier
// compares fewer elements of such outputs.
type Coster interface {
	// ExpectCost is the multiply-adds (or input values) that one Expect takes, roughly.
	ExpectCost() int64
}

// Rounder is implemented by references of which a program may be allowed more than another is, for the intermediates that it stores.
type Rounder interface {
	// RoundsIntermediates reports whether the expectations are of such a program alone.
	RoundsIntermediates() bool
}

// Sparer is implemented by ops that count arithmetic which no algorithm must do: taps in the padding of a convolution.
type Sparer interface {
	// LeastFLOPs is what remains of FLOPs without it.
	LeastFLOPs() int64
}

// LeastFLOPs of one execution of o, whatever the algorithm (but see KernelInfo.FLOPShare): ceilings are held against it.
func LeastFLOPs(o Op) int64 {
	if s, ok := o.(Sparer); ok {
		return s.LeastFLOPs()
	}
	return o.FLOPs()
}

// Packer is an op whose constant operands (weights) may be packed beforehand (its parameter packed): once after the inputs are
// written, outside every timed window, into an order that the kernel chooses. It reads only that copy.
type Packer interface {
	// PackedOperands names the tensors; none where nothing is packed beforehand.
	PackedOperands() []string
}

// PackedOperands names the tensors of o that are packed beforehand.
func PackedOperands(o Op) []string {
	if p, ok := o.(Packer); ok {
		return p.PackedOperands()
	}
	return nil
}

// PackedOperandBytes are those of the operands of o that are packed beforehand, as they lie.
func PackedOperandBytes(o Op) (sum int64) {
	packed := PackedOperands(o)
	for _, t := range o.Tensors() {
		if slices.Contains(packed, t.Name) {
			sum += t.Bytes()
		}
	}
	return sum
}

// WithPacked is a layer with its weights packed beforehand; ok is false for ops that have no weights or no such form. The B of a gemm may be
// anything.
func WithPacked(o Op) (packed Op, ok bool) {
	if _, is := o.(Packer); !is || o.Name() == "gemm" {
		return nil, false
	}
	params := map[string]string{}
	for _, x := range o.Params() {
		params[x.Name] = x.Value
	}
	params["packed"] = "1"
	packed, err := Builtin().New(o.Name(), params, o.DType())
	return packed, err == nil
}

// Step is one op of a program; Bind names the program's tensor for each op tensor.
type Step struct {
	Op   Op
	Bind []string
}

// Program is an ordered list of steps over named tensors. Reference gives the expected
// values of the program's outputs: its tensors with role Out must be tensors of the
// program under the same names.
type Program struct {
	Name      string
	Tensors   []Tensor // all tensors, inputs, scratch and outputs, by unique Name
	Steps     []Step
	Reference Op
}

// Single is the program of one step.
func Single(o Op) Program {
	ts := o.Tensors()
	bind := make([]string, len(ts))
	for i, t := range ts {
		bind[i] = t.Name
	}
	return Program{Name: o.Name(), Tensors: ts, Steps: []Step{{Op: o, Bind: bind}}, Reference: o}
}

// FLOPs of all steps.
func (p Program) FLOPs() int64 {
	var n int64
	for _, s := range p.Steps {
		n += s.Op.FLOPs()
	}
	return n
}

// Bytes of all steps.
func (p Program) Bytes() int64 {
	var n int64
	for _, s := range p.Steps {
		n += s.Op.Bytes()
	}
	return n
}

// StorageBytes is the bytes of all tensors that have memory: what one buffer set takes.
func (p Program) StorageBytes() int64 {
	var n int64
	for _, t := range p.Tensors {
		if t.Role != Latent {
			n += t.StorageBytes()
		}
	}
	return n
}

// WorkingSet is the bytes that a launch touches and caches hold afterwards: of each tensor what the step that touches most of it does.
func (p Program) WorkingSet() int64 {
	touched := map[string]int64{}
	for _, s := range p.Steps {
		for i, t := range s.Op.Tensors() {
			if t.Role != Latent {
				touched[s.Bind[i]] = max(touched[s.Bind[i]], t.TouchedBytes())
			}
		}
	}
	var n int64
	for _, bytes := range touched {
		n += bytes
	}
	return n
}

// Tensor finds a tensor of the program by name.
func (p Program) Tensor(name string) (Tensor, bool) {
	for _, t := range p.Tensors {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
}
