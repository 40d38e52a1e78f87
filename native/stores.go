//go:build cgo && linux

package native

import (
	"strings"

	"ridge/goharness/op"
)

// readSoon reports whether what a step of a program writes is read by a later step, or lies where the step itself has read it, while the last-level
// cache (llc bytes, 0: unknown) may still hold it: where half of it holds all that the step touches. Stores around the caches, which are faster for
// the step alone, make the next one read from memory, and save nothing where the lines were read. Emerald Rapids (260 MiB), two threads, unfused chains in
// fp32 with such stores and without: docs/fusion.md.
func readSoon(p op.Program, step int, llc int64) bool {
	st, touched := p.Steps[step], int64(0)
	tensors, reads := st.Op.Tensors(), map[string]bool{}
	seen := map[string]bool{}
	for i, t := range tensors {
		if name := st.Bind[i]; !seen[name] {
			seen[name] = true
			touched += t.StorageBytes()
		}
		if t.Role.Input() {
			reads[st.Bind[i]] = true
		}
	}
	if touched > llc/2 {
		return false
	}
	for _, later := range p.Steps[step+1:] {
		for i, t := range later.Op.Tensors() {
			if t.Role.Input() {
				reads[later.Bind[i]] = true
			}
		}
	}
	for i, t := range tensors {
		if !t.Role.Input() && reads[st.Bind[i]] {
			return true
		}
	}
	return false
}

// aroundCaches reports whether a kernel stores around the caches.
func (c candidate) aroundCaches() bool { return strings.HasSuffix(c.Name, "_nt") }
