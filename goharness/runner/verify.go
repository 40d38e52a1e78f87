// Package runner turns a case into a result: allocate, fill, verify, warm up, measure. It
// also holds the worker process that owns the device, its deadlines, and the quarantine of
// kernels that failed.
package runner

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Effort bounds the float64 work of a verification.
type Effort struct {
	// AllBelow: outputs whose expectations cost at most this many multiply-adds in all are
	// compared whole.
	AllBelow int64
	// Samples compared otherwise; at least 1,024.
	Samples int
	// Once leaves out the integers and the second run with other poison: for a program that is verified in full before it counts.
	Once bool
	// Known is what was expected of this program on the same seed before; nil: nothing is kept.
	Known *Known
}

// DefaultEffort compares small outputs whole and 1,024 random elements of large ones.
var DefaultEffort = Effort{AllBelow: 1 << 21, Samples: 1024}

// Verify checks a prepared program against the float64 expectation of its reference op:
// integer inputs bit for bit where that is exact, random inputs within the bound, every
// output element written, padding and the guards of every tensor untouched, inputs as they
// were, and a second run with the same bits. The executable is left filled with random inputs. An error means that the check
// could not be made; a wrong kernel gives Passed = false with the first mismatch.
func Verify(ctx context.Context, e backend.Executable, p op.Program, seed uint64, effort Effort) (record.Verification, error) {
	v := verifier{ctx: ctx, e: e, p: p, seed: seed, effort: effort}
	v.effort.Samples = max(v.effort.Samples, 1024)
	v.out.BoundC = 0
	exact := true
	why := ""
	for _, k := range e.Kernels() {
		v.out.BoundC = max(v.out.BoundC, k.BoundC)
		v.rounded = max(v.rounded, k.RoundedC*k.DType.Unit())
		v.out.RoundedC = max(v.out.RoundedC, k.RoundedC)
		v.acc = wider(v.acc, k.Accumulate)
		if !k.IntExact {
			exact, why = false, "kernel "+k.Name+" is not exact on integers"
		}
	}
	if ok, reason := p.Reference.IntegerExact(); !ok {
		exact, why = false, reason
	}
	if effort.Once {
		exact, why = false, "not done: random inputs alone, once"
	}
	v.out.IntegerTest = why
	if exact {
		v.out.IntegerTest = "exact"
		if err := v.phase("integer", true); err != nil || v.out.Mismatch != nil {
			return v.out, err
		}
	}
	if err := v.phase("random", false); err != nil || v.out.Mismatch != nil {
		return v.out, err
	}
	if v.out.Passed = true; !effort.Once { // of one run nobody can tell them
		v.out.WrittenBytes = v.written
	}
	return v.out, nil
}

// wider picks the accumulator with the larger rounding unit: a program is as accurate as
// its coarsest step.
func wider(a, b record.DType) record.DType {
	if a == "" || b.Unit() > a.Unit() {
		return b
	}
	return a
}

type verifier struct {
	ctx     context.Context
	e       backend.Executable
	p       op.Program
	seed    uint64
	effort  Effort
	acc     record.DType
	rounded float64 // bound for one op.Expectation.Rounded
	count   bool    // the runs are those that written is of
	written int64
	out     record.Verification
}

