//go:build linux && cgo

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/goharness/runner"
)

// process is this test binary as ridge: the same main, in a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "RIDGE_TEST_MAIN=1")
	return cmd
}

// On a toy, whose ceilings take no time to probe: what is resumed is the run.
func TestAnInterruptedRunIsResumed(t *testing.T) {
	toys(t, 1)
	dir := t.TempDir()
	args := []string{"calibrate", "--quick", "--force", "--operations", "stream_triad", "--precision", "fp32",
		"--device", "toy:0", "--data-dir", dir, "--warmup", "1", "--trials", "3"}
	first := process(t, args...)
	first.Env = append(first.Env, holdEnv+"=3") // its worker hangs then
	stderr, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	first.Stdout = &stdout
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(2*time.Minute, func() { _ = first.Process.Kill() })
	defer watchdog.Stop()
	var text strings.Builder
	sc := bufio.NewScanner(stderr)
	for n := 0; sc.Scan(); n++ {
		text.WriteString(sc.Text() + "\n")
		if n == 2 { // a few results are in the journal
			journals, _ := filepath.Glob(filepath.Join(dir, "runs", "*.jsonl"))
			if len(journals) != 1 {
				t.Errorf("%d journals during the run, want 1", len(journals))
			} else {
				// The journal is held: a second run on it is refused.
				second := process(t, append(args, "--resume", journals[0])...)
				out, err := second.CombinedOutput()
				if second.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "another run is writing it") {
					t.Errorf("a second run on the journal: %v: %s", err, out)
				}
			}
			if err := first.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = first.Wait()
	if code := first.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d after SIGINT, want 3:\n%s", code, text.String())
	}
	said := lines(text.String())
	last := said[len(said)-1]
	_, id, ok := strings.Cut(last, "--resume ")
	if !ok {
		t.Fatalf("the last line does not say how to resume: %q", last)
	}
	half, err := os.ReadFile(filepath.Join(dir, "runs", id+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(half); err != nil {
		t.Errorf("the document of the interrupted run: %v", err)
	}

	other := process(t, "calibrate", "--quick", "--force", "--operations", "stream_copy", "--device", "toy:0", "--data-dir", dir, "--resume", id)
	if out, _ := other.CombinedOutput(); other.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "other options") {
		t.Errorf("resuming with other options: exit code %d: %s", other.ProcessState.ExitCode(), out)
	}

	rest := process(t, append(args, "--resume", id, "--json")...)
	var errs bytes.Buffer
	rest.Stderr = &errs
	out, err := rest.Output()
	if err != nil {
		t.Fatalf("resume: %v: %s", err, errs.String())
	}
	doc, err := record.ReadCalibration(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if doc.RunID != id || !doc.Summary.Complete || doc.Summary.Resumed != 3 {
		t.Errorf("run %s (want %s), complete %v, %d results taken from the journal, want 3", doc.RunID, id, doc.Summary.Complete, doc.Summary.Resumed)
	}
}

// signalled starts a command and sends it signals, SIGINT where none are given, when it has said so many lines: what it said in all, and the run to
// resume.
func signalled(t *testing.T, cmd *exec.Cmd, after int, signals ...os.Signal) (said []string, id string) {
	t.Helper()
	if len(signals) == 0 {
		signals = []os.Signal{syscall.SIGINT}
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer watchdog.Stop()
	for sc := bufio.NewScanner(stderr); sc.Scan(); {
		if said = append(said, sc.Text()); len(said) != after {
			continue
		}
		for i, s := range signals {
			if i > 0 {
				time.Sleep(3 * time.Millisecond) // two at once would be one to the process too
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code %d after %v, want %d: %q", code, signals, exitInterrupted, said)
	}
	_, id, ok := strings.Cut(said[len(said)-1], "--resume ")
	if !ok {
		t.Fatalf("the last line does not say how to resume: %q", said)
	}
	return said, id
}

func TestAnInterruptedBenchIsResumed(t *testing.T) {
	toys(t, 1)
	dir := t.TempDir()
	args := sums("toy:0", 8, "--data-dir", dir)
	first := process(t, args...)
	first.Env = append(first.Env, holdEnv+"=3")
	_, id := signalled(t, first, 3) // its worker hangs then
	code, stdout, errs := ridge(t, append(args, "--resume", id, "--json")...)
	if code != exitOK {
		t.Fatalf("--resume %s: exit code %d: %s", id, code, errs)
	}
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	if doc.RunID != id || !doc.Summary.Complete || doc.Summary.Resumed != 3 || len(doc.Results) != 8 {
		t.Errorf("run %s (want %s), complete %v, %d of %d results taken from the journal", doc.RunID, id, doc.Summary.Complete, doc.Summary.Resumed, len(doc.Results))
	}
	if code, _, errs := ridge(t, append(args, "--resume", id, "--affinity", "compact")...); code != exitUsage || !strings.Contains(errs, "other options") {
		t.Errorf("resumed with other affinity: exit code %d: %s", code, errs)
	}
}

func TestAnInterruptedVerificationIsResumed(t *testing.T) {
	args := []string{"verify", "--precision", "fp64", "--data-dir", t.TempDir()}
	said, id := signalled(t, process(t, args...), 2)
	if last := said[len(said)-1]; !strings.Contains(last, "go on with the same options and --resume") {
		t.Errorf("the last line is %q", last)
	}
	code, stdout, errs := ridge(t, append(args, "--resume", id, "--json")...)
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil || code != exitOK {
		t.Fatalf("--resume %s: exit code %d: %s: %v", id, code, errs, err)
	}
	if n := doc.Summary.Resumed; doc.RunID != id || !doc.Summary.Complete || n == 0 || n >= len(doc.Results) {
		t.Errorf("run %s (want %s), complete %v, %d of %d results taken from the journal", doc.RunID, id, doc.Summary.Complete, n, len(doc.Results))
	}
	if code, _, errs := ridge(t, "verify", "--precision", "fp32", "--kernel", "peak_fp32_portable", "--resume", id, "--data-dir", args[len(args)-1]); code != exitUsage || !strings.Contains(errs, "other options") {
		t.Errorf("resumed with other options: exit code %d: %s", code, errs)
	}
}

// Trap 20: the kernel groups processes by session (sched_autogroup), so a worker in the
// session of its shell would share its time slice with whatever else runs there.
func TestTheWorkerHasASessionOfItsOwnAndSaysItsPriority(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launch := runner.Process([]string{self, "worker"}, nil)
	w, err := launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	reply, err := w.Do(t.Context(), runner.Request{Verb: runner.VerbHello})
	if err != nil || reply.Hello == nil {
		t.Fatalf("hello: %+v, %v", reply, err)
	}
	pid, says := reply.Hello.PID, reply.Hello.Priority
	if sid, err := unix.Getsid(pid); err != nil || sid != pid {
		t.Errorf("the worker %d is in session %d (%v), want one of its own", pid, sid, err)
	}
	// What it says is what it has. The system call gives 20 - nice.
	if got, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err != nil || strings.HasSuffix(says, ", nice -10") != (20-got == -10) {
		t.Errorf("it says %q and has nice %d (%v)", says, 20-got, err)
	}
	group, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	switch {
	case err != nil && !strings.HasPrefix(says, "autogroup not available"):
		t.Errorf("it says %q and its autogroup cannot be read: %v", says, err)
	case err == nil && strings.HasPrefix(says, "own autogroup at nice -10") != strings.HasSuffix(strings.TrimSpace(string(group)), "nice -10"):
		t.Errorf("it says %q and its autogroup is %q", says, group)
	}
	// The file is empty for a process in the group that the machine began with.
	if parent, err := os.ReadFile("/proc/self/autogroup"); err == nil && len(group) > 0 && autogroup(parent) == autogroup(group) {
		t.Errorf("worker and parent are in one group: %q", group)
	}
	// The result of a case carries it.
	code, stdout, stderr := ridge(t, benchTiny("--json")...)
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil {
		t.Fatalf("exit code %d: %s: %v", code, stderr, err)
	}
	if c := doc.Results[0].Conditions; c == nil || c.Priority != says {
		t.Errorf("the result's conditions %+v do not say %q", c, says)
	}
}

// autogroup is the name in a /proc/PID/autogroup file, such as /autogroup-71.
func autogroup(file []byte) string {
	name, _, _ := strings.Cut(string(file), " ")
	return name
}

func TestAWorkerStartedByHandSaysSo(t *testing.T) {
	cmd := process(t, "worker")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitUsage || len(lines(string(out))) != 1 || !strings.Contains(string(out), "started by ridge") {
		t.Errorf("exit code %d: %q", cmd.ProcessState.ExitCode(), out)
	}
}

func TestTheDocumentOfAProcessIsTheWholeOfItsOutput(t *testing.T) {
	cmd := process(t, "bench", "gemm", "--m", "64", "--n", "64", "--k", "64", "--quick", "--no-ceilings", "--json")
	cmd.Env = append(cmd.Env, "RIDGE_DATA_DIR="+t.TempDir(), "NO_COLOR=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if err := record.Validate(out); err != nil {
		t.Error(err)
	}
	if strings.Contains(errs.String(), "\x1b[") {
		t.Error("escape sequences on standard error that is no terminal")
	}
}

// Text of standard output that is there already stays, and what is written after it stays too.
func TestOutputToStandardOutputByNameAddsToIt(t *testing.T) {
	log, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	fmt.Fprintln(log, "before")
	cmd := process(t, "report", sampleFile(t), "--format", "csv", "--output", "/dev/stdout")
	cmd.Stdout = log
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(log.Name())
	if err != nil || !bytes.HasPrefix(got, []byte("before\nrun_id,")) {
		t.Errorf("%.80q %v", got, err)
	}
}

// timeout(1) signals the command and then its process group: the run says how to go on all the same.
func TestSignalsThatComeTogetherAreOne(t *testing.T) {
	for _, tc := range []struct {
		name    string
		signals []os.Signal
	}{
		{"one", []os.Signal{syscall.SIGTERM}},
		{"a signal twice", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		{"the terminal's, and that of a parent", []os.Signal{syscall.SIGINT, syscall.SIGTERM}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			signalled(t, process(t, "calibrate", "--quick", "--force", "--operations", "stream_triad", "--precision", "fp32", "--threads", "1", "--data-dir", t.TempDir()), 1, tc.signals...)
		})
	}
}

// The first signal asks ridge to end. Where it cannot, in a write that nobody reads, the second one ends it.
func TestASecondSignalEndsAWriteThatNobodyReads(t *testing.T) {
	doc := recordtest.Sample()
	doc.Summary.Warnings = slices.Repeat([]string{strings.Repeat("x", 4000)}, 100) // more than a pipe holds
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "doc.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := process(t, "report", file, "--format", "json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it writes now
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := cmd.Process.Wait(); ended <- err }()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Error("it does not end")
	_ = cmd.Process.Kill()
}
