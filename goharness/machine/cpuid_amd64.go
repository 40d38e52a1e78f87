package machine

// cpuidRaw executes CPUID; xgetbv0 reads XCR0 and may be called only when OSXSAVE is set.
func cpuidRaw(leaf, sub uint32) (eax, ebx, ecx, edx uint32)
func xgetbv0() (lo, hi uint32)

type rawCPUID struct {
	xcr0            uint64
	xcr0Known       bool
	baseMHz, maxMHz float64
}

// readRawCPUID reads the two facts that the cpuid library does not give: the whole of
// XCR0 (its AMX bits) and leaf 0x16 as it stands.
func readRawCPUID() rawCPUID {
	var r rawCPUID
	maxLeaf, _, _, _ := cpuidRaw(0, 0)
	_, _, ecx, _ := cpuidRaw(1, 0)
	r.xcr0Known = true
	if ecx&(1<<27) != 0 { // OSXSAVE
		lo, hi := xgetbv0()
		r.xcr0 = uint64(hi)<<32 | uint64(lo)
	}
	if maxLeaf >= 0x16 {
		base, boost, _, _ := cpuidRaw(0x16, 0)
		r.baseMHz, r.maxMHz = float64(base&0xffff), float64(boost&0xffff)
	}
	return r
}
