package main

import (
	"slices"
	"testing"

	"ridge/goharness/record"
)

func TestLibrariesOlderThanTheChipUseItsInstructions(t *testing.T) {
	for _, c := range []struct {
		name string
		cpu  record.CPU
		want []string
	}{
		{"Zen 5", record.CPU{Vendor: "AuthenticAMD", Family: 26, Features: []string{"avx2", "avx512f", "avx512bf16"}}, []string{"OPENBLAS_CORETYPE=Cooperlake", "BLIS_ARCH_TYPE=0"}},
		{"Zen 5 whose host hides bf16", record.CPU{Vendor: "AuthenticAMD", Family: 26, Features: []string{"avx512f"}}, []string{"OPENBLAS_CORETYPE=SkylakeX", "BLIS_ARCH_TYPE=0"}},
		{"Zen 5 whose host hides AVX-512", record.CPU{Vendor: "AuthenticAMD", Family: 26, Features: []string{"avx2"}}, nil},
		{"Zen 4, known to both", record.CPU{Vendor: "AuthenticAMD", Family: 25, Features: []string{"avx512f", "avx512bf16"}}, nil},
		{"Intel, whose units BLIS knows by product names", record.CPU{Vendor: "GenuineIntel", Family: 6, Features: []string{"avx512f", "avx512bf16"}}, []string{"OPENBLAS_CORETYPE=SkylakeX", "BLIS_ARCH_TYPE=0"}},
		{"Intel without AVX-512", record.CPU{Vendor: "GenuineIntel", Family: 6, Features: []string{"avx2"}}, nil},
	} {
		if got := newerThanPeers(c.cpu); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
