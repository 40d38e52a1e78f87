//go:build cuda && linux && cgo

package driver_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/cudatest"
	"ridge/cuda/driver"
	"ridge/cuda/fatbin"
)

// A process opens one driver, so each state is seen by a process of its own.
const stateEnv = "RIDGE_DRIVER_TEST_STATE"

func TestMain(m *testing.M) {
	if os.Getenv(stateEnv) != "" {
		s, err := driver.Open()
		fmt.Printf("version %d, fake %q, no driver %v, no device %v: %v\n", s.Version, s.Fake,
			errors.Is(err, driver.ErrNoDriver), errors.Is(err, driver.ErrNoDevice), err)
		os.Exit(0)
	}
	cudatest.Main(m)
}

func TestTheThreeStatesOfADriverAreToldApart(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, env, want string }{
		{"no driver", driver.LibraryEnv + "=/nonexistent/libcuda.so.1", "no driver true, no device false: no NVIDIA driver: /nonexistent/libcuda.so.1: cannot open shared object file"},
		{"not a driver", driver.LibraryEnv + "=libm.so.6", "no driver true, no device false: no NVIDIA driver"},
		{"driver without a device", "RIDGE_FAKE_DEVICES=0", "no driver false, no device true: an NVIDIA driver without a device: cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"},
		{"fake driver", "RIDGE_FAKE_DEVICES=2", `version 13000, fake "fake driver of the tests: kernels run in the CPU execution model", no driver false, no device false: <nil>`},
	} {
		c := exec.Command(exe)
		c.Env = append(os.Environ(), stateEnv+"=1", tc.env)
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %v, %s\nwant %s", tc.name, err, out, tc.want)
		}
	}
}

func TestNoDriverFunctionIsLeftToTheDynamicLinker(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("nm", "-D", exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "U" && strings.HasPrefix(f[1], "cu") {
			t.Errorf("%s is unresolved: run scripts/cuda-symbols.sh", f[1])
		}
	}
	out, err = exec.Command("readelf", "-d", exe).Output()
	if err != nil || strings.Contains(string(out), "libcuda") {
		t.Errorf("the binary needs libcuda to start (%v):\n%s", err, out)
	}
}

