//go:build cuda && linux && cgo

package cuda

import "testing"

// A kind of case whose launches wait for the stream loses the blocking kernel for itself alone; where it never held, the device does.
func TestTheGateIsGivenUpByKind(t *testing.T) {
	says := func(g *gates, kind, want string) {
		t.Helper()
		got := ""
		if err := g.closed(kind); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	g := &gates{held: 1}
	for range 2 {
		g.giveUp("copy_h2d in a graph")
	}
	says(g, "copy_h2d in a graph", "")
	g.giveUp("copy_h2d in a graph")
	says(g, "copy_h2d in a graph", "the blocking kernel gave up after 250ms in 3 cases of copy_h2d in a graph before")
	for _, kind := range []string{"copy_h2d on the stream", "copy_d2h in a graph", "gemm in a graph"} {
		says(g, kind, "")
	}
	never := &gates{}
	never.giveUp("sum on the stream")
	never.giveUp("gemm in a graph")
	says(never, "copy on the stream", "")
	never.giveUp("copy in a graph")
	says(never, "copy on the stream", "the blocking kernel gave up after 250ms in each of 3 cases before")
	never.held++
	says(never, "copy on the stream", "")
}
