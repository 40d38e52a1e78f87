//go:build cgo && linux

package native

import (
	"strings"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// stores is how a team's kernels store what they write.
type stores struct {
	around  int64 // bytes of a working set above which non-temporal stores win
	held    int64 // bytes of last-level cache that hold for the team what it wrote; 0: unknown
	inPlace bool  // what lies where it was read is stored into the caches, whatever its size
}

// storing is how so many threads store that reach a last-level cache of llc bytes (0: unknown).
//
// Non-temporal stores save reading the lines before they are overwritten, which only costs where the set leaves the caches: a quarter beyond the last level.
// On Zen 4 (32 MiB, two threads) ordinary stores are 1.3 times as fast in a copy of 32 MiB, as fast at 40 and 48, 0.9 at 56
// and 0.8 at 64; in an addition and a triad 0.9 at 32 MiB, 0.6 to 0.7 from 40 on; in norms between 0.7 and 1.04 from 32 on.
// With one thread they lose from 20 MiB on. Not below 40 MiB: a virtual machine may show less cache than there is, and
// smaller ones were not measured. Not above 64 MiB, but where the cache is larger: caches up to 128 MiB count as they are. Larger ones belong to
// dozens of cores, and a few threads hold little of them: of the 480 MiB of Granite Rapids, relu of 32 MiB to 32 MiB reads and writes 14.2
// GB/s with ordinary stores, 24.3 around the caches (two threads 27 and 47), of 4 to 4 MiB 28.8 and 28.4 (57 and 56).
//
// Ice Lake (48 MiB, a virtual machine of two threads; its relatives with VNNI are taken for its like) goes around from 8 MiB a thread on, 16 at least, where the rule above
// would not: the stores win from there on with one thread and with two. What is held is fitted to chains whose sum a step in place reads next, by halves: three arrays of 4 MiB
// with one thread, of 8 with two. docs/kernels/memory.md has the tables.
func storing(have kernel.Mask, llc int64, threads int) stores {
	const least, many = 40 << 20, 128 << 20
	s := stores{around: kernel.Around, held: llc}
	switch {
	case llc <= 0 || llc > many:
	case llc > kernel.Around:
		s.around = llc
	default:
		s.around = min(max(llc+llc/4, least), kernel.Around)
	}
	if icelake(have) {
		s.around, s.held, s.inPlace = min(s.around, int64(max(threads, 2))*(8<<20)), min(llc, int64(threads)*(24<<20)), true
	}
	return s
}

// readSoon reports whether what a step of a program writes is read by a later step, or lies where the step itself has read it, while the last-level
// cache may still hold it: where half of what is held holds all that is touched from the step on to the one before the reader. Stores
// around the caches, which are faster for the step alone, make the next one read from memory (docs/fusion.md), and save nothing where the lines were read: on Ice Lake
// relu in place of 6 to 256 MiB takes 1.1 to 3 times as long with them (s.inPlace; not measured elsewhere).
func readSoon(p op.Program, step int, s stores) bool {
	written, touched := map[string]bool{}, map[string]int64{}
	for i, t := range p.Steps[step].Op.Tensors() {
		if !t.Role.Input() {
			written[p.Steps[step].Bind[i]] = true
		}
	}
	for at := step; at < len(p.Steps); at++ {
		st := p.Steps[at]
		reads := false
		for i, t := range st.Op.Tensors() {
			reads = reads || t.Role.Input() && written[st.Bind[i]]
		}
		if reads && (at > step || s.inPlace) {
			return true
		}
		var all int64
		for i, t := range st.Op.Tensors() {
			touched[st.Bind[i]] = t.StorageBytes()
			if !t.Role.Input() && at > step {
				delete(written, st.Bind[i]) // written anew before it was read
			}
		}
		for _, bytes := range touched {
			all += bytes
		}
		if all > s.held/2 {
			return false
		}
		if reads {
			return true // where it lies
		}
	}
	return false
}

// aroundCaches reports whether the kernel of that name stores around the caches.
func aroundCaches(kernel string) bool { return strings.HasSuffix(kernel, "_nt") }
