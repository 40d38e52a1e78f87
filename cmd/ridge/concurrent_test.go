//go:build linux && cgo

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// What the toys of this process and of its workers are like.
const (
	toysEnv = "RIDGE_TEST_TOYS" // how many there are
	goneEnv = "RIDGE_TEST_GONE" // the one that is there and lost
	meetEnv = "RIDGE_TEST_MEET" // a folder: no worker measures before so many as there are toys do
	holdEnv = "RIDGE_TEST_HOLD" // programs that a worker measures before it hangs
)

// toyPlatform is a platform of several devices, each worker of which does as the environment says; nil where there is none.
func toyPlatform() backend.Backend {
	n, _ := strconv.Atoi(os.Getenv(toysEnv))
	if n == 0 {
		return nil
	}
	b := &fakebackend.Backend{Platform: "toy", Memory: 1 << 20, Facts: map[string]string{record.FactSimulated: "a toy", "l2_bytes": "65536", "multiprocessors": "1"}, // short probes
		Spaces: map[string]backend.Space{"gemm_fast": {Class: "toys", Start: []map[string]int64{{"tile": 7}, {"tile": 9}}}}}
	for i := range n {
		b.IDs = append(b.IDs, fmt.Sprintf("toy:%d", i))
	}
	if gone := os.Getenv(goneEnv); gone != "" {
		b.Gone = []string{gone}
	}
	hold, _ := strconv.Atoi(os.Getenv(holdEnv))
	var programs []string
	b.Before = func(p op.Program) {
		if name := fmt.Sprint(p.Steps[0].Op.Params()); !slices.Contains(programs, name) {
			programs = append(programs, name)
		}
		if dir := os.Getenv(meetEnv); dir != "" && len(programs) == 1 {
			meet(dir, n)
		}
		if hold > 0 && len(programs) > hold {
			time.Sleep(time.Hour) // the parent ends it
		}
	}
	return b
}

// meet waits until so many processes are there, or leaves a file that says that they never were.
func meet(dir string, n int) {
	_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("worker-", os.Getpid())), nil, 0o600)
	for range 60 * 100 {
		if there, _ := filepath.Glob(filepath.Join(dir, "worker-*")); len(there) >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_ = os.WriteFile(filepath.Join(dir, "alone"), nil, 0o600)
}

// toys gives this process and its workers a platform of n devices.
func toys(t *testing.T, n int) {
	t.Helper()
	t.Setenv(toysEnv, fmt.Sprint(n))
	was := extraBackends
	extraBackends = append(slices.DeleteFunc(slices.Clone(was), func(b backend.Backend) bool { return b.Name() == "toy" }), toyPlatform())
	t.Cleanup(func() { extraBackends = was })
}

// sums are products of n sizes on devices.
func sums(devices string, n int, more ...string) []string {
	var sizes []string
	for i := range n {
		sizes = append(sizes, fmt.Sprint(8+i))
	}
	return append([]string{"bench", "gemm", "--m", strings.Join(sizes, ","), "--n", "8", "--k", "8", "--precision", "fp32", "--quick", "--no-ceilings", "--device", devices}, more...)
}

func TestConcurrentWorkersAreAliveAtTheSameTime(t *testing.T) {
	for n, devices := range map[int]string{2: "toy:0,toy:1", 3: "toy:all"} {
		toys(t, n)
		dir := t.TempDir()
		t.Setenv(meetEnv, dir)
		code, stdout, stderr := ridge(t, sums(devices, 3, "--concurrent", "--data-dir", t.TempDir(), "--json")...)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		if met, _ := filepath.Glob(filepath.Join(dir, "*")); len(met) != n || strings.Contains(strings.Join(met, " "), "alone") {
			t.Errorf("%d toys were measured by %v", n, met)
		}
		doc, err := record.ReadCalibration(strings.NewReader(stdout))
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Devices) != n || len(doc.Results) != 3*n || !doc.Summary.Complete {
			t.Errorf("%d devices, %d results, %+v", len(doc.Devices), len(doc.Results), doc.Summary)
		}
		for _, r := range doc.Results {
			with := r.Conditions.With()
			if len(with) != n-1 || slices.Contains(with, r.Device) {
				t.Errorf("%s was measured beside %v", r.ID, with)
			}
			if !strings.Contains(stderr, "\nok          "+r.Device+" ") && !strings.HasPrefix(stderr, "ok          "+r.Device+" ") && !strings.Contains(stderr, "\nnoisy       "+r.Device+" ") {
				t.Errorf("no line of %s: %s", r.Device, stderr)
			}
		}
		if n > 2 {
			continue
		}
		// What a result says measures it again.
		words := strings.Fields(strings.NewReplacer("'", "", "ridge bench", "bench").Replace(doc.Results[0].Reproduce))
		again := measured(t, append(words, "--no-ceilings")...)
		if r := again.Results; len(r) != 2 || r[0].ID != doc.Results[0].ID || !slices.Equal(r[0].Conditions.With(), doc.Results[0].Conditions.With()) {
			t.Errorf("%q gave %d results", words, len(r))
		}
	}
}

