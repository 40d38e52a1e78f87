package op

import (
	"strings"
	"testing"

	"ridge/goharness/record"
)

func TestMemoryOpsCountFLOPAndBytesAsTheReferenceSays(t *testing.T) {
	rc := map[string]string{"rows": "1024", "cols": "8192"}
	n := map[string]string{"n": "1000"}
	const N = 1024 * 8192
	for _, c := range []struct {
		op          string
		d           record.DType
		params      map[string]string
		flop, bytes int64
	}{
		{"copy", record.FP32, rc, 0, 2 * N * 4}, {"copy", record.BF16, rc, 0, 2 * N * 2},
		{"transpose", record.FP32, rc, 0, 2 * N * 4}, {"fill", record.FP32, rc, 0, N * 4},
		{"add_scalar", record.BF16, rc, N, 2 * N * 2},
		{"layout", record.INT8, map[string]string{"n": "2", "c": "3", "h": "5", "w": "7"}, 0, 2 * 2 * 105},
		{"layout", record.FP32, map[string]string{"n": "1", "c": "64", "h": "56", "w": "56", "to": "nchw"}, 0, 2 * 64 * 56 * 56 * 4},
		{"stream_copy", record.FP64, n, 0, 2 * 8000}, {"stream_scale", record.FP64, n, 1000, 2 * 8000},
		{"stream_add", record.FP64, n, 1000, 3 * 8000}, {"stream_triad", record.FP32, n, 2000, 3 * 4000},
		{"dot", record.FP32, n, 2000, 2 * 4000}, {"axpy", record.FP64, n, 2000, 3 * 8000},
		{"chase", record.INT64, map[string]string{"bytes": "6400", "steps": "70"}, 0, 70 * 64},
		{"chase", record.INT64, map[string]string{"bytes": "6400", "steps": "700"}, 0, 6400},
		{"bandwidth", record.FP32, map[string]string{"access": "read", "bytes": "4096", "passes": "5"}, 0, 4096 * 5},
		{"bandwidth", record.FP32, map[string]string{"access": "nt_copy", "bytes": "4096"}, 0, 4096},
		{"bandwidth", record.FP32, map[string]string{"access": "triad", "bytes": "12288", "passes": "2"}, 2 * 1024 * 2, 12288 * 2},
	} {
		o, err := Builtin().New(c.op, c.params, c.d)
		if err != nil {
			t.Fatal(err)
		}
		if o.FLOPs() != c.flop || o.Bytes() != c.bytes {
			t.Errorf("%s %s %v: %d FLOP, %d bytes; expected %d, %d", c.op, c.d, c.params, o.FLOPs(), o.Bytes(), c.flop, c.bytes)
		}
	}
}

func TestMemoryOpsRefuseSizesThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		op, want string
		d        record.DType
		params   map[string]string
	}{
		{"chase", "multiple of 64", record.INT64, map[string]string{"bytes": "100", "steps": "1"}},
		{"chase", "bytes=0", record.INT64, map[string]string{"bytes": "0", "steps": "1"}},
		{"copy", "overflow", record.FP32, map[string]string{"rows": "1099511627776", "cols": "1099511627776"}},
		{"bandwidth", "expected one of", record.FP32, map[string]string{"access": "scribble", "bytes": "64"}},
		{"bandwidth", "passes=0", record.FP32, map[string]string{"access": "read", "bytes": "64", "passes": "0"}},
		{"dot", "no precision", record.BF16, map[string]string{"n": "1"}},
	} {
		_, err := Builtin().New(c.op, c.params, c.d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, expected one with %q", c.op, c.params, err, c.want)
		}
	}
}

func TestReadProbeSumsEveryWordOnceAPass(t *testing.T) {
	for _, passes := range []string{"1", "2", "3"} {
		o, err := Builtin().New("bandwidth", map[string]string{"access": "read", "bytes": "400", "passes": passes}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(1, false, o.Tensors())
		var sum uint32
		var b [4]byte
		for i := int64(0); i < 100; i++ {
			Encode(record.FP32, b[:], in.At(0, i))
			for p := '0'; p < rune(passes[0]); p++ {
				sum += uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
			}
		}
		if got := o.Expect(in, 1, 0).Value; got != float64(int32(sum)) {
			t.Errorf("%s passes: %v, expected %v", passes, got, int32(sum))
		}
	}
}

// Both conversions against the coordinates that the names of the layouts say.
func TestLayoutMovesEachElementToItsCoordinates(t *testing.T) {
	const n, c, h, w = 2, 3, 4, 5
	for _, to := range []string{"nhwc", "nchw"} {
		o, err := Builtin().New("layout", map[string]string{"n": "2", "c": "3", "h": "4", "w": "5", "to": to}, record.INT8)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(1, false, o.Tensors())
		for i := range int64(n * c * h * w) {
			x := i % w
			y, ch, image := i/w%h, i/w/h%c, i/w/h/c
			nchw, nhwc := i, ((image*h+y)*w+x)*c+ch
			from, at := nchw, nhwc
			if to == "nchw" {
				from, at = nhwc, nchw
			}
			if got, want := o.Expect(in, 1, at).Value, in.At(0, from); got != want {
				t.Errorf("to %s, image %d, channel %d, row %d, column %d: %v, want %v", to, image, ch, y, x, got, want)
			}
		}
	}
}
