package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Files are read some at a time, and told in the order in which they were given: of faults the first.
func TestFilesAreReadAtOnceAndToldInOrder(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, n := range strings.Split("abcdefgh", "") {
		name := filepath.Join(dir, n)
		if err := os.WriteFile(name, []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	var now, most, calls atomic.Int32
	read := func(bad string) func(string) (string, error) {
		return func(name string) (string, error) {
			calls.Add(1)
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			base := filepath.Base(name)
			if strings.Contains("aceg", base) { // the first of each two ends last
				time.Sleep(20 * time.Millisecond)
			}
			if strings.Contains(bad, base) {
				return "", errors.New(base)
			}
			return base, nil
		}
	}
	got, err := inOrder(names, read(""))
	if err != nil || strings.Join(got, "") != "abcdefgh" || most.Load() != readAtOnce {
		t.Errorf("%q %v, %d at a time", got, err, most.Load())
	}
	for bad, want := range map[string]string{"cd": "c", "bgh": "b", "h": "h"} {
		if _, err := inOrder(names, read(bad)); err == nil || err.Error() != want {
			t.Errorf("faults in %s: %v", bad, err)
		}
	}
	calls.Store(0)
	first := func(name string) (string, error) {
		if calls.Add(1); name == names[0] {
			return "", errors.New("at fault")
		}
		time.Sleep(20 * time.Millisecond)
		return name, nil
	}
	if _, err := inOrder(names, first); err == nil || int(calls.Load()) == len(names) {
		t.Errorf("%d are read though the first is at fault", calls.Load())
	}
	most.Store(0)
	if _, err := inOrder(append(names, filepath.Join(dir, "none")), read("")); err != nil || most.Load() != 1 {
		t.Errorf("beside what is no file %d are read at a time: %v", most.Load(), err)
	}
}
