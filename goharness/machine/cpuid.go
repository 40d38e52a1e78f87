package machine

import (
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// CPUID is what the processor says of itself. On arm64 the identity is MIDR_EL1 as the
// kernel reports it: Vendor is the implementer's name, Family its code, Model the part
// number, Stepping the revision.
type CPUID struct {
	Vendor   string // "GenuineIntel", "AuthenticAMD", "ARM", "Apple", …
	Brand    string // brand string, may be a hypervisor's invention
	Family   int
	Model    int
	Stepping int
	// Features usable here, in lower case: offered by the CPU and enabled by the operating system.
	Features []string
	// L1DBytes, L2Bytes, L3Bytes are the cache leaves' sizes; 0 when the processor does not say.
	L1DBytes, L2Bytes, L3Bytes int64
	LineBytes                  int
	// BaseMHz and MaxMHz are cpuid leaf 0x16; 0 when the processor does not say.
	BaseMHz, MaxMHz float64
	// Virtual is the hypervisor bit, HypervisorVendor the signature of leaf 0x40000000.
	Virtual          bool
	HypervisorVendor string
}

// Has reports whether the feature is usable.
func (c CPUID) Has(feature string) bool {
	for _, f := range c.Features {
		if f == feature {
			return true
		}
	}
	return false
}

// feature names, in the order they are shown.
var features = []struct {
	name string
	id   cpuid.FeatureID
}{
	{"sse2", cpuid.SSE2}, {"sse4.2", cpuid.SSE42}, {"avx", cpuid.AVX}, {"avx2", cpuid.AVX2}, {"fma", cpuid.FMA3}, {"f16c", cpuid.F16C},
	{"avx512f", cpuid.AVX512F}, {"avx512dq", cpuid.AVX512DQ}, {"avx512bw", cpuid.AVX512BW}, {"avx512vl", cpuid.AVX512VL},
	{"avx512vnni", cpuid.AVX512VNNI}, {"avxvnni", cpuid.AVXVNNI}, {"avxvnniint8", cpuid.AVXVNNIINT8},
	{"avx512bf16", cpuid.AVX512BF16}, {"avx512fp16", cpuid.AVX512FP16},
	{"amx-tile", cpuid.AMXTILE}, {"amx-bf16", cpuid.AMXBF16}, {"amx-int8", cpuid.AMXINT8}, {"amx-fp16", cpuid.AMXFP16}, {"avx10", cpuid.AVX10_512},
	{"asimd", cpuid.ASIMD}, {"asimddp", cpuid.ASIMDDP}, {"fphp", cpuid.FPHP}, {"asimdhp", cpuid.ASIMDHP},
	{"bf16", cpuid.BF16}, {"i8mm", cpuid.I8MM}, {"sve", cpuid.SVE}, {"sve2", cpuid.SVE2}, {"sme", cpuid.SME},
}

// DetectCPUID asks the processor this process runs on.
func DetectCPUID() CPUID {
	i := &cpuid.CPU
	c := CPUID{
		Vendor: i.VendorString, Brand: strings.TrimSpace(i.BrandName),
		Family: i.Family, Model: i.Model, Stepping: i.Stepping, LineBytes: i.CacheLine,
		L1DBytes: positive(i.Cache.L1D), L2Bytes: positive(i.Cache.L2), L3Bytes: positive(i.Cache.L3),
		Virtual: i.Has(cpuid.HYPERVISOR), HypervisorVendor: strings.TrimRight(i.HypervisorVendorString, "\x00 "),
	}
	for _, f := range features {
		if i.Has(f.id) {
			c.Features = append(c.Features, f.name)
		}
	}
	raw := readRawCPUID()
	c.BaseMHz, c.MaxMHz = raw.baseMHz, raw.maxMHz
	c.Features = osUsable(c.Features, raw.xcr0, raw.xcr0Known)
	return c
}

// XCR0 state components (Intel SDM vol. 1, §13.1): the operating system must save a
// register file before a program may use it.
const (
	xcr0AVX    = 1<<1 | 1<<2    // SSE and AVX state
	xcr0AVX512 = xcr0AVX | 7<<5 // opmask, upper halves of ZMM0-15, ZMM16-31
	xcr0AMX    = 1<<17 | 1<<18  // tile configuration and tile data
)

// osUsable drops features whose registers the operating system does not save. Where XCR0
// is not known (not x86) the list is returned as it is.
func osUsable(names []string, xcr0 uint64, known bool) []string {
	if !known {
		return names
	}
	var out []string
	for _, n := range names {
		need := uint64(0)
		switch {
		case strings.HasPrefix(n, "amx"):
			need = xcr0AMX
		case strings.HasPrefix(n, "avx512"), n == "avx10":
			need = xcr0AVX512
		case strings.HasPrefix(n, "avx"), n == "fma", n == "f16c":
			need = xcr0AVX
		}
		if xcr0&need == need {
			out = append(out, n)
		}
	}
	return out
}

func positive(v int) int64 {
	if v < 0 {
		return 0
	}
	return int64(v)
}