// phase runs the program on one kind of input; on random ones twice, with two poisons.
func (v *verifier) phase(name string, integer bool) error {
	v.count = !integer
	if err := v.e.Fill(integer, 0); err != nil {
		return fmt.Errorf("verify %s: fill: %w", v.p.Name, err)
	}
	seed := maphash.MakeSeed()
	before, err := v.inputs(seed)
	if err != nil {
		return err
	}
	if err := v.e.Run(1); err != nil {
		return fmt.Errorf("verify %s: %w", v.p.Name, err)
	}
	in := op.NewInputs(v.seed, integer, v.p.Tensors)
	var names []string
	for _, t := range v.p.Reference.Tensors() {
		names = append(names, t.Name)
	}
	in = in.Bind(names)
	sums := map[string]uint64{}
	for n, t := range v.p.Reference.Tensors() {
		if t.Role != op.Out {
			continue
		}
		if err := v.compare(name, in, n, t, integer); err != nil || v.out.Mismatch != nil {
			return err
		}
		if integer {
			continue
		}
		sum, err := v.hash(seed, t)
		if err != nil {
			return err
		}
		sums[t.Name] = sum
	}
	if err := v.untouched(seed, before, 0); err != nil || v.out.Mismatch != nil {
		return err
	}
	if integer || v.effort.Once {
		return nil // the random phase that follows repeats the same code
	}
	// A second run over the other poison must give the same bits: an element that no thread
	// wrote differs, and so does a reduction whose order depends on timing.
	if err := v.e.Poison(1); err != nil {
		return fmt.Errorf("verify %s: poison: %w", v.p.Name, err)
	}
	if err := v.e.Run(1); err != nil {
		return fmt.Errorf("verify %s: second run: %w", v.p.Name, err)
	}
	for _, t := range v.p.Reference.Tensors() {
		if t.Role != op.Out {
			continue
		}
		sum, err := v.hash(seed, t)
		if err != nil {
			return err
		}
		if sum != sums[t.Name] {
			v.out.Mismatch = &record.Mismatch{Tensor: t.Name, Phase: "repeat", Got: "other bits in the second run",
				Want: "the same bits: an element is not written, or the order of a sum varies"}
			return nil
		}
	}
	if err := v.untouched(seed, before, 1); err != nil || v.out.Mismatch != nil {
		return err
	}
	v.out.Repeatable = true
	return nil
}

// hashInputsBelow bounds the inputs whose content is hashed before and after a run; of
// larger ones the guards alone are.
const hashInputsBelow = 64 << 20

// inputs hashes what a kernel must leave alone: of each input the guards, apart from its
// storage with its row padding.
func (v *verifier) inputs(seed maphash.Seed) (map[string][2]uint64, error) {
	sums := map[string][2]uint64{}
	for _, t := range v.p.Tensors {
		if !t.Role.Input() {
			continue
		}
		mem, before, after, err := v.input(t)
		if err != nil {
			return nil, fmt.Errorf("verify %s: read %s: %w", v.p.Name, t.Name, err)
		}
		var guards, content maphash.Hash
		guards.SetSeed(seed)
		content.SetSeed(seed)
		_, _ = guards.Write(before)
		_, _ = guards.Write(after)
		_, _ = content.Write(mem)
		sums[t.Name] = [2]uint64{guards.Sum64(), content.Sum64()}
	}
	return sums, nil
}

// input reads an input's guards, and its storage where that is hashed: gigabytes of a device are not copied for the former.
func (v *verifier) input(t op.Tensor) (mem, before, after []byte, err error) {
	if r, ok := v.e.(backend.GuardReader); ok && t.StorageBytes() > hashInputsBelow {
		before, after, err = r.ReadGuards(t.Name)
		return nil, before, after, err
	}
	if mem, before, after, err = v.e.ReadRaw(t.Name); len(mem) > hashInputsBelow {
		mem = nil
	}
	return mem, before, after, err
}

// untouched checks, after a run over a poison, the inputs against their hashes from before,
// and the padding and guards of all other tensors of the program, scratch included.
func (v *verifier) untouched(seed maphash.Seed, before map[string][2]uint64, poison int) error {
	now, err := v.inputs(seed)
	if err != nil {
		return err
	}
	for _, t := range v.p.Tensors {
		if t.Role == op.Latent {
			continue
		}
		if !t.Role.Input() {
			if err := v.padding(t, poison); err != nil || v.out.Mismatch != nil {
				return err
			}
			continue
		}
		for i, m := range []record.Mismatch{
			{Tensor: t.Name, Phase: "padding", Got: "changed bytes before the first or after the last element", Want: "untouched poison"},
			{Tensor: t.Name, Phase: "input", Got: "an input that the kernel changed", Want: "the same bits as before the run"},
		} {
			if now[t.Name][i] != before[t.Name][i] {
				v.out.Mismatch = &m
				return nil
			}
		}
	}
	return nil
}

