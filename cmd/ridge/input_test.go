//go:build linux && cgo

package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readers are the commands that read a file, with its name at FILE.
func readers(document string) [][]string {
	return [][]string{
		{"report", "FILE"}, {"report", "FILE", document}, {"report", "FILE", "--format", "plots", "--output", "PLOTS"},
		{"compare", "FILE", document}, {"compare", document, "FILE"}, {"compare", "FILE", "FILE"},
		{"history", "import", "FILE"}, {"profile", "--from", "FILE", "--output", "PROFILE"}, {"profile", "--diff", "FILE", document}, {"profile", "--diff", document, "FILE"},
	}
}

func pipe(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestWhatCannotBeReadIsRefusedAtOnce(t *testing.T) {
	long := writerWait
	defer func() { writerWait = long }()
	writerWait = 50 * time.Millisecond
	dir := t.TempDir()
	loop, socket := filepath.Join(dir, "loop"), filepath.Join(dir, "socket")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{
		dir: "is a directory", "/dev/zero": "is a device", "/dev/null": "is a device", loop: "too many levels", socket: "a socket",
		pipe(t): "no program has written to this pipe", filepath.Join(dir, "none"): "no such file",
	} {
		for _, args := range readers(sampleFile(t)) {
			for i, a := range args {
				switch a {
				case "FILE":
					args[i] = name
				case "PLOTS", "PROFILE":
					args[i] = filepath.Join(dir, a)
				}
			}
			begin := time.Now()
			code, _, stderr := ridge(t, append(args, "--data-dir", filepath.Join(dir, "data"))...)
			if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%v: exit code %d: %s, expected %q", args, code, stderr, want)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%v took %v", args, took)
			}
		}
	}
}

// A named pipe can be opened once: its writer fails when it is closed in between.
func TestANamedPipeIsReadToItsEnd(t *testing.T) {
	document := sampleFile(t)
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range readers(document) {
		if args[0] == "compare" && args[1] == args[2] {
			continue // each of two is read to its end before the other
		}
		name := pipe(t)
		for i, a := range args {
			switch a {
			case "FILE":
				args[i] = name
			case "PLOTS", "PROFILE":
				args[i] = filepath.Join(t.TempDir(), a)
			}
		}
		if args[0] == "report" && args[len(args)-1] == document {
			continue // the same run twice
		}
		wrote := make(chan error, 1)
		go func() {
			time.Sleep(50 * time.Millisecond) // it comes late
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.Write(text)
				f.Close()
			}
			wrote <- err
		}()
		if code, _, stderr := ridge(t, append(args, "--data-dir", t.TempDir(), "--quiet")...); code != exitOK {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		if err := <-wrote; err != nil {
			t.Errorf("%v: the writer: %v", args, err)
		}
	}
}

func TestCtrlCEndsTheWaitForStandardInput(t *testing.T) {
	for _, args := range [][]string{{"report", "-"}, {"compare", "-", sampleFile(t)}, {"history", "import", "-"}, {"profile", "--from", "-"}} {
		cmd := process(t, append(args, "--data-dir", t.TempDir())...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watchdog := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		// More than a pipe holds: when it is written, it is being read.
		if _, err := in.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		watchdog.Stop()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || len(lines(errs.String())) != 1 {
			t.Errorf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
}

func TestAPlaceBehindALinkIsTriedBeforeMeasuring(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc/version", link); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := ridge(t, benchTiny("--output", link)...)
	if code != exitUsage || stdout != "" || len(lines(stderr)) != 1 || !strings.Contains(stderr, link) {
		t.Errorf("exit code %d, %q, %s", code, stdout, stderr)
	}
}
