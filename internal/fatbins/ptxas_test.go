package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const report = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'good' for 'sm_90a'
ptxas info    : Function properties for good
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
ptxas info    : Compiling entry function 'spilt' for 'sm_80'
ptxas info    : Function properties for spilt
    24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads
ptxas info    : Compiling entry function 'spilt' for 'sm_90a'
ptxas info    : Function properties for spilt
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
`

func TestSpillsAndStackFramesFailUnlessTheSourceAllowsThem(t *testing.T) {
	a80 := "spilt on sm_80: 24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads"
	a90 := "spilt on sm_90a: 8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
	for _, tc := range []struct {
		name, source string
		want         []string
	}{
		{"nothing allowed", "", []string{a80, a90}},
		{"one architecture", "// ptxas allows spilt sm_80: an indexed array\n", []string{a90}},
		{"all", "x\n// ptxas allows spilt all: an indexed array\n", nil},
		{"another entry", "// ptxas allows good all: an indexed array\n", []string{a80, a90}},
		{"no reason", "// ptxas allows spilt all: \n", []string{a80, a90}},
	} {
		if got := spills(report, allowed(tc.source)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestChipsAreKnownAndThePTXComesAlong(t *testing.T) {
	for list, want := range map[string]int{chips: 4, "80": 1, "80,90a": 2, "90a": 0, "90a,80": 0, "": 0, "80,": 0, "80,91": 0} {
		got, err := targets(list)
		if len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %q, %v, want %d", list, got, err, want)
		}
	}
}

func TestSourcesForHopperAloneGetItsCodeAlone(t *testing.T) {
	all, err := targets(chips)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"gemm_bf16_sm90": 1, "gemm_bf16_sm80": 4, "gemm_bf16_simt": 4, "sm90_simt": 4, "gemm_fp32_sm90_3xtf32": 1} {
		if got := of(name, all); len(got) != want || want == 1 && !strings.Contains(got[0], "sm_90a") {
			t.Errorf("%s: %q, want %d targets", name, got, want)
		}
	}
}

func TestSerialisedWgmmaFails(t *testing.T) {
	for line, want := range map[string]int{
		"ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions in the function 'f'": 1,
		"ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.":                            1,
		"ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.":                               1,
		"ptxas info    : (C7519) warpgroup.arrive is injected in around line 488 by compiler to allow use of registers in GMMA in function 'f'":             0,
	} {
		if got := spills(line+"\n", nil); len(got) != want {
			t.Errorf("%q: %q, want %d complaints", line, got, want)
		}
	}
}

func TestClaimsOfMachineCodeAreRead(t *testing.T) {
	got := claims("// sass has peak_a sm_90a: 32 FFMA\n// sass has peak_a sm_80: 4 MUFU\n// not this: sass has x sm_80: 1 FFMA\n// sass has many of them\n")
	if want := []claim{{"peak_a", "sm_90a", "FFMA", 32}, {"peak_a", "sm_80", "MUFU", 4}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// cubin writes an ELF file with one section of code.
func cubin(t *testing.T, entry string, code []uint16) string {
	t.Helper()
	names := "\x00.shstrtab\x00.text." + entry + "\x00"
	var text, f bytes.Buffer
	for _, c := range code {
		text.Write(binary.LittleEndian.AppendUint16(nil, c))
		text.Write(make([]byte, 14))
	}
	h := elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}, Machine: 190, Version: 1,
		Shoff: uint64(64 + len(names) + text.Len()), Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 1}
	sections := []elf.Section64{{}, {Name: 1, Type: uint32(elf.SHT_STRTAB), Off: 64, Size: uint64(len(names))},
		{Name: 11, Type: uint32(elf.SHT_PROGBITS), Off: uint64(64 + len(names)), Size: uint64(text.Len())}}
	for _, x := range []any{h, []byte(names), text.Bytes(), sections} {
		if err := binary.Write(&f, binary.LittleEndian, x); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "cubin")
	if err := os.WriteFile(path, f.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The bits above the opcode are those of the operands' kinds and of the predicate.
func TestInstructionsAreCountedByTheirOpcode(t *testing.T) {
	got, err := counts(cubin(t, "peak_a", []uint16{0x7223, 0x0823, 0x7308, 0x7235, 0x7231, 0x794d}))
	if want := map[string]int{"FFMA": 2, "MUFU": 1, "HFMA2": 2}; err != nil || !maps.Equal(got["peak_a"], want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := counts(os.Args[0] + ".none"); err == nil {
		t.Error("a file that is not there is read")
	}
}
