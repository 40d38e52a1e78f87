//go:build cuda && linux && cgo

package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/cuda/fill"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// The test binary is its own worker.
const workerEnv = "RIDGE_CUDA_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		if err := runner.ServeProcess(server()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	cudatest.Main(m)
}

func server() *runner.Server {
	return &runner.Server{Backends: []backend.Backend{cuda.New()}, Ops: op.Builtin()}
}

// newRunner runs cases in worker processes with a further environment.
func newRunner(t *testing.T, env ...string) *runner.Runner {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner.Runner{Launch: runner.Process([]string{exe}, append(env, workerEnv+"=1"))}
	t.Cleanup(r.Close)
	return r
}

func run(t *testing.T, r *runner.Runner, id string) record.Result {
	t.Helper()
	k, err := plan.FromID(op.Builtin(), id)
	if err != nil {
		t.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 5
	res, err := r.Run(t.Context(), k)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return res
}

const (
	copyCase  = "cuda:0/copy/fp32/rows=3,cols=1000/threads=1/hot"
	fillCase  = "cuda:0/fill/bf16/rows=3,cols=1000/threads=1/hot"
	copyEntry = "stream_fp32_simt_copy"
)

func TestACaseIsVerifiedAndMeasuredInAWorker(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		id   string
		want record.Status
		says string // in the reason
	}{
		{copyCase, record.OK, ""},
		{"cuda:0/copy/fp32/rows=1,cols=100000/threads=1/cold", record.OK, ""},
		{"cuda:0/copy/fp32/rows=1,cols=5/threads=1/cold", record.Unsupported, "last-level cache of 4194304 bytes"},
		{"cuda:0/copy/fp32/rows=1000000,cols=1000/threads=1/hot", record.Skipped, "the free memory of fake device"},
		{"cuda:7/copy/fp32/rows=3,cols=1000/threads=1/hot", record.Unsupported, "expected cuda:0 to cuda:0"},
		{"cuda:0/clock/fp64/multiplications=16/threads=1/hot", record.Unsupported, "no CUDA kernel is registered for clock at fp64"},
	} {
		res := run(t, r, tc.id)
		if res.Status != tc.want || !strings.Contains(res.Reason, tc.says) {
			t.Errorf("%s: %s (%s), want %s (%s)", tc.id, res.Status, res.Reason, tc.want, tc.says)
		}
		if tc.want != record.OK {
			continue
		}
		if m := res.DeviceMemory; m == nil || m.EndBytes <= m.StartBytes || m.PeakBytes < m.EndBytes || m.ReservedBytes < m.EndBytes {
			t.Errorf("%s: memory %+v", tc.id, m)
		}
		c := res.Conditions
		if res.Mode == record.Cold && int64(c.BufferSets)*res.WorkingSetBytes < 2*4<<20 || res.Mode == record.Hot && c.BufferSets != 1 {
			t.Errorf("%s: %d sets of %d bytes, the second-level cache has 4 MiB", tc.id, c.BufferSets, res.WorkingSetBytes)
		}
		if !res.Verification.Passed || res.Kernel != "stream_fp32_simt" || res.Time == nil || res.Time.MedianNS <= 0 {
			t.Errorf("%s: kernel %s, verification %+v, time %+v", tc.id, res.Kernel, res.Verification, res.Time)
		}
		if c == nil || !strings.Contains(c.Driver, "fake driver") || !strings.HasPrefix(c.Compiler, "nvcc 1") {
			t.Errorf("%s: conditions %+v: a result of the fake driver must say so", tc.id, c)
		}
	}
}

