//go:build cgo && linux && (amd64 || arm64)

package sample

import (
	"strings"
	"testing"
)

func TestCountsOfAPartOfTheTimeAreRefused(t *testing.T) {
	for _, c := range []struct {
		counted float64
		want    string // part of the reason; "" for none
	}{
		{1, ""}, {0.995, ""}, {0.98, "98 % of the time"}, {0.5, "50 % of the time"}, {0, "0 % of the time"},
	} {
		got := sharedReason(c.counted)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("counted for %g of the time: reason %q, want one with %q", c.counted, got, c.want)
		}
	}
}
