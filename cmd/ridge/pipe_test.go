//go:build linux && cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file of the data folder, which nobody writes to, would stop a command for ever.
func TestWhatIsNoRegularFileInTheDataFolderIsRefusedAtOnce(t *testing.T) {
	document := sampleFile(t)
	for _, tc := range []struct {
		name string
		args []string
		want string // "": the command goes on without the file
	}{
		{"runs/r1.jsonl", benchTiny("--resume", "r1"), "expected a regular file"}, {"runs/r1.jsonl", []string{"history", "import", document}, ""},
		{"tuning.json", benchTiny(), "expected a regular file"}, {"tuning.json", []string{"tune", "--force", "--threads", "1", "--budget", "5s"}, "expected a regular file"},
		{"history.db", []string{"history", "list"}, "expected a regular file"}, {"history.db", []string{"history", "import", document}, "expected a regular file"},
		{"history.db-journal", []string{"history", "import", document}, "expected a regular file"}, {"history.db", []string{"compare", document, document}, ""},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, tc.name)
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(-time.Minute) // a young journal is left alone
		if err := os.Chtimes(file, past, past); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		code, _, errs := ridge(t, append(tc.args, "--data-dir", dir)...)
		switch got := lines(errs); {
		case tc.want == "" && code != exitOK, tc.want != "" && (code != exitUsage || len(got) == 0 || !strings.Contains(got[len(got)-1], tc.want)): // warnings may come first
			t.Errorf("%s: %v: exit code %d: %s", tc.name, tc.args, code, errs)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: %v took %v", tc.name, tc.args, took)
		}
	}
}

func TestATokenIsReadOfAFileOrPipeOfBoundedSize(t *testing.T) {
	long := writerWait
	defer func() { writerWait = long }()
	writerWait = 50 * time.Millisecond
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	big, err := os.Create(at("big"))
	if err == nil {
		err = big.Truncate(6 << 30)
	}
	if err != nil {
		t.Fatal(err)
	}
	big.Close()
	if err := os.WriteFile(at("good"), []byte(" 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("short"), []byte("0123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{at("big"): "more than 65536 bytes", "/dev/zero": "is a device", pipe(t): "no program has written", dir: "is a directory", at("none"): "no such file", at("short"): "at least 16", "-": "./-: no such file"} {
		if got, err := token(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--token-file") {
			t.Errorf("%s: %q, %v; expected %q", file, got, err, want)
		}
	}
	written := pipe(t)
	go func() { _ = os.WriteFile(written, []byte("0123456789abcdef\n"), 0) }()
	writerWait = long
	for _, file := range []string{at("good"), written} {
		if got, err := token(t.Context(), file); err != nil || got != "0123456789abcdef" {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

func TestATuningOfAbsurdSizeIsRefused(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "tuning.json"))
	if err == nil {
		err = f.Truncate(6 << 30)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	code, _, errs := ridge(t, benchTiny("--data-dir", dir)...)
	if code != exitUsage || len(lines(errs)) != 1 || !strings.Contains(errs, "tuning.json has more than 4194304 bytes; remove the file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
