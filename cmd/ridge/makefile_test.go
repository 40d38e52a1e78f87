package main

import (
	"go/ast"
	"go/parser"
	source "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// The race detector sees nothing where nothing runs beside another: make race leaves such packages out, and none that starts a goroutine.
func TestPackagesWithoutTheRaceDetectorStartNoGoroutine(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^SERIAL = (.+)$`).FindSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile has no SERIAL")
	}
	for _, dir := range strings.Fields(string(m[1])) {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("SERIAL names %s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			fset := source.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, called := n.(*ast.SelectorExpr)
				if _, started := n.(*ast.GoStmt); started || called && slices.Contains([]string{"Go", "Parallel", "AfterFunc"}, s.Sel.Name) {
					t.Errorf("%s starts a goroutine: take %s out of SERIAL in the Makefile", fset.Position(n.Pos()), dir)
				}
				return true
			})
		}
	}
}
