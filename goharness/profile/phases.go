package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"ridge/goharness/backend"
)

// Ticks are how often the threads of a program were found in each of its phases.
type Ticks map[string]int64

// leastTicks is how many ticks a program needs before its time is parted by them: the share of a phase is then known to 0.1 or
// better (one standard deviation, √(p(1−p)/n)).
const leastTicks = 30

func (t Ticks) total() int64 {
	sum := int64(0)
	for _, n := range t {
		sum += n
	}
	return sum
}

// part gives whole nanoseconds to each phase in proportion to its ticks; they add up to ns.
func (t Ticks) part(ns int64) (names []string, parts []int64) {
	total, sum, given := t.total(), int64(0), int64(0)
	for _, name := range phaseNames {
		n := t[name]
		if n == 0 {
			continue
		}
		sum += n
		upTo := round(float64(ns) * (float64(sum) / float64(total)))
		names, parts = append(names, name), append(parts, upTo-given)
		given = upTo
	}
	return names, parts
}

// Phases adds the captures up: the ticks of each program (a case and, of a comparison, an arm) by phase. Nothing is known of programs
// that could not be sampled.
func Phases(captures []Capture, resolve Resolver) func(id, arm string) Ticks {
	type program struct{ id, arm string }
	type place struct {
		m  backend.CodeMapping
		at uint64
	}
	all, known := map[program]Ticks{}, map[place]string{} // phases by place
	for _, c := range captures {
		of := program{c.Result.ID, c.Arm}
		if all[of] == nil {
			all[of] = Ticks{}
		}
		for _, s := range c.Code.Samples {
			m := mappingOf(c.Code.Mappings, s.Address)
			phase, seen := known[place{m, s.Address}]
			if !seen {
				var name string
				name, _, phase = describe(resolve, m, s.Address)
				if phase == compute && name == unresolved(m) {
					phase = "" // an instruction without a symbol (a stripped program) tells nothing
				}
				known[place{m, s.Address}] = phase
			}
			if phase != "" {
				all[of][phase] += s.Count
			}
		}
	}
	return func(id, arm string) Ticks { return all[program{id, arm}] }
}

// describe names the function of an address, its source and its phase.
func describe(resolve Resolver, m backend.CodeMapping, at uint64) (name string, src Source, phase string) {
	code, ok := resolve(m, at)
	name, src = code.Function, code.At
	if !ok {
		name = unresolved(m)
	}
	return name, src, phaseOf(name, src.File, m.File, code.Inlined)
}

// unresolved is what stands for a function where there is no symbol: the file's name, as [vdso].
func unresolved(m backend.CodeMapping) string {
	if m.File == "" {
		return "unmapped memory"
	}
	return filepath.Base(m.File)
}

// waits are what the team's threads call while they wait for each other; no kernel makes a system
// call or asks for the time.
var waits = []string{"syscall", "sched_yield", "clock_gettime", "futex"}

// phaseNames are the phases in the order in which a kernel goes through them.
var phaseNames = []string{"pack", compute, "epilogue", "reduce", "wait"}

// compute is what is no other phase, and what a kernel is when its phases are not known.
const compute = "compute"

// phases are told by what the kernels call their functions.
var phases = []struct {
	name     string
	prefixes []string
}{
	{"pack", []string{"pack_"}},
	{"epilogue", []string{"finish_", "activate_", "end_"}},
	{"reduce", []string{"join_", "decode_join"}}, // what several threads summed, after a barrier
}

// phaseOf is what a function does by its name and place: kernels keep packing, what follows the sums, and the joining of
// threads' parts in functions of their own, and the team waits in its own. Functions that the compiler put into another
// count before it, the innermost first.
func phaseOf(function, file, mapped string, inlined []string) string {
	has := func(w string) bool { return strings.Contains(function, w) }
	if strings.Contains(file, "native/team/") || mapped == "[vdso]" || file == "" && slices.ContainsFunc(waits, has) {
		return "wait"
	}
	for _, f := range append(slices.Clone(inlined), function) {
		for _, p := range phases {
			if slices.ContainsFunc(p.prefixes, func(x string) bool { return strings.HasPrefix(f, x) }) {
				return p.name
			}
		}
	}
	return compute
}
