package plan

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// A selection that nothing meets is refused, whether the plan is built or only checked.
func TestASelectionOfNothingIsRefusedByName(t *testing.T) {
	for _, tc := range []struct {
		name       string
		operations []string
		precisions []record.DType
		want       []string // parts of the error; none: it is taken
	}{
		{"a suite without the precision", []string{"stream"}, []record.DType{record.BF16}, []string{"stream", "bf16", "fp32,fp64"}},
		{"several without", []string{"relu", "dot"}, []record.DType{record.INT8, record.TF32}, []string{"relu,dot", "int8,tf32", "fp32"}},
		{"an op of no suite", []string{"peak"}, nil, []string{"peak", "no suite"}},
		{"one of two has it", []string{"stream", "gemm"}, []record.DType{record.BF16}, nil},
		{"one of two precisions", []string{"stream"}, []record.DType{record.BF16, record.FP64}, nil},
		{"a precision listed as unsupported", []string{"gemm"}, []record.DType{record.TF32}, nil},
		{"everything", nil, nil, nil},
	} {
		for _, quick := range []bool{true, false} {
			o := host(func(o *Options) { o.Operations, o.Precisions, o.Quick = tc.operations, tc.precisions, quick })
			_, err := Build(o)
			check := o.CheckSelection()
			if (err == nil) != (tc.want == nil) || (check == nil) != (tc.want == nil) {
				t.Errorf("%s, quick %v: Build %v, CheckSelection %v", tc.name, quick, err, check)
				continue
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) || err.Error() != check.Error() {
					t.Errorf("%s: %v (checked: %v), want %q in it", tc.name, err, check, part)
				}
			}
		}
	}
}

// Beside the ops that have a precision, each selected op that lacks it says so once.
func TestAPrecisionThatAnOpLacksIsOneRowWithTheReason(t *testing.T) {
	rows, others := map[string]int{}, 0
	for _, c := range build(t, func(o *Options) {
		o.Operations, o.Precisions = []string{"stream", "dot", "gemm"}, []record.DType{record.BF16}
	}).Cases {
		switch {
		case !c.Unsupported:
			others++
		case c.Program.DType != record.BF16 || !strings.Contains(c.SkipReason, "bf16"):
			t.Errorf("%s: %s", c.ID, c.SkipReason)
		default:
			rows[c.Program.Op]++
		}
	}
	want := []string{"dot", "stream_add", "stream_copy", "stream_scale", "stream_triad"}
	for _, name := range want {
		if rows[name] != 1 {
			t.Errorf("%s has %d rows, want 1", name, rows[name])
		}
	}
	if len(rows) != len(want) || others == 0 {
		t.Errorf("unsupported rows %v, %d others", rows, others)
	}
	for _, c := range build(t, nil).Cases {
		if c.Unsupported && slices.Contains([]record.DType{record.BF16, record.FP64}, c.Program.DType) {
			t.Errorf("%s is listed although nobody asked for its precision", c.ID)
		}
	}
}

// A case has the same time whether a suite plans it or its id names it.
func TestTheBudgetGrowsWithTheWork(t *testing.T) {
	for _, quick := range []bool{true, false} {
		o := host(func(o *Options) { o.Quick = quick })
		for _, c := range build(t, func(o *Options) { o.Quick = quick }).Cases {
			if c.Unsupported {
				continue
			}
			x, err := op.Builtin().New(c.Program.Op, c.Program.Params, c.Program.DType)
			if err != nil {
				t.Fatal(err)
			}
			if want := o.Budget(x.FLOPs(), x.Bytes()); c.BudgetNS != want {
				t.Errorf("%s: %d ns, want %d", c.ID, c.BudgetNS, want)
			}
		}
		small, cube := o.Budget(0, 0), o.Budget(2*8192*8192*8192, 3*4*8192*8192)
		if cube != small+extraBudget || o.Budget(40e6, 0) != small+1e6 || o.Budget(40e6, 9e6) != small+3e6 {
			t.Errorf("quick %v: %d ns for no work, %d for 8192³, %d for 40 MFLOP, %d with 9 MB", quick, small, cube, o.Budget(40e6, 0), o.Budget(40e6, 9e6))
		}
	}
}

// The pointer chase has a precision that no suite has.
func TestTheIntegersOfThePointerChaseMayBeSelected(t *testing.T) {
	o := host(func(o *Options) { o.Precisions, o.ProbesOnly = []record.DType{record.INT64}, true })
	if _, err := Build(o); err != nil {
		t.Error(err)
	}
	o.ProbesOnly = false
	if _, err := Build(o); err == nil || !strings.Contains(err.Error(), "no such case") {
		t.Errorf("suites at int64: %v", err)
	}
}
