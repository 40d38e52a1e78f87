//go:build cgo && linux

package probe_test

import (
	"testing"

	"ridge/native/internal/objtest"
)

// loop is the hot loop of a probe: the given instructions, the counter and the branch.
func loop(file, symbol string, ops map[string]int) objtest.Loop {
	return objtest.Loop{File: file, Symbol: "ridge_" + symbol, Main: ops, Others: 2, Units: 1}
}

var amd64Loops = []objtest.Loop{
	loop("peak_sse2_amd64.c", "peak_fp64_sse2_amd64", map[string]int{"mulpd": 28, "addpd": 14, "subpd": 14}),
	loop("peak_sse2_amd64.c", "peak_fp32_sse2_amd64", map[string]int{"mulps": 28, "addps": 14, "subps": 14}),
	loop("peak_avx2_amd64.c", "peak_fp64_avx2_amd64", map[string]int{"vfmadd231pd": 96}),
	loop("peak_avx2_amd64.c", "peak_fp32_avx2_amd64", map[string]int{"vfmadd231ps": 96}),
	loop("peak_avx2_amd64.c", "peak_u8s8_avxvnni_amd64", map[string]int{"vpdpbusd": 96}),
	loop("peak_avx2_amd64.c", "peak_int8_avx2_amd64", map[string]int{"vpmaddwd": 48, "vpaddd": 48}),
	loop("peak_avx512_amd64.c", "peak_int8_avx512_amd64", map[string]int{"vpmaddwd": 48, "vpaddd": 48}),
	loop("peak_avx512_amd64.c", "peak_fp64_avx512_amd64", map[string]int{"vfmadd231pd": 96}),
	loop("peak_avx512_amd64.c", "peak_fp32_avx512_amd64", map[string]int{"vfmadd231ps": 96}),
	loop("peak_avx512_amd64.c", "peak_bf16_avx512bf16_amd64", map[string]int{"vdpbf16ps": 96}),
	loop("peak_avx512_amd64.c", "peak_u8s8_avx512vnni_amd64", map[string]int{"vpdpbusd": 96}),
	loop("peak_avx512fp16_amd64.c", "peak_fp16_avx512fp16_amd64", map[string]int{"vfmadd231ph": 96}),
	loop("peak_amx_amd64.c", "peak_bf16_amx_amd64", map[string]int{"tdpbf16ps": 96}),
	loop("peak_amx_amd64.c", "peak_fp16_amx_amd64", map[string]int{"tdpfp16ps": 96}),
	loop("peak_amx_amd64.c", "peak_int8_amx_amd64", map[string]int{"tdpbssd": 96}),
	loop("peak_amx_amd64.c", "peak_u8s8_amx_amd64", map[string]int{"tdpbusd": 96}),
}

var arm64Loops = []objtest.Loop{
	loop("peak_neon_arm64.c", "peak_fp64_neon_arm64", map[string]int{"fmla": 96}),
	loop("peak_neon_arm64.c", "peak_fp32_neon_arm64", map[string]int{"fmla": 96}),
	loop("peak_neon_arm64.c", "peak_int8_dotprod_arm64", map[string]int{"sdot": 96}),
	loop("peak_neon_arm64.c", "peak_bf16_bf16arm_arm64", map[string]int{"bfmmla": 96}),
	loop("peak_neon_arm64.c", "peak_int8_i8mm_arm64", map[string]int{"smmla": 96}),
	loop("peak_neon_arm64.c", "peak_u8s8_i8mm_arm64", map[string]int{"usmmla": 96}),
	loop("peak_half_arm64.c", "peak_fp16_neon_arm64", map[string]int{"fmla": 96}),
	loop("peak_half_arm64.c", "peak_fp16_sve_arm64", map[string]int{"fmla": 96}),
	loop("peak_sve_arm64.c", "peak_fp64_sve_arm64", map[string]int{"fmla": 96}),
	loop("peak_sve_arm64.c", "peak_fp32_sve_arm64", map[string]int{"fmla": 96}),
}

func TestHotLoopsHoldTheDeclaredInstructionsAndNothingElse(t *testing.T) {
	objtest.AMD64(t, amd64Loops)
	objtest.ARM64(t, arm64Loops)
}
