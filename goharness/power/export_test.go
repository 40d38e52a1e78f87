package power

import "time"

// SetStall shortens the patience with a meter that does not answer.
func SetStall(o *Observer, d time.Duration) { o.stall = d }

// SetLate sets how long the answer of a meter that heeds its context is waited for.
func SetLate(o *Observer, d time.Duration) { o.late = d }
