//go:build cgo && linux

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheMakefileNamesTheCompilerThatIsNeeded(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	for _, c := range []struct {
		prints, want string // what the preprocessor makes of the version question; "" accepts it
	}{
		{"gcc 12", ""}, {"gcc 15", ""}, {"clang 14", ""}, {"clang 21", ""},
		{"gcc 11", "gcc 12 or clang 14"}, {"gcc 9", "gcc 12 or clang 14"}, {"clang 13", "gcc 12 or clang 14"}, {"", "gcc 12 or clang 14"},
	} {
		cc := filepath.Join(t.TempDir(), "cc")
		if err := os.WriteFile(cc, []byte(fmt.Sprintf("#!/bin/sh\ncat >/dev/null\necho '%s'\n", c.prints)), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("make", "-s", "-C", "..", "compiler", "CC="+cc, "GO=true").CombinedOutput()
		if (err == nil) != (c.want == "") || !strings.Contains(string(out), c.want) {
			t.Errorf("compiler %q: %v, %s; want %q", c.prints, err, out, c.want)
		}
	}
}
