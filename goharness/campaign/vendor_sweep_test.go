package campaign

import (
	"strings"
	"testing"
)

func TestAPilotOfALibraryIsSparedWhereItLostTwiceInTheSweep(t *testing.T) {
	at := func(m string, ms, times float64) sweptShape {
		return sweptShape{map[string]string{"m": m, "k": "256"}, ms * 1e6, times}
	}
	for name, c := range map[string]struct {
		known []sweptShape
		ms    float64
		want  string // part of the reason; "": it is tried
	}{
		"lost twice":                         {[]sweptShape{at("8", 10, 1.6), at("64", 30, 2)}, 90, "2 and 1.6 times as long as ridge's own, or more, at k=256,m=64 and k=256,m=8"},
		"in any order":                       {[]sweptShape{at("64", 30, 2), at("8", 10, 1.6)}, 90, "2 and 1.6 times"},
		"not before":                         {[]sweptShape{at("1", 1, 0.9), at("8", 10, 1.6), at("64", 30, 2)}, 90, "2 and 1.6 times"},
		"lost once":                          {[]sweptShape{at("64", 30, 2)}, 90, ""},
		"nearly even at the last but one":    {[]sweptShape{at("8", 10, 1.4), at("64", 30, 2)}, 90, ""},
		"nearly even at the last":            {[]sweptShape{at("8", 10, 2), at("64", 30, 1.4)}, 90, ""},
		"short launches":                     {[]sweptShape{at("8", 1, 1.6), at("64", 3, 2)}, 4, ""},
		"far away":                           {[]sweptShape{at("8", 1, 1.6), at("64", 3, 2)}, 49, ""},
		"at larger shapes":                   {[]sweptShape{at("8", 100, 1.6), at("64", 300, 2)}, 90, ""},
		"of two parameters":                  {[]sweptShape{at("8", 10, 1.6), {map[string]string{"m": "100", "k": "64"}, 30e6, 2}}, 90, ""},
		"one in each of two sweeps":          {[]sweptShape{at("8", 10, 1.6), {map[string]string{"m": "100", "k": "64"}, 30e6, 2}, {map[string]string{"m": "128", "k": "64"}, 30e6, 2}}, 90, ""},
		"this shape itself, and one smaller": {[]sweptShape{at("100", 10, 1.6), at("64", 30, 2)}, 90, ""},
	} {
		got := lostAt(c.known, map[string]string{"m": "100", "k": "256"}, c.ms*1e6)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
