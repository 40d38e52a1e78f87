package power

import (
	"context"
	"testing"
)

type fixed []Domain

func (fixed) Name() string                          { return "fixed" }
func (f fixed) Domains() []Domain                   { return f }
func (fixed) Read(context.Context) (Reading, error) { return Reading{}, ErrNoData }
func (fixed) Close() error                          { return nil }

func TestBetweenUndoesOneWrapAndRefusesNonsense(t *testing.T) {
	m := fixed{{Name: "package", WrapJoules: 100}, {Name: "board"}}
	for _, tc := range []struct {
		name     string
		from, to Reading
		want     []float64
	}{
		{"plain", Reading{1, []float64{10, 5}}, Reading{2, []float64{30, 9}}, []float64{20, 4}},
		{"wrapped", Reading{1, []float64{90, 5}}, Reading{2, []float64{10, 5}}, []float64{20, 0}},
		{"a counter that never wraps went backwards", Reading{1, []float64{0, 5}}, Reading{2, []float64{0, 4}}, nil},
		{"no time passed", Reading{2, []float64{0, 5}}, Reading{2, []float64{0, 6}}, nil},
		{"domains changed", Reading{1, []float64{0}}, Reading{2, []float64{0, 6}}, nil},
	} {
		got, err := Between(m, tc.from, tc.to)
		if (err != nil) != (tc.want == nil) {
			t.Errorf("%s: error %v", tc.name, err)
		}
		for i := range tc.want {
			if got[i] != tc.want[i] {
				t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
			}
		}
	}
}
