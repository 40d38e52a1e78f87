//go:build cuda && linux && cgo

package cuda

import (
	"context"
	"fmt"
	"time"

	"ridge/cuda/driver"
	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// residentLimit is how long a kernel that stays on the device waits for the host, and the host for its answer.
var residentLimit = 500 * time.Millisecond

// handOver gives executions to the resident kernel one after the other.
func (e *executable) handOver(q driver.Timing) ([]int64, error) {
	edges, err := e.resident.HandOver(e.d.stream, q)
	return edges, fail("kernel "+e.names(), err)
}

// measureResident times executions that the host hands to a kernel which is on the device already: from the host's word in page-locked memory
// to the answer that it sees there. The host's clock is all there is: nothing ends on the device in between.
func (e *executable) measureResident(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	var out []backend.Sample
	for len(out) < samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		q := driver.Timing{Lead: launches, Launches: launches, Samples: min(chunk, samples-len(out))}
		edges, err := e.handOver(q)
		if err != nil {
			return out, err
		}
		for i := range q.Samples {
			s := backend.Sample{StartNS: edges[i], EndNS: edges[i+1], Launches: launches, Switches: -1, RunDelayNS: -1, StealNS: -1}
			if i == 0 {
				s.Untimed = q.Lead
			}
			out = append(out, s)
		}
	}
	e.ways.Launching = record.Launching{Path: record.LaunchResident, Why: "hand-overs to a kernel that stays on the device are what is measured",
		Queue: fmt.Sprintf("none: each of %d hand-overs waits for the answer to the one before", launches), Clock: "the host's"}
	return out, nil
}