// How samples reach the device is in the record, also where it is another way than was asked for.
func TestEveryResultSaysHowItsLaunchesReachedTheDevice(t *testing.T) {
	const long = "cuda:0/gemm/fp32/m=64,n=64,k=256/threads=1/hot"
	for _, tc := range []struct {
		name, id, fault string
		path, why       string
		queue           string
		warns           string // "": no warning
	}{
		{"long ones are not", long, "", record.LaunchStream, "long beside a launch", "all", ""},
		{"launches on a stream", "cuda:0/dispatch/fp64/-/threads=1/hot", "", record.LaunchStream, "are what is measured", "as the host fills it: ", ""},
		{"launches in a graph", "cuda:0/dispatch_graph/fp64/-/threads=1/hot", "", record.LaunchGraph, "are what is measured", "all", ""},
		{"tasks of a kernel that stays", "cuda:0/dispatch_persistent/fp64/-/threads=1/hot", "", record.LaunchResident, "are what is measured", "none: each of ", ""},
		{"launches of high priority", "cuda:0/dispatch_priority/fp64/-/threads=1/hot", "", record.LaunchPriority, "are what is measured", "on a stream of priority -5, while one of priority 0 ", ""},
		{"a queue that is full before it is filled", long, "queue:2", record.LaunchStream, "long beside", "not filled beforehand: the blocking kernel gave up after", "its samples were thrown away"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := run(t, newRunner(t, "RIDGE_FAKE_FAULT="+tc.fault), tc.id)
			if res.Status != record.OK || len(res.Conditions.Launching) != 1 {
				t.Fatalf("%s (%s): %+v", res.Status, res.Reason, res.Conditions)
			}
			l := res.Conditions.Launching[0]
			if l.Path != tc.path || !strings.Contains(l.Why, tc.why) || !strings.HasPrefix(l.Queue, tc.queue) {
				t.Errorf("%+v, want %s (%s), queue %s", l, tc.path, tc.why, tc.queue)
			}
			if got := strings.Join(res.Warnings, "; "); (tc.warns == "") != (got == "") || !strings.Contains(got, tc.warns) {
				t.Errorf("warnings %q, want %q", got, tc.warns)
			}
			if ns, ok := res.Conditions.EventResolutionNS.Get(); !ok || !(ns > 0) {
				t.Errorf("resolution of events: %+v", res.Conditions.EventResolutionNS)
			}
			if gated := tc.fault != "queue:2" && tc.name != "launches on a stream" && tc.path != record.LaunchResident && tc.path != record.LaunchPriority; strings.Contains(l.Clock, "opening") != gated {
				t.Errorf("clock anchored by %q", l.Clock)
			}
		})
	}
	// Where it never held, the whole device does without it; the first cases warn, and the conditions of the others say it.
	r := newRunner(t, "RIDGE_FAKE_FAULT=queue:2")
	for n, want := range []string{"gave up after 250ms", "gave up after 250ms", "gave up after 250ms", "3 cases", "3 cases"} {
		res := run(t, r, long)
		if q := res.Conditions.Launching[0].Queue; !strings.HasPrefix(q, record.QueueNotFilled) || !strings.Contains(q, want) || (n < 3) != (len(res.Warnings) > 0) {
			t.Errorf("case %d on a device whose queue is never filled: queue %q, warnings %q", n, q, res.Warnings)
		}
	}
	res := run(t, newRunner(t, "RIDGE_FAKE_FAULT=graph"), "cuda:0/dispatch_graph/fp64/-/threads=1/hot")
	if res.Status != record.Unsupported || !strings.Contains(res.Reason, "CUDA_ERROR_NOT_SUPPORTED (801)") {
		t.Errorf("a graph that cannot be made: %s (%s), want unsupported", res.Status, res.Reason)
	}
	res = run(t, newRunner(t, "RIDGE_FAKE_PRIORITY=0"), "cuda:0/dispatch_priority/fp64/-/threads=1/hot")
	if res.Status != record.Unsupported || !strings.Contains(res.Reason, "one priority of streams alone (0)") {
		t.Errorf("a device without priorities: %s (%s), want unsupported", res.Status, res.Reason)
	}
}

// An event that says it came before the one that it followed gives no time.
func TestEventsOutOfOrderAreNoTime(t *testing.T) {
	res := run(t, newRunner(t, "RIDGE_FAKE_FAULT=event:3"), copyCase)
	if res.Status != record.Crashed || !strings.Contains(res.Reason, "is not a time: check the device's clock") {
		t.Errorf("%s (%s)", res.Status, res.Reason)
	}
}

