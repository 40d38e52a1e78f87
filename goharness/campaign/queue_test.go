package campaign

import (
	"testing"

	"ridge/goharness/record"
)

func TestOneWarningTellsHowManyResultsFoundNoFilledQueue(t *testing.T) {
	result := func(op, queue string) record.Result {
		return record.Result{Op: op, Status: record.OK, Conditions: &record.Conditions{Launching: []record.Launching{{Queue: queue}}}}
	}
	all := []record.Result{result("gemm", "all 17 operations behind a blocking kernel"), {Op: "gemm"}, {Op: "sum", Conditions: &record.Conditions{}}}
	if got := queueWarnings(all); got != nil {
		t.Errorf("%q where every queue was filled", got)
	}
	for _, op := range []string{"copy_h2d", "copy_h2d", "copy_d2h", "a", "b", "c"} {
		all = append(all, result(op, record.QueueNotFilled+"the blocking kernel gave up after 250ms"))
	}
	all = append(all, result("gemm", record.QueueNotFilled+"no kernel"))
	got := queueWarnings(all)
	want := "in 7 of 8 results (copy_h2d, copy_d2h, a, b and 2 more) the device's queue was not filled before it began, so that the host's launches may lie in their times (conditions.launching of each): the blocking kernel gave up after 250ms, no kernel"
	if len(got) != 1 || got[0] != want {
		t.Errorf("%q, want one: %s", got, want)
	}
}
