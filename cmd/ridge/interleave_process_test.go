//go:build linux && cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One build beside itself, by real workers, is not called slower.
func TestABuildInterleavedWithItselfIsNoRegression(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "ridge") // this test binary as ridge
	script := "#!/bin/sh\nRIDGE_TEST_MAIN=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := ridge(t, "compare", "--interleave", "--data-dir", t.TempDir(), "--all", "--rounds", "6", "--quartets", "1",
		"--threshold", "20%", "--force", bin, bin, "gemm", "--m", "64", "--n", "64", "--k", "64", "--threads", "1")
	if code != exitOK || !strings.Contains(stdout, "m=64") || strings.Contains(stdout, "not comparable") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
