//go:build linux && cgo

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/tune"
)

func TestAnInterruptionSaysWhatIsKeptAndHowToGoOn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"selftest", "--trials", "3"}, []string{"selftest: interrupted", "nothing is kept", "repeat"}},
		{[]string{"compare", "--interleave", self, self, "gemm", "--m", "8", "--n", "8", "--k", "8", "--threads", "1"}, []string{"compare --interleave: interrupted", "nothing is kept", "repeat"}},
		{[]string{"bench", "gemm", "--m", "8", "--n", "8", "--k", "8", "--threads", "1"}, []string{"interrupted before anything was measured", "repeat"}},
		{[]string{"tune", "--threads", "1", "--budget", "20s"}, []string{"tune: interrupted", "nothing is stored", "repeat"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs strings.Builder
		code := run(ctx, append([]string{"ridge"}, append(tc.args, "--data-dir", t.TempDir(), "--quiet")...), &out, &errs)
		if tc.args[0] == "tune" && code == exitUsage {
			continue // no kernel with parameters here
		}
		if code != exitInterrupted || len(lines(errs.String())) != 1 || strings.Contains(errs.String(), "context canceled") {
			t.Errorf("%v: exit code %d: %s", tc.args, code, errs.String())
		}
		for _, want := range tc.want {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("%v: %s does not say %q", tc.args, errs.String(), want)
			}
		}
	}
}

func TestAnInterruptedSearchNamesWhatIsStoredAndWhatIsLeft(t *testing.T) {
	target := func(m string) tune.Target {
		return tune.Target{Op: "gemm", DType: record.FP32, Params: map[string]string{"m": m}}
	}
	path := filepath.Join("data", "tuning.json")
	found, none := tune.Outcome{Found: &tune.Entry{}}, tune.Outcome{}
	for _, tc := range []struct {
		outs []tune.Outcome
		want []string
		not  string
	}{
		{nil, []string{"before the first search was done", "nothing is stored", "repeat the command"}, "m="},
		{[]tune.Outcome{none}, []string{"1 searches are done", "none found anything faster", "m=2", "m=3", "repeat the command"}, "stored"},
		{[]tune.Outcome{none, found}, []string{"2 searches are done", "1 of them", "stored in " + path, "m=3", "repeat the command"}, "m=2"},
	} {
		err := tuneInterrupted([]*tuning{{targets: []tune.Target{target("1"), target("2"), target("3")}, outs: tc.outs, path: path}})
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), tc.not) || strings.Contains(err.Error(), "m=1") {
				t.Errorf("%v does not say %q, or says %q", err, want, tc.not)
			}
		}
	}
}
