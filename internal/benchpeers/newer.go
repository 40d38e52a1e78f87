package main

import (
	"slices"

	"ridge/goharness/record"
)

// newerThanPeers gives the environment with which libraries older than the chip still use its instructions: OpenBLAS 0.3.34 takes
// AMD's family 26 (Zen 5) for a Haswell, BLIS 0.9 for no chip that it knows, and both have kernels for AVX-512. The kernels that
// a library took stand in the document's header. BLIS 0.9 takes a number (its arch_t, of which SKX is 0), OpenBLAS a name. Intel's chips with AVX-512 BLIS tells
// apart by the product's name, which says how many units multiply; where a virtual machine hides it, it takes Haswell's kernels. OpenBLAS 0.3.21
// takes Emerald Rapids for a Prescott; 0.3.34 takes SkylakeX's kernels on it and on Granite Rapids by itself.
func newerThanPeers(c record.CPU) []string {
	const zen5 = 26
	if c.Vendor == "GenuineIntel" && slices.Contains(c.Features, "avx512f") {
		return []string{"OPENBLAS_CORETYPE=SkylakeX", "BLIS_ARCH_TYPE=0"}
	}
	if c.Vendor != "AuthenticAMD" || c.Family < zen5 || !slices.Contains(c.Features, "avx512f") {
		return nil
	}
	core := "SkylakeX"
	if slices.Contains(c.Features, "avx512bf16") {
		core = "Cooperlake"
	}
	return []string{"OPENBLAS_CORETYPE=" + core, "BLIS_ARCH_TYPE=0"}
}
