//go:build cuda && linux && cgo

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// callLog is what the tests' driver noted: the functions that were called, in order, and what was left when a context was released.
func callLog(t *testing.T, file string) (calls, left []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if what, is := strings.CutPrefix(line, "left "); is {
			left = append(left, what)
		} else if line != "" {
			calls = append(calls, line)
		}
	}
	return calls, left
}

// visit is one use of a device, with every kind of call that a worker makes.
type visit struct {
	err      error    // the first
	warnings []string // of samples that went another way
	released int      // calls before the device's things were given back, where nothing failed
}

func visitDevice(t *testing.T, log string) (v visit) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		return visit{err: err}
	}
	var all []backend.Executable
	defer func() {
		if v.err == nil {
			calls, _ := callLog(t, log)
			v.released = len(calls)
		}
		for _, e := range all {
			if l, ok := e.(backend.LaunchReporter); ok {
				_, w := l.Launching()
				v.warnings = append(v.warnings, w...)
			}
			_ = e.Release()
		}
		d.(backend.Trimmer).Trim()
		_ = d.Close()
	}()
	prepare := func(o op.Op, sets int) (backend.Executable, error) {
		e, err := d.Prepare(op.Single(o), backend.PrepareOptions{Sets: sets})
		if err == nil {
			all = append(all, e)
			err = e.Fill(false, 0)
		}
		return e, err
	}
	steps := []func() error{
		func() error { _, _, err := d.(backend.Accelerator).FreeMemory(); return err },
		func() error {
			e, err := prepare(cudatest.Op(t, "copy", record.FP32, "rows=1,cols=5"), 2)
			if err != nil {
				return err
			}
			if err := e.Run(1); err != nil {
				return err
			}
			if _, _, _, err := e.ReadRaw("y"); err != nil {
				return err
			}
			if _, err := e.Measure(t.Context(), 3, 2); err != nil { // on the stream
				return err
			}
			_, err = e.Measure(t.Context(), 20, 2) // in graphs
			return err
		},
		func() error { // page-locked memory of the host
			e, err := prepare(cudatest.Op(t, "copy_h2d", record.FP32, "bytes=64"), 1)
			if err != nil {
				return err
			}
			return e.Run(1)
		},
		func() error { // a derived tensor, more than 48 KiB of shared memory and tensor maps
			e, err := d.Prepare(op.Single(cudatest.Op(t, "gemm", record.BF16, "m=64,n=64,k=64")), backend.PrepareOptions{Kernel: "gemm_bf16_sm90"})
			if err == nil {
				all = append(all, e)
			}
			return err
		},
		func() error { // a kernel that stays
			e, err := prepare(cudatest.Op(t, "dispatch_persistent", record.FP64, ""), 1)
			if err != nil {
				return err
			}
			_, err = e.Measure(t.Context(), 2, 2)
			return err
		},
		func() error { // streams of two priorities
			e, err := prepare(cudatest.Op(t, "dispatch_priority", record.FP64, ""), 1)
			if err != nil {
				return err
			}
			_, err = e.Measure(t.Context(), 2, 2)
			return err
		},
		func() error { _, err := d.(backend.EventClock).EventResolutionNS(); return err },
		d.Synchronize,
		func() error { _, err := d.MeasureClock(false); return err }, // which the model takes longest for
	}
	for _, step := range steps {
		if v.err = step(); v.err != nil {
			return v
		}
	}
	return v
}

// gives names the calls that return what another one took.
func gives(call string) bool {
	return slices.Contains([]string{"cuMemFree_v2", "cuMemFreeHost", "cuEventDestroy_v2", "cuGraphDestroy", "cuGraphExecDestroy", "cuModuleUnload", "cuStreamDestroy_v2"}, call)
}

