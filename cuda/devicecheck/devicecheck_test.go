//go:build cuda && linux && cgo

package devicecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ridge/cuda/driver"
	"ridge/cuda/model"
	"ridge/goharness/record"
)

// check is what the script says of a run.
type check struct {
	Schema, Device string
	Facts          map[string]string
	Parts          []struct{ Name, State, Note string }
}

func (c check) state(part string) (state, note string) {
	for _, p := range c.Parts {
		if p.Name == part {
			return p.State, p.Note
		}
	}
	return "not listed", ""
}

// machine is a folder of programs that stand in for those of a machine with a GPU, and the environment of the script.
type machine struct {
	t        *testing.T
	out, bin string
	env      []string
}

// newMachine has the tests' driver and the stand-in for torch; ridge is the one of make cuda.
func newMachine(t *testing.T, env ...string) *machine {
	t.Helper()
	root, err := model.Root()
	if err != nil {
		t.Fatal(err)
	}
	ridge := filepath.Join(root, "bin", "ridge")
	if out, err := exec.Command(ridge, "list", "kernels").Output(); err != nil || !strings.Contains(string(out), "peak_fp32_simt") {
		t.Skipf("%s is no build with CUDA inside (%v): make cuda", ridge, err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("python3: %v", err)
	}
	lib, err := model.Library(root)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, out: filepath.Join(t.TempDir(), "out"), bin: t.TempDir()}
	// Little memory: nothing DRAM-sized is probed, which the model would take minutes for.
	m.env = append(append(os.Environ(), "RIDGE_FAKE_MEMORY=50331648", "RIDGE_FAKE_SMS=1", "RIDGE="+ridge, driver.LibraryEnv+"="+lib, "SHAPES=tiny", "PYTHON="+python, "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+filepath.Join(root, "cuda", "devicecheck", "testdata"), "PATH="+m.bin+":"+os.Getenv("PATH")), env...)
	return m
}

// program puts a shell script on the machine's PATH.
func (m *machine) program(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.bin, name), []byte("#!/usr/bin/env bash\n"+text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) command() *exec.Cmd {
	root, _ := model.Root()
	c := exec.Command(filepath.Join(root, "scripts", "device-check.sh"), m.out)
	c.Env = m.env
	return c
}

// run gives the exit code, what was printed, and check.json.
func (m *machine) run() (int, string, check) {
	m.t.Helper()
	out, err := m.command().CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(out), m.check()
}

func (m *machine) check() check {
	m.t.Helper()
	var c check
	m.read("check.json", &c)
	if c.Schema != "ridge.devicecheck/1" {
		m.t.Errorf("check.json: schema %q", c.Schema)
	}
	return c
}

func (m *machine) read(file string, into any) {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.out, file))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		m.t.Errorf("%s: %v", file, err)
	}
}

// files that came out, of which a machine that is lent gives back eight of 16 MiB.
func (m *machine) files(want ...string) {
	m.t.Helper()
	list, err := os.ReadDir(m.out)
	if err != nil || len(list) > 8 {
		m.t.Errorf("%d files, %v", len(list), err)
	}
	for _, w := range want {
		if i, err := os.Stat(filepath.Join(m.out, w)); err != nil || i.Size() == 0 || i.Size() > 16<<20 {
			m.t.Errorf("%s: %v, %v", w, i, err)
		}
	}
}

// A stand-in that runs what it is given, with a library in it, and reports as the real one does: errors of $FINDINGS, the first time.
const sanitizer = `
[ "$1" = --version ] && { echo "stand-in 1.0"; exit; }
while [ "${1#--}" != "$1" ]; do [ "$1" = --log-file ] && report=${2/\%p/$$}; shift 2; done
here=$(dirname "$0")
[ -s "$here/libsanitizer-collection.so" ] || gcc -shared -o "$here/libsanitizer-collection.so" -x c /dev/null
if [ -n "$ALONE" ]; then "$@"; else LD_PRELOAD=$here/libsanitizer-collection.so "$@"; fi; rc=$?
mkdir "$here/told" 2>/dev/null || FINDINGS=0
{ echo "========= COMPUTE-SANITIZER"; [ "$FINDINGS" = 0 ] || echo "========= Invalid __global__ write of size 4 bytes"; echo "========= ERROR SUMMARY: $FINDINGS errors"; } >"$report"
exit $rc
`

