//go:build cgo && linux

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheMakefileNamesTheCompilerThatIsNeeded(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	for _, c := range []struct {
		prints, want string // what the preprocessor makes of the version question; "" accepts it
	}{
		{"gcc 12", ""}, {"gcc 15", ""}, {"clang 14", ""}, {"clang 21", ""},
		{"gcc 11", "gcc 12 or clang 14"}, {"gcc 9", "gcc 12 or clang 14"}, {"clang 13", "gcc 12 or clang 14"}, {"", "gcc 12 or clang 14"},
	} {
		cc := filepath.Join(t.TempDir(), "cc")
		if err := os.WriteFile(cc, []byte(fmt.Sprintf("#!/bin/sh\ncat >/dev/null\necho '%s'\n", c.prints)), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("make", "-s", "-C", "..", "compiler", "CC="+cc, "GO=true").CombinedOutput()
		if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
			t.Errorf("compiler %q: %v, %s; want %q", c.prints, err, out, c.want)
		}
	}
}

// The compiler of `make sanitize` leaves kernels alone that the machine cannot run, and asks for them what the go command does.
func TestOnlyKernelsThatRunHereAreSanitized(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("no /proc/cpuinfo")
	}
	flags := map[string]bool{}
	for _, f := range strings.Fields(string(info)) {
		flags[f] = true
	}
	for _, c := range []struct {
		file  string
		needs []string
	}{
		{"gemm_fp32_avx2_6x16_amd64.c", []string{"avx2"}}, {"gemm_fp32_avx512intel_6x64_amd64.c", []string{"avx512bw"}}, {"gemm_bf16_avx512bf16_14x32_amd64.c", []string{"avx512_bf16"}},
		{"gemm_int8_avx512vnni_14x32_amd64.c", []string{"avx512_vnni"}}, {"gemm_int8_avxvnni_6x16_amd64.c", []string{"avx_vnni"}}, {"gemm_fp16_avx512fp16_14x32_amd64.c", []string{"avx512_fp16"}},
		{"gemm_bf16_amx_32x32_amd64.c", []string{"amx_tile"}}, {"gemm_fp16_amx_32x32_amd64.c", []string{"amx_tile"}},
		{"models.c", nil}, {"conv2d_int8_amx_indirect_model.c", nil}, {"portable.c", nil},
	} {
		runs := true
		for _, n := range c.needs {
			runs = runs && flags[n]
		}
		cmd := exec.Command("../scripts/sanitize-cc", "-g1", "-fexpensive-optimizations", "-fsanitize=address,undefined", "-fno-sanitize=null", "-O3", "-c", c.file)
		cmd.Env = append(os.Environ(), "SANITIZE_CC=echo")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		plain := "-O2 -g -O3 -c " + c.file + "\n"
		if got := string(out); (got == plain) == runs || strings.Contains(got, "-fsanitize=address,undefined") != runs {
			t.Errorf("%s, which runs here: %v, is compiled with %s", c.file, runs, got)
		}
	}
}
