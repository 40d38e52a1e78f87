package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJSONIsPrintedOrRefused(t *testing.T) {
	document, dir := sampleFile(t), t.TempDir()
	for _, args := range [][]string{
		{"report", document, "--json"}, {"report", document, "--json", "--format", "json"}, {"history", "import", document, "--json"}, {"history", "baseline", "--json"},
		{"history", "baseline", "set", "latest", "--json"}, {"history", "baseline", "--json"}, {"history", "baseline", "clear", "--json"}, {"selftest", "--trials", "1", "--json"},
		{"compare", document, document, "--json", "--format", "json"}, {"tune", "--dry-run", "--threads", "1", "--json"},
	} {
		code, out, errs := ridge(t, append(args, "--data-dir", dir, "--quiet")...)
		if args[0] == "tune" && code != exitOK {
			continue // no kernel with parameters here
		}
		if code > exitFault || code == exitFault && args[0] != "selftest" || !json.Valid([]byte(out)) || strings.HasPrefix(out, "null") {
			t.Errorf("%v: exit code %d: %.200q %s", args, code, out, errs)
		}
	}
	file := filepath.Join(dir, "out.json")
	if code, out, errs := ridge(t, "report", document, "--json", "--output", file); code != exitOK || out != "" {
		t.Errorf("exit code %d: %q %s", code, out, errs)
	}
	if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
		t.Errorf("%.100q %v", text, err)
	}
	for _, args := range [][]string{
		{"report", document, "--json", "--format", "md"}, {"compare", document, document, "--json", "--format", "csv"}, {"history", "show", "latest", "--json", "--format", "md"},
		{"serve", "--json", "--address", "127.0.0.1:0"},
	} {
		code, out, errs := ridge(t, append(args, "--data-dir", dir)...)
		if code != exitUsage || out != "" || len(lines(errs)) != 1 || !strings.Contains(errs, "--json") {
			t.Errorf("%v: exit code %d: %.200q %s", args, code, out, errs)
		}
	}
}
