package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	compiling = regexp.MustCompile(`Compiling entry function '([^']+)' for '([^']+)'`)
	frame     = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
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

// spills lists the entries of a ptxas -v report that have a stack frame or spills and are not allowed.
func spills(report string, ok map[string]bool) []string {
	var out []string
	entry, arch := "?", "?"
	for _, line := range strings.Split(report, "\n") {
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