func TestAnOpThatMeasuresGraphsIsUnsupportedWithoutThem(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{Graphs: backend.GraphsOff})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Prepare(op.Single(cudatest.Op(t, "dispatch_graph", record.FP64, "")), backend.PrepareOptions{}); !backend.IsUnsupported(err) {
		t.Errorf("launches in a graph without graphs: %v", err)
	}
}

// A hundred launches a sample: graphs by default, else the reason why not.
func TestSamplesOfShortKernelsAreReplayedAsGraphs(t *testing.T) {
	for _, tc := range []struct{ name, graphs, fault, path, why, warns string }{
		{"by default", "", "", record.LaunchGraph, "a sample is 100 launches", ""},
		{"on", backend.GraphsOn, "", record.LaunchGraph, "a sample is 100 launches", ""},
		{"off", backend.GraphsOff, "", record.LaunchStream, "graphs are off", ""},
		{"none can be made", "", "graph", record.LaunchStream, "CUDA_ERROR_NOT_SUPPORTED (801)", "no graph: make a graph of 100 executions: CUDA_ERROR_NOT_SUPPORTED"},
	} {
		t.Setenv("RIDGE_FAKE_FAULT", tc.fault)
		d, err := cuda.New().Open("cuda:0", backend.OpenOptions{Graphs: tc.graphs})
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.Prepare(op.Single(cudatest.Op(t, "copy", record.FP32, "rows=1,cols=5")), backend.PrepareOptions{Sets: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Fill(false, 0); err != nil {
			t.Fatal(err)
		}
		if got, err := e.Measure(t.Context(), 100, 2); err != nil || len(got) != 2 {
			t.Fatalf("%s: %v, %v", tc.name, got, err)
		}
		l, warnings := e.(backend.LaunchReporter).Launching()
		if l.Path != tc.path || !strings.Contains(l.Why, tc.why) {
			t.Errorf("%s: %+v, want %s (%s)", tc.name, l, tc.path, tc.why)
		}
		if got := strings.Join(warnings, "; "); (tc.warns == "") != (got == "") || !strings.Contains(got, tc.warns) {
			t.Errorf("%s: warnings %q, want %q", tc.name, got, tc.warns)
		}
		if err := errors.Join(e.Release(), d.Close()); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// What a device can do to a case: the case says it in CUDA's words, and the run goes on in a
// new worker.
func TestADeviceThatFailsCostsOneCase(t *testing.T) {
	for _, tc := range []struct {
		name, fail string
		want       record.Status
		says       string
		aside      string // the quarantine's key; "": none
	}{
		{"illegal address while verifying", "illegal:" + copyEntry + ":1", record.Crashed, "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered", "stream_fp32_simt"},
		{"illegal address while measuring", "illegal:" + copyEntry + ":7", record.Crashed, "CUDA_ERROR_ILLEGAL_ADDRESS (700)", "stream_fp32_simt"},
		{"launch time-out", "timeout:" + copyEntry + ":1", record.Crashed, "CUDA_ERROR_LAUNCH_TIMEOUT (702): the launch timed out and was terminated", "stream_fp32_simt"},
		{"device lost", "lost:" + copyEntry + ":2", record.Crashed, "CUDA_ERROR_DEVICE_UNAVAILABLE (46)", "stream_fp32_simt"},
		{"memory error", "ecc:" + copyEntry + ":1", record.Crashed, "CUDA_ERROR_ECC_UNCORRECTABLE (214)", "stream_fp32_simt"},
		{"out of memory in a launch", "oom:" + copyEntry + ":1", record.Crashed, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", "stream_fp32_simt@copy"},
		{"abort in the driver", "abort:" + copyEntry + ":1", record.Crashed, "abort in stream_fp32_simt_copy as ordered", "stream_fp32_simt"},
		{"hang", "hang:" + copyEntry + ":1", record.TimedOut, "the worker was killed", "stream_fp32_simt@copy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			once := filepath.Join(t.TempDir(), "failed")
			r := newRunner(t, "RIDGE_FAKE_FAIL="+tc.fail, "RIDGE_FAKE_FAIL_ONCE="+once)
			if tc.want == record.TimedOut {
				r.Deadline = func(runner.Request, record.Case, *runner.Prepared) time.Duration { return 2 * time.Second }
			}
			res := run(t, r, copyCase)
			if res.Status != tc.want || !strings.Contains(res.Reason, tc.says) {
				t.Errorf("%s (%s), want %s (%s)", res.Status, res.Reason, tc.want, tc.says)
			}
			if _, there := r.Quarantined()[tc.aside]; !there || len(r.Quarantined()) != 1 {
				t.Errorf("set aside: %v, want %s", r.Quarantined(), tc.aside)
			}
			r.Deadline = nil
			if next := run(t, r, fillCase); next.Status != record.OK {
				t.Errorf("the next case: %s (%s)", next.Status, next.Reason)
			}
			if again := run(t, r, copyCase); again.Status != record.Skipped {
				t.Errorf("a kernel set aside: %s (%s), want skipped", again.Status, again.Reason)
			}
		})
	}
}

// The host stops handing over tasks as soon as the kernel that stays has failed.
func TestAFailureUnderAKernelThatStaysCostsOneCase(t *testing.T) {
	r := newRunner(t, "RIDGE_FAKE_FAIL=illegal:dispatch_fp64_simt_persistent:2", "RIDGE_FAKE_FAIL_ONCE="+filepath.Join(t.TempDir(), "failed"))
	res := run(t, r, "cuda:0/dispatch_persistent/fp64/-/threads=1/hot")
	if res.Status != record.Crashed || !strings.Contains(res.Reason, "CUDA_ERROR_ILLEGAL_ADDRESS (700)") || r.Quarantined()["dispatch_fp64_simt_persistent"] == "" {
		t.Errorf("%s (%s), set aside %v", res.Status, res.Reason, r.Quarantined())
	}
	if next := run(t, r, fillCase); next.Status != record.OK {
		t.Errorf("the next case: %s (%s)", next.Status, next.Reason)
	}
}

func TestADeviceLostWhileInputsAreMadeCostsOneCase(t *testing.T) {
	// Verify sees it first, so the kernel of the case is blamed for it;
	// the message names the tensor, and the run goes on.
	r := newRunner(t, "RIDGE_FAKE_FAIL=illegal:fill_simt:1", "RIDGE_FAKE_FAIL_ONCE="+filepath.Join(t.TempDir(), "failed"))
	if res := run(t, r, copyCase); res.Status != record.Crashed || !strings.Contains(res.Reason, "fill tensor a") {
		t.Errorf("%s (%s)", res.Status, res.Reason)
	}
	if res := run(t, r, fillCase); res.Status != record.OK {
		t.Errorf("the next case: %s (%s)", res.Status, res.Reason)
	}
}

func TestADeviceOfAnotherGenerationGetsNoKernelThatItCannotRun(t *testing.T) {
	r := newRunner(t, "RIDGE_FAKE_CAPABILITY=7.5")
	if res := run(t, r, copyCase); res.Status != record.Unsupported || !strings.Contains(res.Reason, "needs compute capability 8.0, this device has 7.5") {
		t.Errorf("%s (%s)", res.Status, res.Reason)
	}
}

// Two arrays of 64 bytes with lead and guard; what an earlier case left is held for the next.
func TestADevicesMemoryIsWhatItsBuffersAndTheirReserveHold(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := d.(backend.Reserver)
	prepare := func(shape string) int64 {
		e, err := d.Prepare(op.Single(cudatest.Op(t, "copy", record.FP32, shape)), backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.Release() }()
		return d.MemoryInUse()
	}
	large := prepare("rows=1,cols=1000")
	if held, peak := r.MemoryReserved(); large != 2*(256+4000+64) || held != large || peak != large {
		t.Errorf("in use %d, held %d, peak %d", large, held, peak)
	}
	small := prepare("rows=1,cols=16")
	if held, peak := r.MemoryReserved(); small != 2*(256+64+64) || held != large+small || peak != small {
		t.Errorf("in use %d, held %d, peak %d after %d", small, held, peak, large)
	}
	d.(backend.Trimmer).Trim()
	if held, peak := r.MemoryReserved(); held != 0 || peak != 0 {
		t.Errorf("after everything was returned: held %d, peak %d", held, peak)
	}
}

func TestDevicesDescribeThemselves(t *testing.T) {
	ds, err := cuda.New().Devices()
	if err != nil || len(ds) != 1 {
		t.Fatal(ds, err)
	}
	d := ds[0]
	want := map[string]string{"compute_capability": "9.0", "multiprocessors": "4", "boost_clock_mhz": "1980", "memory_clock_mhz": "3201",
		"memory_bus_bits": "6144", "l2_bytes": "4194304", "shared_bytes_per_block": "232448",
		"theoretical_fp32_gflops": "2028", "theoretical_bf16_tensor_gflops": "32440", "theoretical_bandwidth_gbps": "4917",
		"pci": "0001:41:00.0", "devices": "1", record.FactSimulated: "fake driver of the tests: kernels run in the CPU execution model",
		"driver": "CUDA 13.0 (fake driver of the tests: kernels run in the CPU execution model)"}
	for k, v := range want {
		if d.Facts[k] != v {
			t.Errorf("%s = %q, want %q", k, d.Facts[k], v)
		}
	}
	if d.ID != "cuda:0" || d.Memory != 1<<30 || !strings.Contains(d.Name, "no GPU") {
		t.Errorf("%+v", d)
	}
}

// Every kind of fill in every format, with padded rows, in both modes: the bits of op.FillValue.
func TestTheDeviceFillsTheBitsOfFillValue(t *testing.T) {
	copyOp := cudatest.Op(t, "stream_copy", record.FP32, "n=1")
	p := op.Single(copyOp)
	add := func(d record.DType, f op.Fill, r, pitch int64, dims ...int64) {
		p.Tensors = append(p.Tensors, op.Tensor{Name: fmt.Sprintf("t%d", len(p.Tensors)), Role: op.In, DType: d, Dims: dims, Pitch: pitch, Fill: f, IntRange: r})
	}
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.UINT8, record.INT32, record.INT64, record.FP8E4M3} {
		for _, f := range []op.Fill{op.FillUniform, op.FillPositive, op.FillWide, op.FillBalanced, op.FillBytes} {
			if f == op.FillBytes && d.Size() != 1 {
				continue
			}
			add(d, f, 0, 0, 3, 257)
			add(d, f, 7, 41, 5, 37)
		}
		add(d, op.FillBalanced, 127, 0, 1)
		add(d, op.FillBalanced, 127, 0, 2, 600)
	}
	add(record.FP32, op.FillScales, 5, 0, 300)
	for _, d := range []record.DType{record.FP32, record.BF16} {
		add(d, op.FillWeights, 3, 0, 300)
	}
	for _, n := range []int64{0, 3, 8, 13, 80, 1029} {
		add(record.INT64, op.FillChase, 0, 0, n)
	}
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e, err := d.Prepare(p, backend.PrepareOptions{Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Release()
	for _, integer := range []bool{false, true} {
		if err := e.Fill(integer, 1); err != nil {
			t.Fatal(err)
		}
		for n, x := range p.Tensors {
			if x.Role != op.In {
				continue
			}
			mem, before, after, err := e.ReadRaw(x.Name)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, len(mem))
			for i := range want {
				want[i] = fill.PoisonByte(0)
			}
			for i := range x.Elements() {
				op.Encode(x.DType, want[x.Offset(i)*x.DType.Size():], op.FillValue(op.Key(9, n), integer, &x, i))
			}
			for i := range want {
				if mem[i] != want[i] {
					t.Errorf("%s%v fill %d range %d integer=%v: byte %d is %#x, want %#x", x.DType, x.Dims, x.Fill, x.IntRange, integer, i, mem[i], want[i])
					break
				}
			}
			for _, b := range append(append([]byte{}, before...), after...) {
				if b != fill.PoisonByte(0) {
					t.Errorf("%s: a guard byte is %#x", x.Name, b)
					break
				}
			}
		}
	}
}
