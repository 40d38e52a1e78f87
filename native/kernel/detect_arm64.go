//go:build cgo && linux

package kernel

/*
#include <sys/auxv.h>
static unsigned long hwcap(void) { return getauxval(AT_HWCAP); }
static unsigned long hwcap2(void) { return getauxval(AT_HWCAP2); }
*/
import "C"

import "sync"

// Detect finds the features this CPU has and the kernel has enabled (bits of
// arch/arm64/include/uapi/asm/hwcap.h).
var Detect = sync.OnceValue(func() Mask {
	h, h2 := uint64(C.hwcap()), uint64(C.hwcap2())
	bit := func(w uint64, n uint) bool { return w&(1<<n) != 0 }
	return maskOf(map[string]bool{
		"neon": bit(h, 1), "fp16": bit(h, 9) && bit(h, 10), "dotprod": bit(h, 20),
		"sve": bit(h, 22), "i8mm": bit(h2, 13), "bf16": bit(h2, 14),
	})
})
