//go:build linux && cgo

package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnExportLeavesLinksAndDevicesWhatTheyAre(t *testing.T) {
	dir, _ := kept(t, 1)
	file, link, null := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "null")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{link: file, null: "/dev/null"} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := ridge(t, "history", "--data-dir", dir, "export", "--output", name); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", name, code, stderr)
		}
		if st, err := os.Lstat(name); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if got, _ := os.ReadFile(file); !strings.Contains(string(got), `"run_id":"r0"`) && !strings.Contains(string(got), `"run_id": "r0"`) {
		t.Errorf("the file that the link names holds %.100q", got)
	}
}

// outputs are the commands that write a file, with its name at FILE.
func outputs(document, dir, id string) [][]string {
	return [][]string{
		benchTiny("--output", "FILE"), {"calibrate", "--quick", "--output", "FILE"}, {"fusion", "--quick", "--output", "FILE"}, {"verify", "--output", "FILE"},
		{"profile", "gemm", "--output", "FILE"}, {"profile", "--from", document, "--output", "FILE"}, {"profile", "--diff", document, document, "--output", "FILE"},
		{"report", document, "--output", "FILE"}, {"report", document, "--format", "html", "--output", "FILE"},
		{"compare", document, document, "--output", "FILE"}, {"compare", document, document, "--format", "json", "--output", "FILE"},
		{"history", "export", "--output", "FILE"}, {"history", "show", "latest", "--output", "FILE"}, {"history", "trend", id, "--plot", "FILE"},
	}
}

// measuresLong: bench stands for these, which write as it does.
func measuresLong(args []string) bool {
	return slices.Contains([]string{"calibrate", "fusion", "verify"}, args[0]) || args[0] == "profile" && args[1] == "gemm"
}

func at(args []string, file string) []string {
	out := slices.Clone(args)
	out[slices.Index(out, "FILE")] = file
	return out
}

// Whatever cannot be written to is refused at once, before anything is measured.
func TestAPlaceThatCannotBeWrittenIsRefusedBeforeMeasuring(t *testing.T) {
	long := readerWait
	defer func() { readerWait = long }()
	readerWait = 50 * time.Millisecond
	document := sampleFile(t)
	places := t.TempDir()
	socket := filepath.Join(places, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, want := range map[string]string{
		pipe(t): "no program has opened this pipe to read it", places: "is a directory", socket: "a socket", document + "/below": "not a directory",
		"/proc/none/file": "/proc/none/file", "/dev/fd/98765": "/dev/fd/98765",
		filepath.Join(places, strings.Repeat("n", 256)): "name too long",
	} {
		dir, id := kept(t, 1)
		for _, args := range outputs(document, dir, id) {
			begin := time.Now()
			code, stdout, stderr := ridge(t, append(at(args, name), "--data-dir", dir)...)
			if code != exitUsage || stdout != "" || len(lines(stderr)) != 1 || !strings.Contains(stderr, want) || !strings.Contains(stderr, name) {
				t.Errorf("%v: exit code %d: %q %s, expected %q", at(args, name), code, stdout, stderr, want)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%v took %v", args, took)
			}
		}
		if journals, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); len(journals) > 0 {
			t.Errorf("%s: it measured: %v", name, journals)
		}
	}
}

// A pipe is open from the check before measuring to the end: its reader, which may come late, gets all of it and nothing before.
func TestAReaderOfAPipeGetsWhatIsWrittenAtTheEnd(t *testing.T) {
	document := sampleFile(t)
	dir, id := kept(t, 1)
	for _, args := range outputs(document, dir, id) {
		if measuresLong(args) {
			continue
		}
		file := filepath.Join(t.TempDir(), "file")
		if code, _, stderr := ridge(t, append(at(args, file), "--data-dir", dir)...); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := pipe(t)
		got := make(chan []byte, 1)
		go func() {
			time.Sleep(50 * time.Millisecond) // it comes late
			b, _ := os.ReadFile(name)
			got <- b
		}()
		if code, _, stderr := ridge(t, append(at(args, name), "--data-dir", dir)...); code != exitOK {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
			continue
		}
		b := <-got
		if same := string(b) == string(want); args[0] != "bench" && args[0] != "profile" && !same || len(b) == 0 { // times and gzip differ
			t.Errorf("%v: the pipe got %d bytes, a file %d", args, len(b), len(want))
		}
	}
}

func TestAFullDeviceEndsWithAReasonAndTheRunIsKept(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	document := sampleFile(t)
	dir, id := kept(t, 1)
	for _, args := range outputs(document, dir, id) {
		if measuresLong(args) {
			continue
		}
		code, _, stderr := ridge(t, append(at(args, "/dev/full"), "--data-dir", dir, "--quiet")...)
		if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, "/dev/full") || !strings.Contains(stderr, "no space left") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		if args[0] != "bench" {
			continue
		}
		_, run, ok := strings.Cut(stderr, "the run is kept: ridge history show ")
		run, _, _ = strings.Cut(run, " ")
		if code, stdout, stderr := ridge(t, "history", "show", run, "--json", "--data-dir", dir); !ok || code != exitOK || !strings.Contains(stdout, run) {
			t.Errorf("the run %q that is kept: %d %s", run, code, stderr)
		}
	}
}
