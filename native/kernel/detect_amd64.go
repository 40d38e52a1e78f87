//go:build cgo && linux

package kernel

/*
#include <sys/syscall.h>
#include <unistd.h>
// AMX tile data must be asked for once per process (arch_prctl ARCH_REQ_XCOMP_PERM, feature
// 18); without it the first tile instruction is SIGILL.
static int amx_permission(void) { return (int)syscall(SYS_arch_prctl, 0x1023, 18); }
*/
import "C"

import (
	"sync"

	"github.com/klauspost/cpuid/v2"
)

// Detect finds the features this CPU has and the operating system has enabled.
var Detect = sync.OnceValue(func() Mask {
	c := cpuid.CPU
	amx := c.Supports(cpuid.AMXTILE) && C.amx_permission() == 0
	var maker Mask
	if c.VendorID == cpuid.Intel {
		maker = Intel
	}
	return maker | maskOf(map[string]bool{
		"sse2": c.Supports(cpuid.SSE2), "avx": c.Supports(cpuid.AVX), "avx2": c.Supports(cpuid.AVX2),
		"fma": c.Supports(cpuid.FMA3), "f16c": c.Supports(cpuid.F16C),
		"avx512f": c.Supports(cpuid.AVX512F), "avx512bw": c.Supports(cpuid.AVX512BW),
		"avx512vl": c.Supports(cpuid.AVX512VL), "avx512dq": c.Supports(cpuid.AVX512DQ),
		"avx512vnni": c.Supports(cpuid.AVX512VNNI), "avx512bf16": c.Supports(cpuid.AVX512BF16),
		"avx512fp16": c.Supports(cpuid.AVX512FP16), "avxvnni": c.Supports(cpuid.AVXVNNI),
		"amx-tile": amx, "amx-bf16": amx && c.Supports(cpuid.AMXBF16),
		"amx-int8": amx && c.Supports(cpuid.AMXINT8), "amx-fp16": amx && c.Supports(cpuid.AMXFP16),
	})
})
