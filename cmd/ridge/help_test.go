package main

import (
	"os"
	"strings"
	"testing"
)

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestHelpThatCannotBeWrittenIsAFault(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"-h"}, {"--version"}, {"-v"}, {"bench", "--help"}, {"bench", "gemm", "-h"}, {"--quiet", "calibrate", "--help"}, {"--help", "list"}} {
		var errs strings.Builder
		code := run(t.Context(), append([]string{"ridge"}, args...), full{}, &errs)
		if code != exitUsage || len(lines(errs.String())) != 1 || !strings.Contains(errs.String(), "standard output") {
			t.Errorf("%v: exit code %d: %s", args, code, errs.String())
		}
		if code, out, errs := ridge(t, args...); code != exitOK || out == "" {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}