// hash covers the logical elements of a tensor.
func (v *verifier) hash(seed maphash.Seed, t op.Tensor) (uint64, error) {
	mem, _, _, err := v.e.ReadRaw(t.Name)
	if err != nil {
		return 0, fmt.Errorf("verify %s: read %s: %w", v.p.Name, t.Name, err)
	}
	var h maphash.Hash
	h.SetSeed(seed)
	size := t.DType.Size()
	if t.LD() == t.Row() {
		_, _ = h.Write(mem)
		return h.Sum64(), nil
	}
	for r := int64(0); r < t.Rows(); r++ {
		at := r * t.LD() * size
		_, _ = h.Write(mem[at : at+t.Row()*size])
	}
	return h.Sum64(), nil
}

// padding checks that row padding and guards still hold the poison.
func (v *verifier) padding(t op.Tensor, poison int) error {
	mem, before, after, err := v.e.ReadRaw(t.Name)
	if err != nil {
		return fmt.Errorf("verify %s: read %s: %w", v.p.Name, t.Name, err)
	}
	bad := func(where string) {
		v.out.Mismatch = &record.Mismatch{Tensor: t.Name, Phase: "padding", Got: "changed " + where, Want: "untouched poison"}
	}
	same := func(b []byte) bool {
		for _, x := range b {
			if x != before[0] {
				return false
			}
		}
		return true
	}
	want := poisonBytes[poison]
	if len(before) == 0 || before[0] != want || !same(before) {
		bad("bytes before the first element")
		return nil
	}
	if !same(after) {
		bad("bytes after the last element")
		return nil
	}
	size := t.DType.Size()
	for r := int64(0); t.LD() > t.Row() && r+1 < t.Rows(); r++ {
		if !same(mem[(r*t.LD()+t.Row())*size : (r+1)*t.LD()*size]) {
			bad(fmt.Sprintf("row padding of row %d", r))
			return nil
		}
	}
	if v.count {
		v.written += writtenBytes(t, mem, poison)
	}
	return nil
}

// poisonBytes are what backend.Executable.Poison fills memory with.
var poisonBytes = [2]byte{0xff, 0x7f}

// writtenBytes is what a run over one poison tells of the bytes of a tensor that the program wrote; both runs' sum is their number. After the run
// over the second poison all that differ from it were written. Those that were written with just its value show in the run over the first: there a byte
// that was not written holds the first. Both runs write the same bits, as the verification demands of outputs.
func writtenBytes(t op.Tensor, mem []byte, poison int) (n int64) {
	size := t.DType.Size()
	row, ld := t.Row()*size, t.LD()*size
	if row == ld {
		row, ld = int64(len(mem)), int64(len(mem))
	}
	for at := int64(0); ld > 0 && at < int64(len(mem)); at += ld {
		held := int64(bytes.Count(mem[at:at+row], poisonBytes[1:]))
		if poison == 1 {
			held = row - held
		}
		n += held
	}
	return n
}

// maxBlock bounds the elements that compare reads at once.
const maxBlock = 64

