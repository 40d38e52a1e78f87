package main

import (
	"slices"
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
