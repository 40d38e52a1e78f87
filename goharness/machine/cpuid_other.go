//go:build !amd64

package machine

type rawCPUID struct {
	xcr0            uint64
	xcr0Known       bool
	baseMHz, maxMHz float64
}

// readRawCPUID has nothing to read: only x86 has CPUID leaves and XCR0.
func readRawCPUID() rawCPUID { return rawCPUID{} }
