package op

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// opOf builds an op of "name=value" parameters, separated by spaces.
func opOf(t *testing.T, name, params string, d record.DType) Op {
	t.Helper()
	p := map[string]string{}
	for _, f := range strings.Fields(params) {
		k, v, _ := strings.Cut(f, "=")
		p[k] = v
	}
	o, err := Builtin().New(name, p, d)
	if err != nil {
		t.Fatalf("%s %s: %v", name, params, err)
	}
	return o
}

// counted goes over the elements of a tensor that read accepts: their bytes, and those of the lines that they lie in, no more than the storage.
func counted(t Tensor, read func(at []int64) bool) (elements, touched int64) {
	lines, size := map[int64]bool{}, t.DType.Size()
	for i := range t.Elements() {
		if read(t.Coordinates(i)) {
			elements += size
			for b := range size {
				lines[(t.Offset(i)*size+b)/lineBytes] = true
			}
		}
	}
	return elements, min(t.StorageBytes(), int64(len(lines))*lineBytes)
}

func all([]int64) bool { return true }

func TestTouchedBytesAreTheLinesOfTheElementsThatAnOpReads(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it counts in one goroutine, ten times as long under the race detector")
	}
	r := rand.New(rand.NewPCG(1, 2))
	dtypes := []record.DType{record.FP32, record.BF16, record.INT8}
	for i := range 3000 {
		d := dtypes[r.IntN(3)]
		check := func(o Op, t1 Tensor, elements, touched int64) {
			t.Helper()
			if t1.Bytes() != elements || t1.TouchedBytes() != touched {
				t.Errorf("%s %v %s, tensor %s: %d bytes, %d touched; counted %d, %d", o.Name(), o.Params(), d, t1.Name, t1.Bytes(), t1.TouchedBytes(), elements, touched)
			}
		}
		m, n, k := 1+r.IntN(20), 1+r.IntN(40), 1+r.IntN(40)
		pitch := func(row int) int { return max(0, r.IntN(2)*(row+r.IntN(100))) }
		g := opOf(t, "gemm", fmt.Sprintf("m=%d n=%d k=%d lda=%d ldb=%d ldc=%d batch=%d", m, n, k, pitch(k), pitch(n), pitch(n), 1+r.IntN(3)), d)
		for _, x := range g.Tensors() {
			elements, touched := counted(x, all)
			check(g, x, elements, touched)
		}
		layout := []string{"nchw", "nhwc"}[i%2]
		rows, columns := 1+r.IntN(4), 1+r.IntN(4)
		dilation, pad := 1+r.IntN(4), r.IntN(6)
		least := max(1, (max(rows, columns)-1)*dilation+1-2*pad)
		c := opOf(t, "conv2d", fmt.Sprintf("n=%d c=%d h=%d w=%d k=2 r=%d s=%d stride=%d pad=%d dilation=%d layout=%s", 1+r.IntN(3), 1+r.IntN(20),
			least+r.IntN(12), least+r.IntN(30), rows, columns, 1+r.IntN(7), pad, dilation, layout), d).(*Conv)
		sees := func(at, outputs, taps int64) bool {
			for o := range outputs {
				for tap := range taps {
					if o*c.Stride+tap*c.Dilation-c.Pad == at {
						return true
					}
				}
			}
			return false
		}
		ts := c.Tensors()
		y, x := 2, ts[0]
		if c.NHWC {
			y = 1
		}
		elements, touched := counted(x, func(at []int64) bool { return sees(at[y], c.Ho, c.R) && sees(at[y+1], c.Wo, c.S) })
		check(c, x, elements, touched)
		if want := elements + ts[1].Elements()*ts[1].DType.Size() + ts[2].Elements()*ts[2].DType.Size(); c.Bytes() != want {
			t.Errorf("%v %s: %d bytes, counted %d", c.Params(), d, c.Bytes(), want)
		}
		if tr := TrafficOf(c); tr.ReadBytes+tr.WriteBytes != c.Bytes() {
			t.Errorf("%v %s: traffic %+v of %d bytes", c.Params(), d, tr, c.Bytes())
		}
	}
}

