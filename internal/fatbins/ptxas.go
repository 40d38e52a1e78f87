package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	compiling = regexp.MustCompile(`Compiling entry function '([^']+)' for '([^']+)'`)
	frame     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	slow      = regexp.MustCompile(`\((C75\d\d)\) (?:Potential Performance Loss: )?(wgmma.mma_async instructions are serialized|'setmaxnreg' ignored).*`)
	allow     = regexp.MustCompile(`(?m)^// ptxas allows (\S+) (\S+): \S`)
)

// allowed reads the entries, as "ENTRY ARCH", that a source allows a stack frame.
func allowed(source string) map[string]bool {
	out := map[string]bool{}
	for _, m := range allow.FindAllStringSubmatch(source, -1) {
		out[m[1]+" "+m[2]] = true
	}
	return out
}

// spills lists the entries of a ptxas -v report that have a stack frame or spills and are not allowed, and what ptxas says of wgmma that it
// does not let run on and of setmaxnreg that it ignores: both are a fraction of the speed.
func spills(report string, ok map[string]bool) []string {
	var out []string
	entry, arch := "?", "?"
	for _, line := range strings.Split(report, "\n") {
		if m := slow.FindString(line); m != "" {
			out = append(out, m)
		}
		if m := compiling.FindStringSubmatch(line); m != nil {
			entry, arch = m[1], m[2]
		}
		m := frame.FindStringSubmatch(line)
		if m == nil || m[1] == "0" && m[2] == "0" && m[3] == "0" || ok[entry+" "+arch] || ok[entry+" all"] {
			continue
		}
		out = append(out, fmt.Sprintf("%s on %s: %s", entry, arch, strings.TrimSpace(line)))
	}
	return out
}
