package op

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestTrafficIsNoMoreThanTheBytesOfAnOp(t *testing.T) {
	for _, tc := range []struct {
		op, params  string
		read, write int64
		inputs      int
	}{
		{"gemm", "m=8,n=16,k=32", 4 * (8*32 + 32*16), 4 * 8 * 16, 2},
		{"relu", "rows=8,cols=16", 4 * 128, 4 * 128, 1},
		{"causal_softmax", "b=3,s=77", 4 * 3 * 77 * 78 / 2, 4 * 3 * 77 * 77, 1}, // the visible half is read
		{"gemm", "m=0,n=4096,k=4096", 0, 0, 1},                                  // there is nothing to read the weights for
		{"linear", "m=0,n=4096,k=4096", 0, 0, 1},
		{"mlp", "m=0,k=64,h=64,n=64", 0, 0, 1},
	} {
		params := map[string]string{}
		for _, p := range splitParams(tc.params) {
			params[p[0]] = p[1]
		}
		o, err := Builtin().New(tc.op, params, record.FP32)
		if err != nil {
			t.Errorf("%s %s: %v", tc.op, tc.params, err)
			continue
		}
		got := TrafficOf(o)
		if got.ReadBytes != tc.read || got.WriteBytes != tc.write || got.ReadBytes+got.WriteBytes != o.Bytes() {
			t.Errorf("%s %s: %+v of %d bytes, want %d read and %d written", tc.op, tc.params, got, o.Bytes(), tc.read, tc.write)
		}
		p := Single(o)
		p.Steps = append(p.Steps, p.Steps[0])
		if both := ProgramTraffic(p); both.ReadBytes != 2*tc.read || both.WriteBytes != 2*tc.write || both.Inputs != got.Inputs {
			t.Errorf("%s twice: %+v", tc.op, both)
		}
	}
}

func splitParams(text string) (out [][2]string) {
	for _, p := range strings.Split(text, ",") {
		k, v, _ := strings.Cut(p, "=")
		out = append(out, [2]string{k, v})
	}
	return out
}