func TestWhatIsTouchedIsNotWhatIsAllocated(t *testing.T) {
	for _, tc := range []struct {
		name, params            string
		bytes, touched, storage int64 // all three of the whole op
	}{
		{"gemm", "m=1 n=256 k=1024", 4 * (1024 + 256*1024 + 256), 4 * (1024 + 256*1024 + 256), 4 * (1024 + 256*1024 + 256)},
		{"gemm", "m=1 n=256 k=1024 ldb=300000", 4 * (1024 + 256*1024 + 256), 4 * (1024 + 256*1024 + 256), 4 * (1024 + 1023*300000 + 256 + 256)},
		{"gemm", "m=1 n=256 k=256 ldb=16384", 4 * (256 + 256*256 + 256), 4 * (256 + 256*256 + 256), 4 * (256 + 255*16384 + 256 + 256)},
		{"gemm", "m=2 n=1 k=1000 tb=0 ldb=1000", 4 * (2000 + 1000 + 2), 4*(2000+2) + 64*1000, 4 * (2000 + 999*1000 + 1 + 2)}, // a column: a line for each element
		// 38 of 112 rows and columns; a pixel is 16 lines, or of 112 columns every line.
		{"conv2d", "n=8 c=256 h=112 w=112 k=16 r=1 stride=3 layout=nhwc", 4 * (8*38*38*256 + 16*256 + 8*38*38*16), 4 * (8*38*38*256 + 16*256 + 8*38*38*16), 4 * (8*112*112*256 + 16*256 + 8*38*38*16)},
		{"conv2d", "n=8 c=256 h=112 w=112 k=16 r=1 stride=3", 4 * (8*38*38*256 + 16*256 + 8*38*38*16), 4 * (8*256*38*112 + 16*256 + 8*38*38*16), 4 * (8*112*112*256 + 16*256 + 8*38*38*16)},
		{"conv2d", "n=1 c=64 h=56 w=56 k=64 pad=1", 4 * (2*64*56*56 + 64*64*9), 4 * (2*64*56*56 + 64*64*9), 4 * (2*64*56*56 + 64*64*9)},
		{"conv2d", "n=1 c=16 h=1 w=1 k=16 r=1 pad=2 stride=4", 4 * (16*16 + 16*4), 4 * (16*16 + 16*4), 4 * (16 + 16*16 + 16*4)}, // all of it padding
	} {
		p := Single(opOf(t, tc.name, tc.params, record.FP32))
		if p.Bytes() != tc.bytes || p.WorkingSet() != tc.touched || p.StorageBytes() != tc.storage {
			t.Errorf("%s %s: %d bytes, working set %d, storage %d; want %d, %d, %d", tc.name, tc.params, p.Bytes(), p.WorkingSet(), p.StorageBytes(), tc.bytes, tc.touched, tc.storage)
		}
	}
}

// A tensor that one step reads every third pixel of and another step writes is touched whole; twice bound it counts once.
func TestAProgramTouchesOfATensorWhatTheStepDoesThatTouchesMost(t *testing.T) {
	conv := opOf(t, "conv2d", "n=1 c=16 h=31 w=31 k=16 r=1 stride=3 layout=nhwc", record.FP32)
	relu := opOf(t, "relu", "rows=961 cols=16", record.FP32)
	p := Single(conv)
	p.Tensors[0].Role = Scratch
	p.Tensors = append(p.Tensors, Tensor{Name: "in", Role: In, DType: record.FP32, Dims: []int64{961, 16}}, Tensor{Name: "gamma", Role: Latent, DType: record.FP32, Dims: []int64{16}})
	p.Steps = slices.Insert(p.Steps, 0, Step{Op: relu, Bind: []string{"in", "x"}})
	if want := int64(4 * (2*961*16 + 16*16 + 121*16)); p.WorkingSet() != want {
		t.Errorf("a launch touches %d bytes, want %d", p.WorkingSet(), want)
	}
	p.Steps[0].Bind[0] = "x" // in place
	if want := int64(4 * (961*16 + 16*16 + 121*16)); p.WorkingSet() != want {
		t.Errorf("in place a launch touches %d bytes, want %d", p.WorkingSet(), want)
	}
}

// Images too large to list what is read of them count as read whole; none takes long to tell.
func TestAHugeImageIsCountedAtOnce(t *testing.T) {
	for _, tc := range []struct {
		h    int64
		want int64 // bytes of x
	}{{mostWindow, 4 * mostWindow / 2}, {mostWindow << 19, 4 * mostWindow << 19}} {
		for _, layout := range []string{"nchw", "nhwc"} {
			o := opOf(t, "conv2d", "n=1 c=1 w=1 k=1 r=1 stride=2 layout="+layout+" h="+strconv.FormatInt(tc.h, 10), record.FP32)
			if x := o.Tensors()[0]; x.Bytes() != tc.want || x.TouchedBytes() != 4*tc.h {
				t.Errorf("h=%d %s: %d bytes, %d touched, want %d, %d", tc.h, layout, x.Bytes(), x.TouchedBytes(), tc.want, 4*tc.h)
			}
		}
	}
}
