package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watched is how long the threads of a worker are looked at before it is killed.
const watched = 50 * time.Millisecond

// mostThreads are named.
const mostThreads = 4

// doing tells what the threads of a process do: for how long each ran and waited for a CPU within watched, the team's
// first. Of the others those that slept through it are counted. "" where that cannot be read.
func doing(pid int) string {
	before := map[string]thread{}
	for _, t := range threadsOf(pid) {
		before[t.id] = t
	}
	time.Sleep(watched)
	var named []string
	asleep, more := 0, 0
	for _, t := range threadsOf(pid) {
		old, there := before[t.id]
		if !there {
			old = t
		}
		ran, waited := t.ran-old.ran, t.waited-old.waited
		switch {
		case !t.ofTeam() && t.state != "R" && ran == 0 && waited == 0:
			asleep++
		case len(named) == mostThreads:
			more++
		default:
			named = append(named, fmt.Sprintf("%s (state %s, CPU %s, in %s) ran for %d ms and waited for its CPU for %d ms of %d",
				t.name, t.state, t.cpu, t.in, ran.Milliseconds(), waited.Milliseconds(), watched.Milliseconds()))
		}
	}
	if len(named) == 0 {
		return ""
	}
	return strings.Join(append(named, fmt.Sprintf("%d more, %d others asleep", more, asleep)), "; ")
}

// teamThread begins the names of the threads that run kernels.
const teamThread = "ridge-team-"

// thread of a process at one moment.
type thread struct {
	id, name, state, cpu string
	in                   string // function of the system's kernel that it sleeps in; 0: none
	ran, waited          time.Duration
}

func (t thread) ofTeam() bool { return strings.HasPrefix(t.name, teamThread) }

// threadsOf reads task/*/stat, schedstat and wchan (proc(5)); the team's threads come first.
func threadsOf(pid int) []thread {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	var out []thread
	for _, dir := range dirs {
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(dir, name)) // a thread may end meanwhile
			return string(text)
		}
		stat := read("stat")
		open, shut := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		if open < 0 || shut < open {
			continue
		}
		state := strings.Fields(stat[shut+1:]) // from the third field of stat
		times := strings.Fields(read("schedstat"))
		if len(state) < 37 || len(times) < 2 {
			continue
		}
		ran, _ := strconv.ParseInt(times[0], 10, 64)
		waited, _ := strconv.ParseInt(times[1], 10, 64)
		out = append(out, thread{id: filepath.Base(dir), name: stat[open+1 : shut], state: state[0], cpu: state[36], in: strings.TrimSpace(read("wchan")),
			ran: time.Duration(ran), waited: time.Duration(waited)})
	}
	slices.SortStableFunc(out, func(a, b thread) int {
		switch {
		case a.ofTeam() == b.ofTeam():
			return 0
		case a.ofTeam():
			return -1
		}
		return 1
	})
	return out
}
