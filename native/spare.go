//go:build cgo && linux

package native

import "sync"

// spare is the memory of the device that was closed last, for the next one. A run changes between one thread and all of them dozens of times, a device
// for each: beside a last-level cache of 260 MiB every change mapped and cleared gigabytes anew, 18 s of a quick calibration's 106.
type spare struct {
	mu   sync.Mutex
	held arena
}

// keep takes over the memory of a device that closes. On several NUMA nodes it is unmapped: its pages lie where other threads touched them first.
func (s *spare) keep(a *arena) {
	if s == nil || a.apart || a.inUse > 0 {
		a.trim()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.trim()
	s.held, *a = *a, arena{}
}

// adopt gives an arena what is held, beyond its limit: what is free on the system was asked while it was mapped.
func (s *spare) adopt(limit int64, apart bool) arena {
	a := arena{limit: limit, apart: apart}
	if s == nil || apart {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, s.held = s.held, arena{}
	if a.limit = limit; limit > 0 {
		a.limit += a.mapped
	}
	return a
}
