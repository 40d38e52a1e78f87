package runner

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// RaisePriority puts this process's scheduling group (it leads a session of its own) above
// others where that is permitted: with sched_autogroup, niceness alone does not keep other
// sessions' work away. It also offers the process first to the OOM killer, so that a kernel
// which eats the memory costs itself and not the parent. It tells what it obtained.
func RaisePriority() string {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	group := "autogroup not available"
	if _, err := os.Stat("/proc/self/autogroup"); err == nil {
		group = "own autogroup at nice -10"
		if err := os.WriteFile("/proc/self/autogroup", []byte("-10"), 0); err != nil {
			group = fmt.Sprintf("own autogroup, not raised (%v)", err)
		}
	}
	nice := "nice -10"
	tasks, _ := os.ReadDir("/proc/self/task") // niceness belongs to threads; new ones inherit it
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, -10); err != nil {
			nice = fmt.Sprintf("nice not raised (%v)", err)
		}
	}
	return group + ", " + nice
}