// Every call that is made of the driver fails once, in every way that matters: the context lost, memory missing, a refusal. The
// device says so in CUDA's words, nothing hangs, nothing is left, and the next one to open it finds it well.
func TestEveryCallOfTheDriverMayFail(t *testing.T) {
	log := filepath.Join(t.TempDir(), "calls")
	t.Setenv("RIDGE_FAKE_CALLS", log)
	visitDevice(t, log) // the second finds the driver open
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	whole := visitDevice(t, log)
	calls, left := callLog(t, log)
	if whole.err != nil || len(left) > 0 || len(calls) < 150 || whole.released == 0 {
		t.Fatalf("%+v after %d calls, left %v", whole, len(calls), left)
	}
	var seen []string
	for _, c := range calls {
		if !slices.Contains(seen, c) {
			seen = append(seen, c)
		}
	}
	t.Logf("%d calls of %d functions", len(calls), len(seen))
	names := map[int]string{2: "CUDA_ERROR_OUT_OF_MEMORY (2)", 700: "CUDA_ERROR_ILLEGAL_ADDRESS (700)", 801: "CUDA_ERROR_NOT_SUPPORTED (801)", 999: "CUDA_ERROR_UNKNOWN (999)"}
	for _, code := range []int{700, 801, 2, 999} {
		if testing.Short() && code != 700 {
			continue
		}
		for n := 1; n <= len(calls); n++ {
			what := fmt.Sprintf("%s, call %d of %d, gives %d", calls[n-1], n, len(calls), code)
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
			t.Setenv("RIDGE_FAKE_CALL", fmt.Sprintf("%d:%d", n, code))
			done := make(chan visit, 1)
			go func() { done <- visitDevice(t, log) }()
			var v visit
			select {
			case v = <-done:
			case <-time.After(time.Minute):
				t.Fatalf("%s: it hangs", what)
			}
			told := strings.Join(v.warnings, "; ")
			if v.err != nil {
				told += v.err.Error()
			}
			_, left := callLog(t, log)
			var lost *backend.LostError
			keeps := code == 700 || code == 999
			switch {
			case n > whole.released || gives(calls[n-1]) && !keeps: // nothing is asked of the device any more
			case code == 2 && v.err == nil && (calls[n-1] == "cuMemAlloc_v2" || calls[n-1] == "cuMemHostAlloc"): // tried again, without the blocks that were kept
			case !strings.Contains(told, names[code]) && !(gives(calls[n-1]) && v.err != nil):
				t.Errorf("%s: it says %q", what, told)
			case keeps != errors.As(v.err, &lost):
				t.Errorf("%s: %v, a device that is lost: %v", what, v.err, keeps)
			}
			if most := map[bool]int{true: 1}[gives(calls[n-1])]; !keeps && len(left) > most {
				t.Errorf("%s: %v", what, left)
			}
		}
		t.Setenv("RIDGE_FAKE_CALL", "")
		if v := visitDevice(t, log); v.err != nil {
			t.Fatalf("after %d at every call: %v", code, v.err)
		}
	}
}

// An older driver says at loading, or at the first look at an entry where it loads lazily, that it cannot run the code: that is no failure of the case.
func TestCodeOfALaterToolkitThanTheDriverIsUnsupported(t *testing.T) {
	log := filepath.Join(t.TempDir(), "calls")
	if res := run(t, newRunner(t, "RIDGE_FAKE_CALLS="+log), copyCase); res.Status != record.OK {
		t.Fatal(res.Reason)
	}
	calls, _ := callLog(t, log)
	for _, call := range []string{"cuModuleLoadData", "cuModuleGetFunction"} {
		n := slices.Index(calls, call) + 1
		if n == 0 {
			t.Fatalf("no %s among %d calls", call, len(calls))
		}
		for code, text := range map[int]string{200: "(200)", 222: "(222)"} {
			res := run(t, newRunner(t, fmt.Sprintf("RIDGE_FAKE_CALL=%d:%d", n, code)), copyCase)
			if res.Status != record.Unsupported || !strings.Contains(res.Reason, text) || !strings.Contains(res.Reason, "a newer driver") {
				t.Errorf("%s gives %d: %s, %s", call, code, res.Status, res.Reason)
			}
		}
	}
}

// In a worker: the case has a status and CUDA's words, or is measured after all; the next case is measured, by a new worker where the context was lost.
func TestACallThatFailsInAWorkerCostsOneCaseAtMost(t *testing.T) {
	log := filepath.Join(t.TempDir(), "calls")
	if res := run(t, newRunner(t, "RIDGE_FAKE_CALLS="+log), copyCase); res.Status != record.OK {
		t.Fatal(res.Reason)
	}
	calls, _ := callLog(t, log)
	first, last := map[string]int{}, map[string]int{}
	for i, c := range calls {
		if first[c] == 0 {
			first[c] = i + 1
		}
		last[c] = i + 1
	}
	names := map[int]string{2: "CUDA_ERROR_OUT_OF_MEMORY (2)", 700: "CUDA_ERROR_ILLEGAL_ADDRESS (700)"}
	for c := range first {
		var places []int
		for _, n := range []int{first[c], (first[c] + last[c]) / 2, last[c]} {
			if !slices.Contains(places, n) && n < len(calls)-20 { // how many there are differs from run to run
				places = append(places, n)
			}
		}
		if testing.Short() {
			places = places[:min(1, len(places))]
		}
		for _, n := range places {
			for code, name := range names {
				t.Run(calls[n-1]+" "+strconv.Itoa(n)+" "+strconv.Itoa(code), func(t *testing.T) {
					r := newRunner(t, fmt.Sprintf("RIDGE_FAKE_CALL=%d:%d", n, code), "RIDGE_FAKE_FAIL_ONCE="+filepath.Join(t.TempDir(), "failed"))
					res := run(t, r, copyCase)
					told := res.Reason + strings.Join(res.Warnings, "; ")
					switch {
					case res.Status == record.OK && res.Verification.Passed:
					case !slices.Contains([]record.Status{record.Crashed, record.Unsupported, record.Skipped}, res.Status) || !strings.Contains(told, name):
						t.Errorf("%s (%s)", res.Status, told)
					}
					next := run(t, r, fillCase)
					if res.Status == record.OK && !strings.Contains(told, name) && strings.Contains(next.Reason, name) {
						next = run(t, r, fillCase) // the first case made fewer calls than when they were counted: the call was this one's
					}
					if next.Status != record.OK {
						t.Errorf("the next case: %s (%s)", next.Status, next.Reason)
					}
				})
			}
		}
	}
}
