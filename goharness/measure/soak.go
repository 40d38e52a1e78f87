package measure

import (
	"context"
	"fmt"
	"time"
)

// soakBurst is the longest stretch given to the device at once, so that the end of a soak
// and a cancelled context are seen in time.
const soakBurst = 100 * time.Millisecond

// Soaked is a sustain phase: the same program, back to back.
type Soaked struct {
	Start, End time.Duration // on the clock given, by default the host's monotonic clock
	Launches   int64         // untimed ones too: they draw as much
}

// Soak runs s back to back for at least d, in samples of so many launches, and reports the
// edges and the launches between them. now is the clock of the edges; nil means
// MonotonicNow. When ctx ends, what ran is returned with ctx's error.
func Soak(ctx context.Context, s Sampler, launches int, d time.Duration, now func() time.Duration) (Soaked, error) {
	if launches < 1 || d <= 0 {
		return Soaked{}, fmt.Errorf("soak of %v with %d launches per sample: expected both above 0", d, launches)
	}
	if now == nil {
		now = MonotonicNow
	}
	t := taker{ctx: ctx, s: s, now: now}
	start := now()
	out := Soaked{Start: start, End: start}
	samples, taken := 1, 0
	for out.End-start < d {
		got, err := t.take(launches, samples)
		for _, x := range got {
			out.Launches += int64(x.Launches + x.Untimed)
		}
		out.End = now()
		taken += len(got)
		if err != nil {
			return out, fmt.Errorf("soaking for %v: %w", d, err)
		}
		each := max((out.End-start)/time.Duration(taken), 1)
		samples = int(max(1, min(soakBurst, d-(out.End-start))/each))
	}
	return out, nil
}
