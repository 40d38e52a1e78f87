//go:build cgo && linux

package native

import (
	"strings"

	"ridge/goharness/op"
)

// readSoon reports whether what a step of a program writes is read by a later step, or lies where the step itself has read it, while the last-level
// cache (llc bytes, 0: unknown) may still hold it: where half of it holds all that is touched from the step on to the one before the reader. Stores
// around the caches, which are faster for the step alone, make the next one read from memory, and save nothing where the lines were read.
// Measured: docs/fusion.md.
func readSoon(p op.Program, step int, llc int64) bool {
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
		if reads && at > step {
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
		if all > llc/2 {
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
