package power

import "time"

// SetStall shortens the patience with a meter that does not answer.
func SetStall(o *Observer, d time.Duration) { o.stall = d }
