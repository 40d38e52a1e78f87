//go:build cgo && linux

package main

import (
	"maps"
	"slices"
	"testing"

	"ridge/goharness/op"
)

func TestRandomRowsAreShapesOfTheirOpAndTheSameForASeed(t *testing.T) {
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		spec := kind + "/fp32:7:40"
		rows, err := randomRows(spec)
		if err != nil || len(rows) != 40 {
			t.Fatalf("%s: %d rows, %v", spec, len(rows), err)
		}
		again, _ := randomRows(spec)
		other, _ := randomRows(kind + "/fp32:8:40")
		same := 0
		for i, r := range rows {
			if _, err := op.Builtin().New(r.op, r.params, r.dtype); err != nil {
				t.Errorf("%s: %s: %v", spec, r.label, err)
			}
			if !maps.Equal(r.params, again[i].params) || r.label != again[i].label {
				t.Errorf("%s: row %d is %s, then %s", spec, i, r.label, again[i].label)
			}
			if r.label == other[i].label {
				same++
			}
		}
		if same > 4 {
			t.Errorf("%s: %d of 40 rows are those of another seed", spec, same)
		}
	}
}

func TestRandomRowsRefuseWhatIsNoSpec(t *testing.T) {
	for _, spec := range []string{"", "conv2d", "conv2d:1:1", "pool/fp32:1:1", "gemm/fp32:x:1", "gemm/fp32:-1:1", "gemm/fp32:1:0", "gemm/fp32:1:99999", "gemm/fp32:1:1:1"} {
		if rows, err := randomRows(spec); err == nil {
			t.Errorf("%q: %d rows, expected an error", spec, len(rows))
		}
	}
}
