//go:build unix

package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ridge/goharness/record"
)

func TestOnlyRegularFilesOfABoundedSizeAreRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"full": 10, "over": 11, "sparse": 6 << 30} {
		f, err := os.Create(at(name))
		if err == nil {
			err = f.Truncate(size)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	for name, want := range map[string]string{
		at("full"): "", at("over"): "more than 10 bytes", at("sparse"): "more than 10 bytes", at("none"): "no such file",
		at("pipe"): "expected a regular file", dir: "expected a regular file", "/dev/zero": "expected a regular file",
	} {
		data, err := record.ReadRegular(name, 10)
		if want == "" {
			if err != nil || len(data) != 10 {
				t.Errorf("%s: %d bytes, %v", name, len(data), err)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", name, err, want)
		}
	}
	for _, name := range []string{at("pipe"), "/dev/zero"} {
		if j, _, err := record.Resume(name); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
			t.Errorf("%s: resumed: %v, %v", name, j, err)
		}
		if _, err := record.Open(name); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
			t.Errorf("%s: opened: %v", name, err)
		}
	}
}
