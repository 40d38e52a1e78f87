package measure

import "time"

// OneCore is how much longer arithmetic takes on all threads at once than on one where they share a core, at least: 2 for two, but the one alone has
// the others wait beside it. An empty step alone does not tell: CPUs that the host moves from two last-level caches to one have a shorter one, too
// (on Zen 4 75 ns beside 285 to 330).
const OneCore = 1.5

// How often what was measured while the host ran the threads' CPUs on one core is measured again, and the waits before it.
const (
	MostReplaced = 6
	FirstWait    = 250 * time.Millisecond
	MostWait     = 2 * time.Second
)

// ReplaceWait is the wait before repetition n, from 0: none before the first, then one that doubles, for idle CPUs are placed anew when they wake.
func ReplaceWait(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return min(MostWait, FirstWait<<(n-1))
}