func TestACheckVerifiesMeasuresAndComparesWithPeers(t *testing.T) {
	m := newMachine(t, "FINDINGS=0")
	m.program("compute-sanitizer", sanitizer)
	m.program("nvidia-smi", "echo 'NVIDIA \"Stand-in\", 1.0'")
	code, out, c := m.run()
	if code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	for i, p := range []string{"verify", "memcheck", "racecheck", "calibrate", "peers", "fusion"} { // what times nothing runs together, first
		if s, note := c.state(p); s != "ok" || c.Parts[i].Name != p {
			t.Errorf("%s: %s (%s)", p, s, note)
		}
	}
	if c.Facts["driver"] != `NVIDIA "Stand-in", 1.0` || !strings.Contains(c.Facts["devices"], "cuda:0") {
		t.Errorf("facts %v", c.Facts)
	}
	m.files("verify.json", "calibration.json", "fusion.json", "peers.json", "sanitizer.txt", "log.txt")
	var doc record.Calibration
	m.read("verify.json", &doc)
	kernels := map[string]bool{}
	for _, r := range doc.Results {
		if !strings.Contains(r.ID, "/threads=1/") {
			t.Errorf("%s: a device has one host thread, whatever the host has", r.ID)
		}
		if r.Status.Counts() && r.Verification.Passed {
			kernels[r.Kernel] = true
		}
	}
	for _, k := range []string{"gemm_fp64_simt", "gemv_fp64_simt", "argmax_fp64_simt", "reduce_fp64_simt", "chase_int64_simt", "peak_fp64_simt", "dispatch_fp64_simt"} {
		if !kernels[k] {
			t.Errorf("verify.json has no verified result of %s", k)
		}
	}
	var peers struct {
		Complete bool
		Rows     []struct {
			Op, DType string
			Driver    string
			Verified  bool
			RidgeNS   []float64 `json:"ridge_ns"`
			Peers     []struct {
				Name, Unavailable string
				NS                []float64
				HostNS            []float64 `json:"host_ns"`
				HostBound         bool      `json:"host_bound"`
				Launched          string
				Ratio             float64
			}
		}
	}
	m.read("peers.json", &peers)
	if !peers.Complete || len(peers.Rows) < 10 {
		t.Errorf("peers: complete %v, %d rows", peers.Complete, len(peers.Rows))
	}
	for _, r := range peers.Rows {
		if !r.Verified || len(r.RidgeNS) != 5 || len(r.Peers) == 0 || !strings.Contains(r.Driver, "fake driver") {
			t.Errorf("%s %s: %+v", r.Op, r.DType, r)
		}
		for _, p := range r.Peers {
			switch {
			case strings.Contains(p.Name, "_int_mm"):
				if p.Unavailable != "RuntimeError: the stand-in has no int8 products" {
					t.Errorf("a peer that fails says %q", p.Unavailable)
				}
			case r.Op == "softmax": // its third round failed: what was measured stays, without a ratio
				if p.Unavailable != "RuntimeError: the stand-in has had enough" || len(p.NS) != 1 || p.Ratio != 0 {
					t.Errorf("a peer that fails in a round: %+v", p)
				}
			case r.Op == "copy" && (p.Launched != "graph of 34" || math.Abs(p.NS[0]-30e3) > 1),
				r.Op == "stream_triad" && p.Launched != "one by one: no graph: RuntimeError: the stand-in captures no sum",
				r.Op == "sum" && p.Launched != "one by one: 1 long ones in a batch":
				t.Errorf("%s is launched as %q: %+v", r.Op, p.Launched, p)
			case len(p.NS) != 5 || !(p.Ratio > 0) || len(p.HostNS) != 5 || p.HostBound != (r.Op == "layer_norm"):
				t.Errorf("%s: %+v", p.Name, p)
			}
		}
	}
	for _, want := range []string{"torch.mm (cublas)", "SDPA flash_attention", "conv2d (cuDNN)", "fake driver", "the stand-in has no int8 products", "host-bound", "racecheck", "geometric means", "gemm of m <= 128"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

func TestWithoutADriverEveryPartSaysWhy(t *testing.T) {
	m := newMachine(t, driver.LibraryEnv+"=/nonexistent/libcuda.so.1")
	code, out, c := m.run()
	if code != 1 {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, p := range c.Parts {
		if p.State != "skipped" || !strings.Contains(p.Note, "no NVIDIA driver") {
			t.Errorf("%s: %s (%s)", p.Name, p.State, p.Note)
		}
	}
	if len(c.Parts) != 6 {
		t.Errorf("%d parts", len(c.Parts))
	}
}

// A kernel that the device refuses fails one part; the others go on, without torch and without Python too.
func TestAPartThatFailsLeavesTheOthers(t *testing.T) {
	m := newMachine(t, "RIDGE_FAKE_FAIL=illegal:stream_fp64_simt_copy:1", "PARTS=verify memcheck", "FINDINGS=3")
	m.program("compute-sanitizer", sanitizer)
	code, out, c := m.run()
	if s, note := c.state("verify"); code != 1 || s != "failed" || !strings.Contains(note, "stream_fp64_simt") {
		t.Errorf("exit code %d, verify: %s (%s)\n%s", code, s, note, out)
	}
	if s, note := c.state("memcheck"); s != "failed" || !strings.Contains(note, "3 findings") || !strings.Contains(note, "Invalid __global__ write") {
		t.Errorf("memcheck: %s (%s)", s, note)
	}

	m = newMachine(t, "RIDGE_FAKE_FAIL=illegal:softmax_fp32_simt_rows_held:1", "PYTHONPATH=", "PARTS=peers")
	m.run()
	var peers struct {
		Without string `json:"peers_unavailable"`
		Rows    []struct {
			Op      string
			Without string    `json:"ridge_unavailable"`
			RidgeNS []float64 `json:"ridge_ns"`
		}
	}
	m.read("peers.json", &peers)
	if peers.Without != "ModuleNotFoundError: No module named 'torch'" {
		t.Errorf("without torch: %q", peers.Without)
	}
	for _, r := range peers.Rows { // a lost device costs a worker and its row, once
		if lost := len(r.RidgeNS) == 0; lost != (r.Op == "softmax") || lost && !strings.Contains(r.Without, "CUDA_ERROR_ILLEGAL_ADDRESS") {
			t.Errorf("%+v", r)
		}
	}
	if len(peers.Rows) < 10 {
		t.Errorf("%d rows", len(peers.Rows))
	}

	m = newMachine(t, "PARTS=peers racecheck", "PYTHON=/nonexistent/python3")
	m.program("compute-sanitizer", "[ \"$1\" = --version ] || { while [ \"$1\" != --log-file ]; do shift; done; echo '========= Error: Device not supported' >$2; exit 1; }")
	code, out, c = m.run()
	_, peersNote := c.state("peers")
	if _, note := c.state("racecheck"); code != 0 || !strings.Contains(peersNote, "is not installed") || !strings.Contains(note, "Device not supported") {
		t.Errorf("exit code %d, %+v\n%s", code, c.Parts, out)
	}
}

// A line of the sanitizer's own library about what it does not support hides no finding, nor does the end of its time.
func TestFindingsAreToldWhateverElseTheReportSays(t *testing.T) {
	report := func(lines, then string) string {
		return `[ "$1" = --version ] && { echo "stand-in 1.0"; exit; }
while [ "${1#--}" != "$1" ]; do [ "$1" = --log-file ] && report=$2; shift 2; done
printf '` + lines + `' >"$report"
gcc -shared -o "${0%/*}/libsanitizer-collection.so" -x c /dev/null
(LD_PRELOAD="${0%/*}/libsanitizer-collection.so" exec -a "$RIDGE worker" sleep 2); ` + then
	}
	for _, tc := range []struct{ name, program, seconds, state, note string }{
		{"an unsupported format beside findings", report(`========= DWARF Version 5 or above is not supported\n========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 3 errors\n`, "exit 1"), "60", "failed", "3 findings"},
		{"an unsupported format alone", report(`========= DWARF Version 5 or above is not supported\n========= ERROR SUMMARY: 0 errors\n`, `exec "$@"`), "60", "ok", "0 findings"},
		{"cut off behind findings", report(`========= Invalid __global__ write of size 4 bytes\n========= Invalid __shared__ read of size 8 bytes\n`, "exec sleep 60"), "24", "failed", "2 findings up to the end"},
		{"cut off without", report(`========= COMPUTE-SANITIZER\n`, "exec sleep 60"), "24", "cut off", "no findings up to the end"},
		{"races", report(`========= Error: Race reported between Write access and Read access\n========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n`, "exit 1"), "60", "failed", "1 findings"},
		{"no device for it", report(`========= Error: Device not supported. Please refer to the list\n`, "exit 1"), "60", "skipped", "Device not supported"},
	} {
		m := newMachine(t, "PARTS=memcheck", "SECONDS_IN_ALL="+tc.seconds)
		m.program("compute-sanitizer", tc.program)
		code, out, c := m.run()
		if s, note := c.state("memcheck"); s != tc.state || !strings.Contains(note, tc.note) || (code == 1) != (tc.state == "failed") {
			t.Errorf("%s: exit code %d, %s (%s)\n%s", tc.name, code, s, note, out)
		}
	}
}

// A sanitizer that follows no child finds nothing, whatever the kernels do.
func TestAWorkerThatNobodyWatchesIsNoCleanBill(t *testing.T) {
	m := newMachine(t, "PARTS=memcheck", "FINDINGS=0", "ALONE=1")
	m.program("compute-sanitizer", sanitizer)
	code, out, c := m.run()
	if s, note := c.state("memcheck"); code != 1 || s != "failed" || !strings.Contains(note, "0 findings, but its libraries were not in ridge's worker") {
		t.Errorf("exit code %d, %s (%s)\n%s", code, s, note, out)
	}
}

// What hangs is cut off at its time, and a signal ends the check with what is there.
func TestWhatIsCutOffLeavesItsPart(t *testing.T) {
	m := newMachine(t, "PARTS=verify calibrate", "SECONDS_IN_ALL=24", "RIDGE_FAKE_FAIL=hang:gemv_fp64_simt:1")
	began := time.Now()
	code, out, c := m.run()
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("%v for 24 s", took)
	}
	if s, _ := c.state("verify"); code != 1 || s != "cut off" {
		t.Errorf("exit code %d, %+v\n%s", code, c.Parts, out)
	}
	var doc record.Calibration
	m.read("verify.json", &doc)
	if len(doc.Results) == 0 || doc.Summary.Complete {
		t.Errorf("%d results, complete %v", len(doc.Results), doc.Summary.Complete)
	}

	m = newMachine(t, "PARTS=peers fusion", "RIDGE_FAKE_FAIL=hang:softmax_fp32_simt_rows_held:1")
	cmd := m.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rows := func() int {
		var p struct{ Rows []json.RawMessage }
		b, _ := os.ReadFile(filepath.Join(m.out, "peers.json"))
		_ = json.Unmarshal(b, &p)
		return len(p.Rows)
	}
	for i := 0; i < 300 && rows() < 3; i++ {
		time.Sleep(100 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // 143
	c = m.check()
	if s, _ := c.state("peers"); cmd.ProcessState.ExitCode() != 143 || s != "cut off" || rows() < 3 {
		t.Errorf("exit code %d, %+v, %d rows", cmd.ProcessState.ExitCode(), c.Parts, rows())
	}
	if s, note := c.state("fusion"); s != "skipped" || !strings.Contains(note, "ended") {
		t.Errorf("fusion: %s (%s)", s, note)
	}
}

// What no signal ends, because it waits in the driver, costs its own time and no more.
func TestWhatNoSignalEndsIsLeftBehind(t *testing.T) {
	m := newMachine(t, "PARTS=verify calibrate", "SECONDS_IN_ALL=24")
	real, err := exec.LookPath("timeout")
	if err != nil {
		t.Skip(err)
	}
	m.program("timeout", "case $* in *verify*) trap '' TERM; for i in {1..90}; do sleep 1; done ;; *) exec "+real+" \"$@\" ;; esac\n")
	began := time.Now()
	_, out, c := m.run()
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("%v for 24 s", took)
	}
	if s, note := c.state("verify"); s != "cut off" || !strings.Contains(note, "verify.json was not written") || len(c.Parts) != 2 {
		t.Errorf("%+v\n%s", c.Parts, out)
	}
}

// Killed at once, with everything that it started: what the part that ran had measured is there.
func TestWhatIsKilledLeavesTheJournalOfItsPart(t *testing.T) {
	m := newMachine(t, "PARTS=verify", "RIDGE_FAKE_FAIL=hang:gemv_fp64_simt:1")
	cmd := m.command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	journal := func() string {
		list, _ := filepath.Glob(filepath.Join(m.out, "running", "runs", "*.jsonl"))
		if len(list) != 1 {
			return ""
		}
		b, _ := os.ReadFile(list[0])
		return string(b)
	}
	for i := 0; i < 600 && strings.Count(journal(), "\n") < 4; i++ {
		time.Sleep(100 * time.Millisecond)
	}
	list, _ := filepath.Glob(filepath.Join(m.out, "running", "runs", "*.jsonl"))
	all := descendants(cmd.Process.Pid)
	_ = cmd.Process.Kill()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = cmd.Wait() // killed
	if n := strings.Count(journal(), `"kind":"result"`); n < 2 {
		t.Errorf("%d results in %v", n, list)
	}
	m.files("check.json", "log.txt")
}

// descendants of a process, as they are now.
func descendants(pid int) (out []int) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	for _, text := range strings.Fields(string(children)) {
		if child, err := strconv.Atoi(text); err == nil {
			out = append(append(out, child), descendants(child)...)
		}
	}
	return out
}

// A disk without room costs the files, not the parts' names and their states on standard output.
func TestAFullDiskLeavesTheTable(t *testing.T) {
	m := newMachine(t, "PARTS=verify")
	if err := os.MkdirAll(m.out, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16k", "none", m.out).CombinedOutput(); err != nil {
		t.Skipf("no disk of 16 KiB can be had: %v: %s", err, out)
	}
	defer func() { _ = exec.Command("umount", m.out).Run() }()
	out, err := m.command().CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "verify     failed") || !strings.Contains(string(out), "verify.json was not written") {
		t.Errorf("%v: %s", err, out)
	}
}

// What a machine gives back is at most 16 MiB a file.
func TestALargeLogIsCutOff(t *testing.T) {
	m := newMachine(t, "PARTS=verify")
	m.program("large", "[ \"$1\" = --version ] || head -c 20000000 /dev/zero | tr '\\0' x\n")
	for i, e := range m.env {
		if strings.HasPrefix(e, "RIDGE=") {
			m.env[i] = "RIDGE=" + filepath.Join(m.bin, "large")
		}
	}
	if code, _, c := m.run(); code != 1 || len(c.Parts) != 1 {
		t.Errorf("exit code %d, %+v", code, c.Parts)
	}
	m.files("check.json", "log.txt")
	if list, err := os.ReadDir(m.out); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	for env, says := range map[string]string{"PARTS=verify everything": `PARTS has "everything"`, "SECONDS_IN_ALL=soon": "SECONDS_IN_ALL=soon"} {
		m := newMachine(t, env)
		out, err := m.command().CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), says) {
			t.Errorf("%s: %v: %s", env, err, out)
		}
	}
}
