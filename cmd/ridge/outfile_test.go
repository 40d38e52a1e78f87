package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