// context opens device 0 and binds it to this test's thread.
func context(t *testing.T) cu.Stream {
	t.Helper()
	if _, err := driver.Open(); err != nil {
		t.Fatal(err)
	}
	dev, err := cu.GetDevice(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := dev.RetainPrimaryCtx()
	if err != nil {
		t.Fatal(err)
	}
	if err := ctx.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runtime.UnlockOSThread)
	s, err := cu.MakeStream(cu.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func function(t *testing.T, image, name string) cu.Function {
	t.Helper()
	b, err := fatbin.Image(image)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cu.LoadData(string(b))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// doubling makes a list whose set s executes y[s] = y[s] + y[s] over four floats.
func doubling(t *testing.T, cluster uint32, shared uint32, sets int) (*driver.List, []cu.DevicePtr) {
	t.Helper()
	f := function(t, "stream_fp32_simt", "stream_fp32_simt_add")
	var launches [][]driver.Launch
	var mem []cu.DevicePtr
	for range sets {
		y, err := cu.MemAlloc(16)
		if err != nil {
			t.Fatal(err)
		}
		one := []float32{1, 1, 1, 1}
		if err := cu.MemcpyHtoD(y, unsafe.Pointer(&one[0]), 16); err != nil {
			t.Fatal(err)
		}
		mem = append(mem, y)
		launches = append(launches, []driver.Launch{{Function: f, Grid: [3]uint32{2, 1, 1}, Block: [3]uint32{256, 1, 1},
			Cluster: [3]uint32{cluster, 1, 1}, Shared: shared, Params: []uint64{4, uint64(y), uint64(y), uint64(y), 0}}})
	}
	l, err := driver.NewList(launches)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Free)
	return l, mem
}

// doublings is how often y was doubled.
func doublings(t *testing.T, y cu.DevicePtr) int {
	t.Helper()
	var v [4]float32
	if err := cu.MemcpyDtoH(unsafe.Pointer(&v[0]), y, 16); err != nil {
		t.Fatal(err)
	}
	for n, x := 0, float32(1); n < 30; n, x = n+1, 2*x {
		if v == [4]float32{x, x, x, x} {
			return n
		}
	}
	t.Fatalf("y = %v is no power of two", v)
	return 0
}

func TestLaunchesReachTheDeviceAsOftenAsOrdered(t *testing.T) {
	s := context(t)
	for _, tc := range []struct {
		name            string
		cluster, shared uint32
	}{{"plain", 0, 0}, {"in clusters of two", 2, 0}, {"with 100 KiB of shared memory", 0, 100 << 10}} {
		l, y := doubling(t, tc.cluster, tc.shared, 1)
		if err := l.Run(s, 3); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		g, err := l.Graph(s, 2)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if n := doublings(t, y[0]); n != 3 {
			t.Errorf("%s: recording a graph ran it: doubled %d times, want 3", tc.name, n)
		}
		if err := g.Run(s, 3); err != nil {
			t.Errorf("%s: graph: %v", tc.name, err)
		}
		if n := doublings(t, y[0]); n != 3+2*3 {
			t.Errorf("%s: doubled %d times, want 3 and a graph of 2 three times", tc.name, n)
		}
		if err := g.Free(); err != nil {
			t.Error(err)
		}
	}
}

// The driver's word on clusters is the error: none is launched as single blocks.
func TestClustersThatADeviceCannotLaunchAreErrors(t *testing.T) {
	s := context(t)
	f := function(t, "stream_fp32_simt", "stream_fp32_simt_add")
	y, err := cu.MemAlloc(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		grid, cluster [3]uint32
		want          string
	}{
		{[3]uint32{3, 1, 1}, [3]uint32{2, 1, 1}, "CUDA_ERROR_INVALID_VALUE"},
		{[3]uint32{4, 3, 1}, [3]uint32{2, 2, 1}, "CUDA_ERROR_INVALID_VALUE"},
		{[3]uint32{16, 1, 1}, [3]uint32{16, 1, 1}, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
		{[3]uint32{4, 2, 2}, [3]uint32{4, 2, 2}, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
	} {
		l, err := driver.NewList([][]driver.Launch{{{Function: f, Grid: tc.grid, Block: [3]uint32{256, 1, 1}, Cluster: tc.cluster,
			Params: []uint64{4, uint64(y), uint64(y), uint64(y), 0}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Run(s, 1); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v blocks in clusters of %v: %v, want %s", tc.grid, tc.cluster, err, tc.want)
		}
		l.Free()
	}
}

// timing asks for samples and fails the test when they cannot be had.
func timing(t *testing.T, l *driver.List, s cu.Stream, q driver.Timing) driver.Timed {
	t.Helper()
	if q.Graphs {
		if err := l.Graphs(s, q.Lead, q.Launches, q.Samples); err != nil {
			t.Fatal(err)
		}
	}
	got, err := l.Measure(s, q)
	if err != nil || len(got.NS) != q.Samples || got.End <= 0 || got.LeadNS <= 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, ns := range got.NS {
		if !(ns > 0) {
			t.Errorf("samples of %v ns", got.NS)
		}
	}
	return got
}

func TestMeasureRotatesTheSetsAndTimesEverySample(t *testing.T) {
	s := context(t)
	for _, graphs := range []bool{false, true} {
		for _, g := range []*driver.Gate{nil, gate(t, time.Minute)} {
			l, y := doubling(t, 0, 0, 3)
			// Four untimed launches, then 2 samples of 4: sets 0 1 2 0 | 1 2 0 1, 2 0 1 2; the next
			// call goes on at set 0, untimed, and times sets 1 and 2.
			first := timing(t, l, s, driver.Timing{Lead: 4, Launches: 4, Samples: 2, Graphs: graphs, Gate: g})
			next := timing(t, l, s, driver.Timing{Lead: 1, Launches: 2, Samples: 1, Graphs: graphs, Gate: g})
			if next.End <= first.End {
				t.Errorf("ended at %d, then at %d", first.End, next.End)
			}
			for i, want := range []int{4 + 1, 4 + 1, 4 + 1} {
				if n := doublings(t, y[i]); n != want {
					t.Errorf("graphs %v, gate %v, set %d: %d launches, want %d", graphs, g != nil, i, n, want)
				}
			}
		}
	}
	l, _ := doubling(t, 0, 0, 1)
	if _, err := l.Measure(s, driver.Timing{Lead: 1, Samples: 1}); err == nil {
		t.Error("a sample without a launch was measured")
	}
	if _, err := l.Measure(s, driver.Timing{Lead: 1, Launches: 3, Samples: 1, Graphs: true}); err == nil {
		t.Error("a graph that was not made was launched")
	}
}

func TestAGraphThatCannotBeMadeIsRefusedWithTheDriversWords(t *testing.T) {
	s := context(t)
	l, _ := doubling(t, 0, 0, 1)
	t.Setenv("RIDGE_FAKE_FAULT", "graph")
	err := l.Graphs(s, 1, 5, 2)
	if err == nil || !strings.Contains(err.Error(), "make a graph of 5 executions: CUDA_ERROR_NOT_SUPPORTED (801): operation not supported") {
		t.Error(err)
	}
	timing(t, l, s, driver.Timing{Lead: 1, Launches: 5, Samples: 2})
}

func TestGraphsHoldTheLaunchesOfEverySetThatASampleMayBeginWith(t *testing.T) {
	context(t)
	for _, tc := range []struct{ sets, launches, want int }{{1, 7, 7}, {3, 4, 12}, {3, 6, 6}, {4, 6, 12}} {
		l, _ := doubling(t, 0, 0, tc.sets)
		if n := l.GraphNodes(tc.launches); n != int64(tc.want) {
			t.Errorf("%d sets, %d launches: %d nodes, want %d", tc.sets, tc.launches, n, tc.want)
		}
	}
}

func TestEventsHaveAResolution(t *testing.T) {
	s := context(t)
	if ns, err := driver.EventResolution(s); err != nil || !(ns > 0 && ns < 1e6) {
		t.Errorf("%v ns, %v", ns, err)
	}
}

func TestTooMuchSharedMemoryIsRefusedWithTheDriversWords(t *testing.T) {
	s := context(t)
	_ = s
	f := function(t, "stream_fp32_simt", "stream_fp32_simt_add")
	_, err := driver.NewList([][]driver.Launch{{{Function: f, Shared: 300 << 10}}})
	if err == nil || !strings.Contains(err.Error(), "allow 307200 bytes of shared memory: CUDA_ERROR_INVALID_VALUE (1): invalid argument") {
		t.Error(err)
	}
}

func TestTensorMapsAreCheckedBeforeTheDriverSeesThem(t *testing.T) {
	context(t)
	good := driver.TensorMap{DType: 9, Address: 1 << 20, Dims: []uint64{64, 32}, Strides: []uint64{128}, Box: []uint32{64, 8}, Swizzle: 3}
	m, err := good.Encode()
	if err != nil || *(*uint64)(unsafe.Pointer(&m[0])) != good.Address {
		t.Errorf("%v %v", m, err)
	}
	for name, spoil := range map[string]func(*driver.TensorMap){
		"no dimension":       func(m *driver.TensorMap) { m.Dims = nil },
		"one stride missing": func(m *driver.TensorMap) { m.Strides = nil },
		"odd stride":         func(m *driver.TensorMap) { m.Strides = []uint64{130} },
		"misaligned address": func(m *driver.TensorMap) { m.Address++ },
	} {
		bad := good
		spoil(&bad)
		if _, err := bad.Encode(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPinnedMemoryIsWritable(t *testing.T) {
	context(t)
	b, err := driver.Pinned(1 << 20)
	if err != nil || len(b) != 1<<20 {
		t.Fatal(err)
	}
	b[0], b[len(b)-1] = 1, 2
	if err := driver.FreePinned(b); err != nil {
		t.Error(err)
	}
}

func TestOnlyErrorsThatAContextDoesNotSurviveCountAsLost(t *testing.T) {
	for e, want := range map[driver.Error]bool{
		1: false, 2: false, 101: false, 209: false, 500: false, 701: false, 708: false, 720: false, 801: false,
		46: true, 214: true, 700: true, 702: true, 716: true, 719: true, 999: true,
	} {
		if e.Lost() != want {
			t.Errorf("error %d: lost %v, want %v", int(e), e.Lost(), want)
		}
	}
}

func TestCodeThatADriverCannotRunIsToldFromOtherFailures(t *testing.T) {
	for e, want := range map[driver.Error]bool{2: false, 200: true, 201: false, 209: true, 218: true, 219: false, 221: true, 222: true, 223: true, 500: false, 700: false} {
		if e.WrongImage() != want {
			t.Errorf("error %d: a wrong image %v, want %v", int(e), e.WrongImage(), want)
		}
	}
}

// resident makes a kernel that stays, with its result.
func resident(t *testing.T, limit time.Duration) (*driver.Resident, cu.DevicePtr) {
	t.Helper()
	y, err := cu.MemAlloc(8)
	if err != nil {
		t.Fatal(err)
	}
	r, err := driver.NewResident(driver.Launch{Function: function(t, "dispatch_fp64_simt_persistent", "dispatch_fp64_simt_persistent"), Grid: [3]uint32{1, 1, 1},
		Block: [3]uint32{32, 1, 1}, Params: []uint64{uint64(y)}}, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Free() })
	return r, y
}

func TestAResidentKernelAnswersEveryTask(t *testing.T) {
	s := context(t)
	r, y := resident(t, time.Minute)
	for _, q := range []driver.Timing{{Launches: 1, Samples: 1}, {Lead: 3, Launches: 5, Samples: 4}} {
		edges, err := r.HandOver(s, q)
		if err != nil || len(edges) != q.Samples+1 {
			t.Fatalf("%v, %v", edges, err)
		}
		for i := range q.Samples {
			if edges[i+1] <= edges[i] {
				t.Errorf("edges %v", edges)
			}
		}
		var done float64
		if err := cu.MemcpyDtoH(unsafe.Pointer(&done), y, 8); err != nil || done != 1 {
			t.Errorf("the task's result is %v, %v", done, err)
		}
	}
	if _, err := r.HandOver(s, driver.Timing{Samples: 1}); err == nil {
		t.Error("a sample without a task was measured")
	}
}

// A kernel that ends without an answer does not leave the host waiting.
func TestAResidentKernelThatEndsEarlyIsAnError(t *testing.T) {
	s := context(t)
	r, _ := resident(t, time.Nanosecond) // it gives up between two tasks
	if edges, err := r.HandOver(s, driver.Timing{Launches: 100000, Samples: 1}); err == nil || !strings.Contains(err.Error(), "did not answer within 1ns") {
		t.Errorf("%v, %v", edges, err)
	}
}

// Both directions, launch by launch and in a graph.
func TestCopiesCrossTheLink(t *testing.T) {
	s := context(t)
	host, err := driver.Pinned(64)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = driver.FreePinned(host) }()
	on, err := cu.MemAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(uintptr(unsafe.Pointer(&host[0])))
	l, err := driver.NewList([][]driver.Launch{{{Copy: &driver.Copy{To: uint64(on), From: at, Bytes: 32, ToDevice: true}},
		{Copy: &driver.Copy{To: at + 32, From: uint64(on), Bytes: 32}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	for i := range host[:32] {
		host[i] = byte(i + 1)
	}
	if err := l.Run(s, 1); err != nil || string(host[32:]) != string(host[:32]) {
		t.Errorf("%v, %v", host, err)
	}
	host[0] = 99
	g, err := l.Graph(s, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Run(s, 1); err != nil || host[32] != 99 {
		t.Errorf("in a graph: %v, %v", host, err)
	}
	bad, err := driver.NewList([][]driver.Launch{{{Copy: &driver.Copy{To: uint64(on) + 48, From: at, Bytes: 32, ToDevice: true}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Free()
	if err := bad.Run(s, 1); err == nil {
		t.Error("a copy beyond the memory's end was made")
	}
}
