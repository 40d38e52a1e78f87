package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The build tells the program which commit it is of; without git it says unknown.
func TestTheMakefileSetsTheRevision(t *testing.T) {
	for _, tool := range []string{"make", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	revision := func(env ...string) string {
		cmd := exec.Command("make", "-n", "-C", "../..", "build")
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make -n build: %v: %s", err, out)
		}
		m := regexp.MustCompile(`-X main\.revision=([^ "]*)`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("make -n build sets no revision: %s", out)
		}
		return string(m[1])
	}
	want := "unknown"
	if head, err := exec.Command("git", "rev-parse", "HEAD").Output(); err == nil {
		want = strings.TrimSpace(string(head))
	}
	if got := revision(); strings.TrimSuffix(got, "-dirty") != want {
		t.Errorf("revision %q, want %q", got, want)
	}
	if got := revision("GIT_DIR=/nonexistent"); got != "unknown" {
		t.Errorf("without a repository: %q, want unknown", got)
	}
}
