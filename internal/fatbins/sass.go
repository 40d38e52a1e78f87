package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A claim is what a source says of the machine code of one of its entries: at least so many instructions of a kind. Probes have them: ptxas minds no
// volatile between registers, and one that calculated a result once for a whole loop would show a rate of nothing.
type claim struct {
	entry, arch, name string
	least             int
}

var claimed = regexp.MustCompile(`(?m)^// sass has (\S+) (sm_\S+): (\d+) (\S+)$`)

// claims reads the lines "// sass has ENTRY ARCH: N NAME" of a source.
func claims(source string) []claim {
	var out []claim
	for _, m := range claimed.FindAllStringSubmatch(source, -1) {
		n, _ := strconv.Atoi(m[3]) // digits
		out = append(out, claim{m[1], m[2], m[4], n})
	}
	return out
}

// opcodes are the low 9 bits of an instruction of 16 bytes, as code from 7.0 on has them. NVIDIA publishes none: those of the arithmetic are as in turingas
// (github.com/daadaada/turingas), the others what ptxas makes of sources that consist of them.
var opcodes = map[uint16]string{0x108: "MUFU", 0x023: "FFMA", 0x02b: "DFMA", 0x026: "IDP", 0x031: "HFMA2", 0x035: "HFMA2", // HFMA2.MMA: on the other pipe
	0x03c: "HMMA", 0x037: "IMMA", 0x03f: "DMMA", 0x1f0: "HGMMA", 0x1f1: "IGMMA", 0x1f3: "QGMMA"}

// counts are the instructions of each entry of a cubin, by name.
func counts(cubin string) (map[string]map[string]int, error) {
	f, err := elf.Open(cubin)
	if err != nil {
		return nil, fmt.Errorf("read machine code: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	out := map[string]map[string]int{}
	for _, s := range f.Sections {
		entry, ok := strings.CutPrefix(s.Name, ".text.")
		if !ok {
			continue
		}
		code, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("read machine code of %s: %w", entry, err)
		}
		out[entry] = map[string]int{}
		for ; len(code) >= 16; code = code[16:] {
			if name := opcodes[binary.LittleEndian.Uint16(code)&0x1ff]; name != "" {
				out[entry][name]++
			}
		}
	}
	return out, nil
}

// broken compiles a source for each chip that its claims name and lists the claims that do not hold.
func broken(nvcc, src, source string) ([]string, error) {
	all := claims(source)
	if len(all) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "fatbins")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var bad []string
	code := map[string]map[string]map[string]int{}
	for _, c := range all {
		if code[c.arch] == nil {
			cubin := filepath.Join(dir, c.arch)
			args := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return f == "-fatbin" || strings.Contains(f, "compress") || f == "-Xptxas=-v" })
			args = append(args, "-cubin", "-arch="+c.arch, "-I"+filepath.Dir(src), "-o", cubin, src)
			if report, err := exec.Command(nvcc, args...).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("compile %s for %s: %w\n%s", src, c.arch, err, report)
			}
			if code[c.arch], err = counts(cubin); err != nil {
				return nil, fmt.Errorf("%s for %s: %w", src, c.arch, err)
			}
		}
		if n := code[c.arch][c.entry][c.name]; n < c.least {
			bad = append(bad, fmt.Sprintf("%s on %s has %d %s, not %d", c.entry, c.arch, n, c.name, c.least))
		}
	}
	return bad, nil
}
