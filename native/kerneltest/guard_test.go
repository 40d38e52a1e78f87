//go:build cgo && linux

package kerneltest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/internal/badguard"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

// A length off every vector: an operand of 13 floats begins at 12 modulo 16 when its end is flush.
func TestEveryPlantedAccessBesideAnOperandIsReportedWithItsKernel(t *testing.T) {
	faults, err := kerneltest.Guard(&native.Backend{Families: []kernel.Family{badguard.Family()}},
		[]op.Op{kerneltest.Op(t, "stream_copy", record.FP32, map[string]string{"n": "13"})})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ // kernel and flush side: how the report ends
		"bad_read_after end":       "1 bytes after the last of tensor a (52 bytes)",
		"bad_read_before start":    "1 bytes before the start of tensor a",
		"bad_read_vector end":      "9 bytes after the last of tensor a (52 bytes)",
		"bad_write_after end":      "1 bytes after the last of tensor y (52 bytes)",
		"bad_aligned end":          "an operand taken for aligned, or a wild pointer",
		"bad_workspace_read start": "1 bytes before the start of the workspace",
		"bad_workspace_write end":  "it wrote after the end of its workspace",
		"bad_fails end":            "it returned status 1",
		"bad_fails start":          "it returned status 1",
	}
	if badguard.Sanitized() {
		for _, side := range []string{"end", "start"} {
			for _, k := range []string{"bad_stack_read ", "bad_stack_vector ", "bad_overflow "} {
				want[k+side] = "(a sanitizer's report stands above)"
			}
		}
	}
	for _, threads := range []int{1, 3} {
		left := maps.Clone(want)
		for _, f := range faults {
			if f.Threads != threads {
				continue
			}
			key := f.Kernel + " " + f.Flush
			if end, ok := left[key]; !ok || !strings.HasSuffix(f.What, end) {
				t.Errorf("unexpected fault: %v", f)
			}
			delete(left, key)
		}
		for key := range left {
			t.Errorf("threads=%d: %s was not reported", threads, key)
		}
	}
}

func TestOperandsWithoutElementsHaveNoAccessibleByte(t *testing.T) {
	faults, err := kerneltest.Guard(&native.Backend{Families: []kernel.Family{badguard.Family()}},
		[]op.Op{kerneltest.Op(t, "stream_copy", record.FP32, map[string]string{"n": "0"})})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, f := range faults {
		named[f.Kernel+" "+f.Flush] = true
	}
	for _, want := range []string{"bad_read_after end", "bad_read_after start", "bad_read_before end", "bad_read_before start"} {
		if !named[want] {
			t.Errorf("%s was not reported", want)
		}
	}
	if named["bad_none end"] || named["bad_none start"] {
		t.Error("the faultless kernel was reported")
	}
}

// An emulator that stands still after a fork is no fault of the kernel it stood in; a kernel that always does is one.
func TestAChildThatItsAlarmDoesNotEndIsEndedAndItsStepRunAgain(t *testing.T) {
	var faults []kerneltest.Fault
	for within := 300 * time.Millisecond; ; within *= 3 {
		family, err := badguard.Stuck() // stands still once each time
		if err != nil {
			t.Fatal(err)
		}
		back := kerneltest.SetGuardTime(within)
		faults, err = kerneltest.Guard(&native.Backend{Families: []kernel.Family{family}},
			[]op.Op{kerneltest.Op(t, "stream_copy", record.FP32, map[string]string{"n": "13"})})
		back()
		if err != nil {
			t.Fatal(err)
		}
		// On a busy machine a child may take so long to come to its kernel, where the alarm ends it, or through one that is without fault.
		early := fmt.Sprintf("it did not end within %v", within)
		slow := func(f kerneltest.Fault) bool {
			return f.What == early || f.Kernel != "bad_stuck" && strings.HasPrefix(f.What, early)
		}
		if within > 2*time.Second || !slices.ContainsFunc(faults, slow) {
			break
		}
	}
	if len(faults) == 0 {
		t.Error("bad_stuck was not reported")
	}
	for _, f := range faults {
		if f.Kernel != "bad_stuck" || !strings.Contains(f.What, "nor by its alarm, 3 times") {
			t.Errorf("unexpected fault: %v", f)
		}
	}
}
