//go:build cgo && linux

package native

import (
	"strings"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// caching is the working set in bytes above which non-temporal stores win for so many threads that reach a last-level cache of llc bytes (0: unknown),
// and how much of the cache holds for them what they wrote.
//
// Such stores save reading the lines before they are overwritten, which only costs where the set leaves the caches: a quarter beyond the last level.
// On Zen 4 (32 MiB, two threads) ordinary stores are 1.3 times as fast in a copy of 32 MiB, as fast at 40 and 48, 0.9 at 56
// and 0.8 at 64; in an addition and a triad 0.9 at 32 MiB, 0.6 to 0.7 from 40 on; in norms between 0.7 and 1.04 from 32 on.
// With one thread they lose from 20 MiB on: 0.63 to 0.83. With more not below 40 MiB: a virtual machine may show less cache than there is, and
// smaller ones were not measured. Not above 64 MiB, but where the cache is larger: caches up to 128 MiB count as they are. Larger ones belong to
// dozens of cores, and a few threads hold little of them: of the 480 MiB of Granite Rapids, relu of 32 MiB to 32 MiB reads and writes 14.2
// GB/s with ordinary stores, 24.3 around the caches (two threads 27 and 47), of 4 to 4 MiB 28.8 and 28.4 (57 and 56).
//
// On Ice Lake (48 MiB, two threads of a virtual machine) sets from 14 MiB on leave the caches, and from 8 MiB on the stores win even within them:
// around is 8 MiB a thread, for at least two. An addition whose sum a step in place reads next is faster so from 5 MiB an array on with one thread and from
// 12 MiB on with two: half of what is held is all three arrays (docs/kernels/memory.md).
func caching(have kernel.Mask, llc int64, threads int) (around, held int64) {
	const alone, least, unknown, many = 20 << 20, 40 << 20, 64 << 20, 128 << 20
	switch {
	case llc <= 0 || llc > many:
		around = unknown
	case llc > unknown:
		around = llc
	case threads == 1 && !have.Has(kernel.Intel):
		around = alone
	default:
		around = min(max(llc+llc/4, least), unknown)
	}
	if icelake(have) {
		return min(around, int64(max(threads, 2))*(8<<20)), min(llc, int64(threads)*(24<<20))
	}
	return around, llc
}

// readSoon reports whether what a step of a program writes lies where the step itself has read it, or is read by a later step while the last-level
// cache (held bytes of it, 0: unknown) may still hold it: where half of these hold all that is touched from the step on to the one before the reader. Stores
// around the caches, which are faster for the step alone, make the next one read from memory (docs/fusion.md), and save nothing where the lines were read: on Ice Lake
// relu in place of 6 to 256 MiB takes 1.1 to 3 times as long with them.
func readSoon(p op.Program, step int, held int64) bool {
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
		if reads {
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
		if all > held/2 {
			return false
		}
	}
	return false
}

// aroundCaches reports whether the kernel of that name stores around the caches.
func aroundCaches(kernel string) bool { return strings.HasSuffix(kernel, "_nt") }