// compare checks elements of output n against the expectation, in parallel.
func (v *verifier) compare(phase string, in *op.Inputs, n int, t op.Tensor, integer bool) error {
	total := t.Elements()
	v.out.Elements = max(v.out.Elements, total)
	if total == 0 {
		return nil
	}
	idx := v.choose(total)
	at := place{n, integer}
	known := v.effort.Known.of(at, idx)
	all := known
	if known == nil {
		all = make([]op.Expectation, len(idx))
	}
	workers := min(runtime.GOMAXPROCS(0), max(1, len(idx)/16))
	if total <= int64(v.effort.Samples) {
		workers = min(runtime.GOMAXPROCS(0), len(idx))
	}
	block := 1 // elements read at once; of a whole output a worker takes its share in several pieces, for some cost more than others
	if int64(len(idx)) == total {
		block = max(1, min(maxBlock, len(idx)/(4*workers)))
	}
	var wg sync.WaitGroup
	first := make([]*record.Mismatch, workers)
	worst := make([]float64, workers)
	errs := make([]error, workers)
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var read [maxBlock]float64
			for k := w * block; k < len(idx); k += workers * block {
				got := read[:min(block, len(idx)-k)]
				if errs[w] = v.e.Read(t.Name, idx[k], int64(len(got)), got); errs[w] != nil {
					return
				}
				for j, y := range got {
					if v.ctx.Err() != nil {
						errs[w] = v.ctx.Err()
						return
					}
					if known == nil {
						all[k+j] = v.p.Reference.Expect(in, n, idx[k+j])
					}
					e := all[k+j]
					bound := v.bound(t, e, integer)
					ratio := Deviation(y, t.DType, e.Value, bound, integer)
					if ratio > 1 || ratio != ratio {
						first[w] = mismatch(t, idx[k+j], y, e.Value, bound, phase)
						return
					}
					worst[w] = max(worst[w], ratio)
				}
			}
		}()
	}
	wg.Wait()
	for w := range first {
		if errs[w] != nil {
			return fmt.Errorf("verify %s: %w", v.p.Name, errs[w])
		}
		if first[w] != nil {
			v.out.Mismatch = first[w]
			return nil
		}
		v.out.WorstBound = max(v.out.WorstBound, worst[w])
	}
	v.effort.Known.keep(at, idx, all)
	v.out.Checked += int64(len(idx))
	if int64(len(idx)) < total {
		return v.project(phase, in, n, t, integer)
	}
	return nil
}

// bound is the error allowed for one element (see op.Expectation).
func (v *verifier) bound(t op.Tensor, e op.Expectation, integer bool) float64 {
	if integer {
		return 0
	}
	return v.out.BoundC*v.acc.Unit()*e.Magnitude + v.rounded*e.Rounded + rounding(t.DType, e.Value) + e.Tiny
}

// rounding is the largest error of rounding x to a format.
func rounding(d record.DType, x float64) float64 { return max(d.Unit()*math.Abs(x), d.Floor()) }

// Deviation is the error of got over its bound; above 1 (or NaN) is wrong. In integer mode
// the value must be the exact one rounded once to the output's format.
func Deviation(got float64, d record.DType, want, bound float64, integer bool) float64 {
	if integer || !d.Float() {
		if got == op.Round(d, want) {
			return 0
		}
		return math.Inf(1)
	}
	diff := math.Abs(got - want)
	if diff == 0 {
		return 0
	}
	if r := op.Round(d, want); math.IsInf(r, 0) && got == r {
		return 0
	}
	return diff / bound
}

func mismatch(t op.Tensor, i int64, got, want, bound float64, phase string) *record.Mismatch {
	f := func(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }
	return &record.Mismatch{Tensor: t.Name, Index: t.Coordinates(i), Got: f(got), Want: f(want), Bound: bound, Phase: phase}
}

// choose lists the elements to compare: all when cheap, else random ones with the first,
// the last and the ends of the first and last rows.
func (v *verifier) choose(total int64) []int64 {
	perElement := max(1, v.p.Reference.FLOPs()/max(1, total))
	if c, ok := v.p.Reference.(op.Coster); ok {
		perElement = max(perElement, c.ExpectCost())
	}
	if total <= int64(v.effort.Samples) || perElement <= v.effort.AllBelow/total {
		idx := make([]int64, total)
		for i := range idx {
			idx[i] = int64(i)
		}
		return idx
	}
	rng := rand.New(rand.NewPCG(v.seed, uint64(total)))
	idx := []int64{0, total - 1}
	for _, t := range v.p.Reference.Tensors() {
		if t.Role == op.Out && t.Elements() == total {
			idx = append(idx, t.Row()-1, total-t.Row())
		}
	}
	for len(idx) < v.effort.Samples+4 {
		idx = append(idx, rng.Int64N(total))
	}
	return idx
}
