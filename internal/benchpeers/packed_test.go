//go:build cgo && linux

package main

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// Ours with an operand packed beforehand is a contender of its own name; nobody else is asked for it.
func TestOursPackedIsAContenderOfItsOwn(t *testing.T) {
	rows, err := table(rows(), []plan.Peak{{ISA: "avx2", DType: record.FP32}}, []int{1})
	if err != nil {
		t.Fatal(err)
	}
	for group, name := range map[string]string{"GEMM skinny fp32": "ridge packed", "ResNet-50 fp32, batch 1": "ridge packed nhwc", "Depthwise fp32": "", "GEMM batched fp32": ""} {
		r := rows[slices.IndexFunc(rows, func(r row) bool { return r.group == group })]
		found := ""
		for _, e := range r.entries {
			if e.ask.Params["packed"] == "1" {
				found += e.name
				if e.role != ours {
					t.Errorf("%s: %s is asked for a packed operand", group, e.name)
				}
			}
		}
		if found != name {
			t.Errorf("%s: %q asked for a packed operand, want %q", group, found, name)
		}
	}
}

func TestTheTableSaysThatOursWasPackedBeforehand(t *testing.T) {
	even := interval{1, 1, 1}
	d := &document{rows: []result{{ID: "a", Group: "convolutions", Label: "a", Op: "conv2d", Threads: 1, Metric: "gflops", FLOPs: 1, Ratio: &even,
		Ours: figures{Name: "ridge packed nhwc", Kernel: "k", NS: even, Best: 1}, Peers: []figures{{Name: "oneDNN", NS: even, Best: 1}}}}}
	if text := string(d.markdown()); !strings.Contains(text, "(NHWC, packed beforehand, k)") {
		t.Errorf("it does not in\n%s", text)
	}
}
