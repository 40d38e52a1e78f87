//go:build cgo && linux

package probe_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// loop is what the hot loop of a kernel must consist of: arithmetic instructions of the
// given mnemonics, each the same number of times, besides the counter and the branch.
type loop struct {
	file, symbol string
	ops          map[string]int
}

var amd64Loops = []loop{
	{"peak_sse2_amd64.c", "peak_fp64_sse2_amd64", map[string]int{"mulpd": 28, "addpd": 14, "subpd": 14}},
	{"peak_sse2_amd64.c", "peak_fp32_sse2_amd64", map[string]int{"mulps": 28, "addps": 14, "subps": 14}},
	{"peak_avx2_amd64.c", "peak_fp64_avx2_amd64", map[string]int{"vfmadd231pd": 96}},
	{"peak_avx2_amd64.c", "peak_fp32_avx2_amd64", map[string]int{"vfmadd231ps": 96}},
	{"peak_avx2_amd64.c", "peak_u8s8_avxvnni_amd64", map[string]int{"vpdpbusd": 96}},
	{"peak_avx2_amd64.c", "peak_int8_avx2_amd64", map[string]int{"vpmaddwd": 48, "vpaddd": 48}},
	{"peak_avx512_amd64.c", "peak_int8_avx512_amd64", map[string]int{"vpmaddwd": 48, "vpaddd": 48}},
	{"peak_avx512_amd64.c", "peak_fp64_avx512_amd64", map[string]int{"vfmadd231pd": 96}},
	{"peak_avx512_amd64.c", "peak_fp32_avx512_amd64", map[string]int{"vfmadd231ps": 96}},
	{"peak_avx512_amd64.c", "peak_bf16_avx512bf16_amd64", map[string]int{"vdpbf16ps": 96}},
	{"peak_avx512_amd64.c", "peak_u8s8_avx512vnni_amd64", map[string]int{"vpdpbusd": 96}},
	{"peak_avx512fp16_amd64.c", "peak_fp16_avx512fp16_amd64", map[string]int{"vfmadd231ph": 96}},
	{"peak_amx_amd64.c", "peak_bf16_amx_amd64", map[string]int{"tdpbf16ps": 96}},
	{"peak_amx_amd64.c", "peak_fp16_amx_amd64", map[string]int{"tdpfp16ps": 96}},
	{"peak_amx_amd64.c", "peak_int8_amx_amd64", map[string]int{"tdpbssd": 96}},
	{"peak_amx_amd64.c", "peak_u8s8_amx_amd64", map[string]int{"tdpbusd": 96}},
}

var arm64Loops = []loop{
	{"peak_neon_arm64.c", "peak_fp64_neon_arm64", map[string]int{"fmla": 96}},
	{"peak_neon_arm64.c", "peak_fp32_neon_arm64", map[string]int{"fmla": 96}},
	{"peak_neon_arm64.c", "peak_int8_dotprod_arm64", map[string]int{"sdot": 96}},
	{"peak_neon_arm64.c", "peak_bf16_bf16arm_arm64", map[string]int{"bfmmla": 96}},
	{"peak_neon_arm64.c", "peak_int8_i8mm_arm64", map[string]int{"smmla": 96}},
	{"peak_neon_arm64.c", "peak_u8s8_i8mm_arm64", map[string]int{"usmmla": 96}},
	{"peak_half_arm64.c", "peak_fp16_neon_arm64", map[string]int{"fmla": 96}},
	{"peak_half_arm64.c", "peak_fp16_sve_arm64", map[string]int{"fmla": 96}},
	{"peak_sve_arm64.c", "peak_fp64_sve_arm64", map[string]int{"fmla": 96}},
	{"peak_sve_arm64.c", "peak_fp32_sve_arm64", map[string]int{"fmla": 96}},
}

func TestHotLoopsHoldTheDeclaredInstructionsAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		name, cc, objdump string
		loops             []loop
	}{
		{"amd64 gcc", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-objdump", amd64Loops},
		{"amd64 clang", "clang", "x86_64-linux-gnu-objdump", amd64Loops},
		{"arm64 gcc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", arm64Loops},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, tool := range []string{c.cc, c.objdump} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			objects := map[string]string{}
			for _, l := range c.loops {
				if objects[l.file] == "" {
					objects[l.file] = disassemble(t, c.cc, c.objdump, l.file)
				}
				got, err := hotLoop(objects[l.file], "ridge_"+l.symbol)
				if err != "" {
					t.Errorf("%s: %s", l.symbol, err)
					continue
				}
				for m, n := range l.ops {
					if got[m] != n {
						t.Errorf("%s: %d %s per turn, want %d", l.symbol, got[m], m, n)
					}
					delete(got, m)
				}
				rest := 0
				for m, n := range got {
					if m != "dec" && m != "jne" && m != "subs" && m != "b.ne" {
						t.Errorf("%s: %d %s in the hot loop", l.symbol, n, m)
					}
					rest += n
				}
				if rest != 2 {
					t.Errorf("%s: %d instructions of loop control, want 2", l.symbol, rest)
				}
			}
		})
	}
}

func disassemble(t *testing.T, cc, objdump, file string) string {
	t.Helper()
	obj := filepath.Join(t.TempDir(), file+".o")
	args := []string{"-O2", "-g", "-O3", "-Wall", "-I../include", "-c", file, "-o", obj}
	if cc == "clang" {
		args = append([]string{"--target=x86_64-linux-gnu"}, args...)
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s: %v\n%s", file, err, out)
	}
	out, err := exec.Command(objdump, "-d", "--no-show-raw-insn", obj).Output()
	if err != nil {
		t.Fatalf("disassemble %s: %v", file, err)
	}
	return string(out)
}

var instruction = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(?:\{\w+\} )?(\S+)\s*(.*)$`)

// hotLoop counts the mnemonics of the loop that the function's longest backward branch over
// straight code closes (the probe's loop has 50 instructions or more and no other branch in it).
func hotLoop(text, symbol string) (counts map[string]int, problem string) {
	_, body, ok := strings.Cut(text, "<"+symbol+">:\n")
	if !ok {
		return nil, "the symbol is not in the object"
	}
	body, _, _ = strings.Cut(body, "\n\n")
	var addresses []uint64
	var mnemonics []string
	last := 0 // index after the last branch
	for _, line := range strings.Split(body, "\n") {
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, _ := strconv.ParseUint(m[1], 16, 64)
		addresses, mnemonics = append(addresses, at), append(mnemonics, m[2])
		if m[2][0] != 'j' && m[2][0] != 'b' || strings.HasPrefix(m[2], "bf") {
			continue
		}
		to, _ := strconv.ParseUint(strings.Fields(m[3] + " x")[0], 16, 64)
		for i := last; i < len(addresses); i++ {
			if addresses[i] == to && len(addresses)-i >= 50 {
				counts = map[string]int{}
				for _, x := range mnemonics[i:] {
					counts[x]++
				}
				return counts, ""
			}
		}
		last = len(addresses)
	}
	return nil, "no loop of 50 instructions or more without another branch"
}