func TestAConcurrentDeviceThatIsLostIsNotMissedByTheOthers(t *testing.T) {
	toys(t, 3)
	t.Setenv(goneEnv, "toy:1")
	extraBackends[len(extraBackends)-1].(*fakebackend.Backend).Gone = nil // it is listed, as a device that is lost is
	code, stdout, stderr := ridge(t, sums("toy:all", 2, "--concurrent", "--data-dir", t.TempDir(), "--json")...)
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if code != exitFault || err != nil || !strings.Contains(stderr, "device toy:1") || len(doc.Results) != 4 || doc.Summary.Complete {
		t.Fatalf("exit code %d, %v, %d results: %s", code, err, len(doc.Results), stderr)
	}
	for _, r := range doc.Results {
		if with := r.Conditions.With(); len(with) != 1 || r.Device == "toy:1" || slices.Contains(with, "toy:1") {
			t.Errorf("%s was measured beside %v", r.ID, with)
		}
	}
}

func TestAConcurrentRunThatASignalEndsIsResumed(t *testing.T) {
	toys(t, 2)
	dir := t.TempDir()
	args := sums("toy:0,toy:1", 6, "--concurrent", "--data-dir", dir)
	first := process(t, args...)
	first.Env = append(first.Env, holdEnv+"=3")
	said, id := signalled(t, first, 6) // after three of each; both workers hang then
	if last := said[len(said)-1]; !strings.Contains(last, "toy:0/") || !strings.Contains(last, "toy:1/") {
		t.Fatalf("the last line does not say what was in flight: %q", last)
	}
	code, _, errs := ridge(t, append(sums("toy:0,toy:1", 6, "--data-dir", dir), "--resume", id)...)
	if code != exitUsage || !strings.Contains(errs, "other options") {
		t.Errorf("resumed one after the other: exit code %d: %s", code, errs)
	}
	code, stdout, errs := ridge(t, append(args, "--resume", id, "--json")...)
	doc, err := record.ReadCalibration(bytes.NewReader([]byte(stdout)))
	if code != exitOK || err != nil || len(doc.Results) != 12 || doc.Summary.Resumed != 6 || !doc.Summary.Complete {
		t.Errorf("exit code %d, %v: %+v, %d results: %s", code, err, doc.Summary, len(doc.Results), errs)
	}
}

// A result beside others is no answer to how fast the device is alone.
func TestAConcurrentResultIsNotComparedWithALoneOne(t *testing.T) {
	toys(t, 2)
	dir := t.TempDir()
	for name, more := range map[string]string{"alone.json": "--no-tuning", "beside.json": "--concurrent"} {
		if code, _, stderr := ridge(t, sums("toy:0,toy:1", 1, more, "--data-dir", dir, "--output", filepath.Join(dir, name))...); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", name, code, stderr)
		}
	}
	code, stdout, stderr := ridge(t, "compare", filepath.Join(dir, "alone.json"), filepath.Join(dir, "beside.json"), "--data-dir", dir)
	if code != exitOK || strings.Count(stdout, "not comparable") < 2 || !strings.Contains(stdout, "concurrency: alone → beside toy:1") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	const id = "toy:0/gemm/fp32/m=8,n=8,k=8/threads=1/hot"
	for _, name := range []string{id, id + " beside toy:1"} {
		code, stdout, stderr := ridge(t, "history", "trend", name, "--data-dir", dir, "--json")
		if code != exitOK || strings.Count(stdout, `"run_id"`) != 1 {
			t.Errorf("trend of %s: exit code %d: %s%s", name, code, stdout, stderr)
		}
	}
}
