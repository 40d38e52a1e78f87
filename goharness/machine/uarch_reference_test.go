package machine

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

// What vendors publish per cycle and core, for every class of cores of the table: a figure that is mistyped in one row shows here.
func TestEveryClassOfCoresHasItsPublishedFigures(t *testing.T) {
	const zen2 = "sse2 fp64 8, sse2 fp32 16, avx2 fp64 16, avx2 fp32 32"
	const zen4 = zen2 + ", avx512 fp64 16, avx512 fp32 32, avx512bf16 bf16 64, avx512vnni int8 128, avx512vnni u8s8 128"
	const skylake = "sse2 fp64 4, sse2 fp32 8, avx2 fp64 16, avx2 fp32 32"
	const client512 = skylake + ", avx512 fp64 16, avx512 fp32 32, avx512vnni int8 128, avx512vnni u8s8 128"
	const server512 = skylake + ", avx512 fp64 32, avx512 fp32 64"
	const golden = "sse2 fp64 6, sse2 fp32 12, avx2 fp64 16, avx2 fp32 32, avxvnni int8 128, avxvnni u8s8 128"
	const sapphire = golden + ", avx512 fp64 32, avx512 fp32 64, avx512fp16 fp16 128, avx512bf16 bf16 32, avx512vnni int8 256, avx512vnni u8s8 256, amx bf16 1024, amx int8 2048, amx u8s8 2048"
	const n1 = "neon fp64 8, neon fp32 16, neon fp16 32, dotprod int8 64"
	const v1 = "neon fp64 16, neon fp32 32, neon fp16 64, dotprod int8 128, bf16arm bf16 128, i8mm int8 256, i8mm u8s8 256, sve fp64 16, sve fp32 32, sve fp16 64"
	const n2 = n1 + ", bf16arm bf16 64, i8mm int8 128, i8mm u8s8 128, sve fp64 8, sve fp32 16, sve fp16 32"
	const m1 = "neon fp64 16, neon fp32 32, neon fp16 64, dotprod int8 128"
	for _, c := range []struct {
		figures string
		vendor  string
		family  int
		models  []int
		brands  []string
	}{
		{"sse2 fp64 8, sse2 fp32 16, avx2 fp64 8, avx2 fp32 16", vendorAMD, 0x17, []int{0x01, 0x08, 0x11, 0x18}, []string{"", "AMD EPYC 7601", "AMD EPYC 3451"}},
		{zen2, vendorAMD, 0x17, []int{0x31, 0x60, 0x68, 0x71, 0x90, 0xa0}, []string{"", "AMD EPYC 7742", "AMD EPYC 7252 8-Core Processor"}},
		{zen2, vendorAMD, 0x19, []int{0x01, 0x08, 0x21, 0x44, 0x50}, []string{""}},
		{zen4, vendorAMD, 0x19, []int{0x11, 0x18, 0x61, 0x74, 0x78, 0xa0}, []string{"", "AMD EPYC 8534P"}},
		{zen4 + ", avxvnni int8 128, avxvnni u8s8 128", vendorAMD, 0x1a, []int{0x20, 0x24, 0x60, 0x68}, []string{""}}, // mobile Zen 5
		{zen2 + ", avxvnni int8 128, avxvnni u8s8 128, avx512 fp64 32, avx512 fp32 64, avx512bf16 bf16 128, avx512vnni int8 256, avx512vnni u8s8 256", vendorAMD, 0x1a, []int{0x02, 0x08, 0x11, 0x44, 0x70}, []string{""}},
		{"sse2 fp64 4, sse2 fp32 8, avx2 fp64 16, avx2 fp32 32", vendorIntel, 6, []int{0x3c, 0x3f, 0x45, 0x4f, 0x56, 0x4e, 0x5e, 0x8e, 0x9e, 0xa5}, []string{"", "Intel(R) Xeon(R) CPU E7-8890 v4 @ 2.20GHz"}},
		{client512, vendorIntel, 6, []int{0x6c, 0x7e, 0x8c, 0xa7}, []string{""}},
		{server512 + ", avx512vnni int8 256, avx512vnni u8s8 256", vendorIntel, 6, []int{0x6a}, []string{""}},
		{golden, vendorIntel, 6, []int{0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0xb5}, []string{""}},
		{"avx2 fp64 16, avx2 fp32 32, avxvnni int8 128, avxvnni u8s8 128", vendorIntel, 6, []int{0xc5, 0xc6, 0xbd}, []string{""}},
		{sapphire, vendorIntel, 6, []int{0x8f, 0xcf}, []string{"", "Intel(R) Xeon(R) CPU Max 9480", "Intel(R) Xeon(R) w9-3495X", "Intel(R) Xeon(R) w7-2495X"}},
		{sapphire + ", amx fp16 1024", vendorIntel, 6, []int{0xad, 0xae}, []string{""}},
		{n1, "ARM", 0x41, []int{0xd0c}, []string{""}},        // Graviton2, Ampere Altra
		{v1, "ARM", 0x41, []int{0xd40, 0xd4f}, []string{""}}, // Graviton3; Graviton4, Grace
		{n2, "ARM", 0x41, []int{0xd49}, []string{""}},
		{n2, "Microsoft", 0x6d, []int{0xd49}, []string{""}},
		{m1, "Apple", 0, []int{0}, []string{"Apple M1", "Apple M1 Pro", "Apple M1 Max", "Apple M1 Ultra"}},
		{m1 + ", bf16arm bf16 16", "Apple", 0, []int{0}, []string{"Apple M2", "Apple M2 Ultra", "Apple M3 Pro", "Apple M4", "Apple M4 Max"}},
	} {
		want := map[string]bool{}
		for _, f := range strings.Split(c.figures, ", ") {
			want[f] = true
		}
		for _, model := range c.models {
			for _, brand := range c.brands {
				u := Lookup(CPUID{Vendor: c.vendor, Brand: brand, Family: c.family, Model: model})
				for _, r := range u.Rates() {
					if f := r.ISA + " " + string(r.DType) + " " + number(int(r.Ops)); !want[f] {
						t.Errorf("%s (%x %q) has %s: not published", u.Name, model, brand, f)
					}
				}
				if n := len(u.Rates()); n != len(want) {
					t.Errorf("%s (%x %q) has %d figures, want %d", u.Name, model, brand, n, len(want))
				}
			}
		}
	}
	for _, c := range []struct {
		brand    string
		stepping int
		fp32     float64
		vnni     float64 // 0: none
	}{
		{"Intel(R) Xeon(R) Gold 6148", 4, 64, 0}, {"Intel(R) Core(TM) i9-7980XE", 4, 64, 0}, {"Intel(R) Xeon(R) Silver 4114", 4, 32, 0},
		{"Intel(R) Xeon(R) Gold 6248", 7, 64, 256}, {"Intel(R) Core(TM) i9-10980XE", 7, 64, 256}, {"Intel(R) Xeon(R) Platinum 9282", 7, 64, 256}, {"Intel(R) Xeon(R) Bronze 3204", 7, 32, 0}, {"", 11, 64, 256},
	} {
		u := Lookup(CPUID{Vendor: vendorIntel, Brand: c.brand, Family: 6, Model: 0x55, Stepping: c.stepping})
		fp32, _, _ := u.OpsPerCycle("avx512", record.FP32)
		fp64, _, _ := u.OpsPerCycle("avx512", record.FP64)
		vnni, _, _ := u.OpsPerCycle("avx512vnni", record.U8S8)
		if fp32 != c.fp32 || fp64 != c.fp32/2 || vnni != c.vnni {
			t.Errorf("%s %q: fp32 %g, fp64 %g, vnni %g; want %g, half and %g", u.Name, c.brand, fp32, fp64, vnni, c.fp32, c.vnni)
		}
	}
}
