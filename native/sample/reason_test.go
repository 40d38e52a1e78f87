//go:build cgo && linux && (amd64 || arm64)

package sample

import (
	"strings"
	"syscall"
	"testing"
)

func TestEveryRefusalSaysWhatToDo(t *testing.T) {
	for why, want := range map[syscall.Errno]string{
		syscall.ENOENT: "run on a machine of its own", syscall.EACCES: "sysctl kernel.perf_event_paranoid=2", syscall.EPERM: "CAP_PERFMON", syscall.ENOSYS: "CONFIG_PERF_EVENTS",
		syscall.EINVAL: "no counter for it beside the other events", syscall.EBUSY: "end it", syscall.EMFILE: "raise ulimit -n", syscall.EIO: "input/output error",
	} {
		if got := eventReason(why); !strings.HasPrefix(got, "perf_event_open: ") || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: %q, want %q in it", why, got, want)
		}
	}
}
