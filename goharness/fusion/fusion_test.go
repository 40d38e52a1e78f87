package fusion

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func mustFind(t *testing.T, name string) Pattern {
	t.Helper()
	p, ok := find(Builtin(), name)
	if !ok {
		t.Fatalf("no pattern %s", name)
	}
	return p
}

func build(t *testing.T, name string, d record.DType, params map[string]string) Pair {
	t.Helper()
	_, pair, err := mustFind(t, name).pair(params, d)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// The formulas of REFERENCE 1.3, and the reductions that system C published for the second size of each.
func TestFLOPsAndBytesAreThoseOfTheReference(t *testing.T) {
	const e = 4
	linear := map[string]string{"m": "512", "k": "1024", "n": "1024"}
	m, k, n := int64(512), int64(1024), int64(1024)
	conv := map[string]string{"n": "4", "c": "128", "k": "128", "hw": "28", "r": "3"}
	in, w, out, cout := int64(4*128*28*28), int64(128*128*9), int64(4*128*28*28), int64(128)
	mac := 2 * out * 128 * 9
	attn := map[string]string{"b": "4", "s": "256", "d": "64"}
	b, s, d := int64(4), int64(256), int64(64)
	grouped := map[string]string{"b": "2", "s": "256", "d": "64", "heads": "6", "kv_heads": "2"}
	rows := map[string]string{"rows": "48", "cols": "1024"}
	x, f := int64(48*1024), int64(1024)
	for _, c := range []struct {
		name                  string
		params                map[string]string
		flops, unfused, fused int64
		published             float64 // per cent; 0: none
	}{
		{"Linear_Bias", linear, 2*m*k*n + m*n, m*k + n*k + n + 3*m*n, m*k + n*k + n + m*n, 33.3},
		{"Linear_Bias_ReLU", linear, 2*m*k*n + 2*m*n, m*k + n*k + n + 5*m*n, m*k + n*k + n + m*n, 50},
		{"Linear_Bias_GELU", linear, 2*m*k*n + 9*m*n, m*k + n*k + n + 5*m*n, m*k + n*k + n + m*n, 0},
		{"SwiGLU", linear, 4*m*k*n + 6*m*n, 2*m*k + 2*n*k + 7*m*n, m*k + 2*n*k + m*n, 0},
		{"MLP", linear, 4*m*k*n + 9*m*n + m*k, m*k + 2*n*k + n + k + 6*m*n + 3*m*k, m*k + 2*n*k + n + k + m*k, 0},
		{"Conv2d_ReLU", conv, mac + out, in + w + 3*out, in + w + out, 45.8},
		// One FLOP an output and Cout elements on the unfused side more than without the bias.
		{"Conv2d_BN", conv, mac + 3*out, in + w + 5*cout + 3*out, in + w + cout + out, 0},
		{"Conv2d_BN_ReLU", conv, mac + 4*out, in + w + 5*cout + 5*out, in + w + cout + out, 62.8},
		{"Conv2d_BN_Add_ReLU", conv, mac + 5*out, in + w + 5*cout + 8*out, in + w + cout + 2*out, 0},
		{"Add_ReLU", rows, 2 * x, 5 * x, 3 * x, 0},
		{"Add_LayerNorm", rows, 8 * x, 5*x + 2*f, 4*x + 2*f, 0},
		{"Add_RMSNorm", rows, 5 * x, 5*x + f, 4*x + f, 0},
		{"QK_AttentionScores", attn, b * (2*s*s*d + s*s), 2*b*s*d + 3*b*s*s, 2*b*s*d + b*s*s, 57.1},
		{"FullAttention_SDPA", attn, b * (4*s*s*d + 6*s*s), 4*b*s*d + 6*b*s*s, 4 * b * s * d, 75},
		{"QK_Softmax", attn, b * (2*s*s*d + 6*s*s), 2*b*s*d + 5*b*s*s, 2*b*s*d + b*s*s, 0},
		{"Softmax_V", attn, b * (2*s*s*d + 5*s*s), 2*b*s*d + 3*b*s*s, 2*b*s*d + b*s*s, 0},
		// 2 sequences of 6 query heads and 2 key/value heads: K and V are read once a key/value head.
		{"FullAttention_SDPA", grouped, 12 * (4*s*s*d + 6*s*s), (2*12+2*4)*s*d + 6*12*s*s, (2*12 + 2*4) * s * d, 0},
		// The causal chain computes all scores and weighted sums; its softmax reads s(s+1)/2 of s² and costs 5 FLOP for each.
		{"CausalAttention_SDPA", grouped, 12 * (4*s*s*d + s*s + 5*s*(s+1)/2), (2*12+2*4)*s*d + 12*(5*s*s+s*(s+1)/2), (2*12 + 2*4) * s * d, 0},
	} {
		pair := build(t, c.name, record.FP32, c.params)
		for _, u := range pair.Unfused {
			if u.FLOPs() != c.flops || u.Bytes() != c.unfused*e {
				t.Errorf("%s, %s: %d FLOP and %d bytes, want %d and %d", c.name, u.Name, u.FLOPs(), u.Bytes(), c.flops, c.unfused*e)
			}
		}
		if pair.Fused.Bytes() != c.fused*e {
			t.Errorf("%s: fused %d bytes, want %d", c.name, pair.Fused.Bytes(), c.fused*e)
		}
		p := mustFind(t, c.name)
		v, _, _ := p.pair(c.params, record.FP32)
		got := reduction(pair.Unfused[0].Bytes(), pair.Fused.Bytes())
		if p.GraphsBytes != nil {
			got = reduction(p.GraphsBytes(v, e))
		}
		if c.published != 0 && math.Abs(100*got-c.published) > 0.05 {
			t.Errorf("%s: a reduction of %.2f %%, system C published %.1f", c.name, 100*got, c.published)
		}
	}
}

// The reductions of the graphs format to the last digit, by its own formulas of REFERENCE 1.3, where they are not of ridge's bytes.
func TestReductionsOfTheGraphsFormatAreByItsFormulas(t *testing.T) {
	conv := map[string]string{"n": "1", "c": "64", "k": "64", "hw": "56", "r": "3"}
	in, w, k, out := int64(64*56*56), int64(64*64*9), int64(64), int64(64*56*56)
	attn := map[string]string{"b": "4", "s": "256", "d": "64"}
	bsd, bss := int64(4*256*64), int64(4*256*256)
	for name, c := range map[string]struct {
		params         map[string]string
		unfused, fused int64
	}{
		"Conv2d_ReLU":        {conv, in + w + k + 3*out, in + w + k + out},
		"Conv2d_BN":          {conv, in + w + 3*out, in + w + k + out},
		"Conv2d_BN_ReLU":     {conv, in + w + 5*out, in + w + k + out},
		"QK_Softmax":         {attn, 2*bsd + 4*bss, 2*bsd + bss},
		"FullAttention_SDPA": {attn, 4*bsd + 3*bss, 4 * bsd},
	} {
		s, err := mustFind(t, name).shape(record.Result{Op: name, Params: c.params, DType: record.FP32, Status: record.Skipped}, Limits{})
		if want := reduction(c.unfused, c.fused); err != nil || s.GraphsReduction == nil || *s.GraphsReduction != want {
			t.Errorf("%s: %+v, %v, want %v", name, s.GraphsReduction, err, want)
		}
	}
}

// Elements of several sizes: bytes in, sums of four bytes between, bytes out.
func TestRequantisedConvolutionMovesSumsOfFourBytesUnfused(t *testing.T) {
	pair := build(t, "Conv2d_Requantize", record.INT8, map[string]string{"n": "4", "c": "128", "k": "128", "hw": "28", "r": "3"})
	in, w, out, k := int64(4*128*28*28), int64(128*128*9), int64(4*128*28*28), int64(128)
	u, f := pair.Unfused[0], pair.Fused
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"unfused bytes", u.Bytes(), in + w + 4*k + 4*out + 4*out + 4*k + out}, {"fused bytes", f.Bytes(), in + w + 4*k + 4*k + out},
		{"unfused FLOP", u.FLOPs(), 2*out*128*9 + 2*out}, {"fused FLOP", f.FLOPs(), 2*out*128*9 + 2*out}, {"candidates", int64(len(pair.Unfused)), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

// Sums are 4 bytes where they are stored, all else of an int8 layer 1, bias and scale 4.
func TestFLOPsAndBytesOfARequantisedLayer(t *testing.T) {
	m, k, n := int64(512), int64(1024), int64(768)
	pair := build(t, "Linear_Requantize", record.INT8, map[string]string{"m": "512", "k": "1024", "n": "768"})
	if flops, want := pair.Fused.FLOPs(), 2*m*k*n+2*m*n; flops != want || pair.Unfused[0].FLOPs() != want {
		t.Errorf("%d and %d FLOP, want %d", flops, pair.Unfused[0].FLOPs(), want)
	}
	operands := m*k + n*k + 8*n
	if f, u := pair.Fused.Bytes(), pair.Unfused[0].Bytes(); f != operands+m*n || u != operands+9*m*n {
		t.Errorf("fused %d and unfused %d bytes, want %d and %d", f, u, operands+m*n, operands+9*m*n)
	}
}

func TestEveryPatternHasProgramsForEveryShape(t *testing.T) {
	for _, p := range Builtin() {
		quick := 0
		for _, d := range p.DTypes {
			sizes := 0
			for _, s := range p.Shapes {
				if s.DTypes == nil || slices.Contains(s.DTypes, d) {
					sizes++
				}
				pair := build(t, p.Name, d, s.Params)
				if len(pair.Fused.Steps) != 1 || len(pair.Unfused) == 0 {
					t.Fatalf("%s %v: %d fused steps, %d baselines", p.Name, s.Params, len(pair.Fused.Steps), len(pair.Unfused))
				}
				for _, u := range pair.Unfused {
					if len(u.Steps) != len(p.Operators) {
						t.Errorf("%s %s: %d steps for the operators %v", p.Name, u.Name, len(u.Steps), p.Operators)
					}
					checkBinding(t, u)
				}
				checkBinding(t, pair.Fused)
				if s.Quick {
					quick++
				}
			}
			if sizes < 8 {
				t.Errorf("%s %s: a sweep of %d shapes", p.Name, d, sizes)
			}
		}
		if quick != 2*len(p.DTypes) {
			t.Errorf("%s: %d quick shapes of %d", p.Name, quick, len(p.Shapes))
		}
	}
}

// checkBinding: every tensor that a step names is there with the elements the step's op expects.
func checkBinding(t *testing.T, p op.Program) {
	t.Helper()
	for _, s := range p.Steps {
		for i, want := range s.Op.Tensors() {
			got, ok := p.Tensor(s.Bind[i])
			if !ok || got.Elements() != want.Elements() || got.DType != want.DType || got.Role == op.Latent {
				t.Errorf("%s: step %s binds %s to %q: %v of %v, want %v", p.Name, s.Op.Name(), want.Name, s.Bind[i], got.Role, got.Dims, want.Dims)
			}
		}
	}
}

func TestInPlaceCandidatesTakeNoBufferForElementwiseStages(t *testing.T) {
	for name, want := range map[string]string{"Linear_Bias_ReLU": "2 0", "SwiGLU": "3 1", "MLP": "4 1", "Linear_Requantize": "1", "Conv2d_BN_ReLU": "2 0", "QK_AttentionScores": "1 0", "FullAttention_SDPA": "3",
		"QK_Softmax": "2", "Softmax_V": "1", "CausalAttention_SDPA": "3", "Conv2d_BN_Add_ReLU": "3 0", "Add_ReLU": "1 0", "Add_LayerNorm": "0", "Add_RMSNorm": "0"} {
		p := mustFind(t, name)
		var got []string
		for _, u := range build(t, name, p.DTypes[0], p.Shapes[0].Params).Unfused {
			n := 0
			for _, x := range u.Tensors {
				if x.Role == op.Scratch {
					n++
				}
			}
			got = append(got, fmt.Sprint(n))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: scratch tensors %s, want %s", name, s, want)
		}
	}
}

func ratio(lo, value, hi float64, quartets int) record.Ratio {
	return record.Ratio{Value: value, CI95: [2]float64{lo, hi}, Quartets: make([]float64, quartets)}
}

func TestVerdictNeedsTheWholeInterval(t *testing.T) {
	for _, c := range []struct {
		r              record.Ratio
		class, atLeast string
	}{
		{ratio(1.5, 1.6, 1.7, 8), Strong, Strong},
		{ratio(1.49, 1.6, 1.7, 8), measure.Inconclusive, Moderate},
		{ratio(1.1, 1.2, 1.49, 8), Moderate, Moderate},
		{ratio(0.95, 1, 1.09, 8), Minimal, Minimal},
		{ratio(0.95, 1, 1.1, 8), measure.Inconclusive, Minimal},
		{ratio(0.8, 0.9, 0.94, 8), Slower, measure.Inconclusive},
		{ratio(0.8, 0.9, 0.95, 8), measure.Inconclusive, measure.Inconclusive},
		{ratio(1.6, 1.7, 1.8, 7), measure.Inconclusive, measure.Inconclusive},
	} {
		if v := Decide(c.r); v.Class != c.class || v.AtLeast != c.atLeast {
			t.Errorf("%v: %v, want %s, at least %s", c.r.CI95, v, c.class, c.atLeast)
		}
	}
}

// shapes of sizes 1, 2, 4, …: + gains, 0 neither, - slower, x not measured; the value lies in the middle of inconclusive ones: ! at least minimal, rather
// a gain, b no gain, / below 0.95 and at most minimal, ? anything, w anything and below 0.95; s slower, f faster by too few quartets.
func sweep(answers string) []sized {
	var out []sized
	for i, a := range answers {
		s := sized{name: "m", size: 1 << i, FusionShape: record.FusionShape{Status: record.OK, Trials: 8}}
		s.SpeedupCI95 = map[rune][2]float64{'+': {1.1, 2}, '0': {0.95, 1.09}, '-': {0.5, 0.94}, '!': {0.96, 1.3}, 'b': {1.05, 1.14}, '/': {0.9, 1}, '?': {0.9, 1.3}, 'w': {0.7, 1.2}, 's': {0.5, 0.6}, 'f': {1.9, 2.1}, 'x': {}}[a]
		s.Speedup = math.Sqrt(s.SpeedupCI95[0] * s.SpeedupCI95[1])
		if a == 's' || a == 'f' {
			s.Trials = 4
		}
		if a == 'x' {
			s.Status, s.Trials = record.Skipped, 0
		}
		out = append(out, s)
	}
	return out
}

func TestRecommendation(t *testing.T) {
	for _, c := range []struct {
		answers string
		quick   bool
		want    string
	}{
		{"++++", false, Fuse}, {"00+!", false, Fuse}, {"0+0x", false, Fuse}, {"00+?", false, Fuse}, {"0+?", false, measure.Inconclusive}, {"0+??", false, measure.Inconclusive},
		{"0+/", false, measure.Inconclusive}, {"0000+/", false, measure.Inconclusive}, {"0000+w", false, measure.Inconclusive}, {"00xx+", false, measure.Inconclusive},
		{"+++s", false, measure.Inconclusive}, {"000f", false, measure.Inconclusive},
		{"0000", false, DoNotFuse}, {"00--", false, DoNotFuse}, {"00/-", false, DoNotFuse}, {"000b", false, DoNotFuse}, {"00bb", false, measure.Inconclusive}, {"000x", false, DoNotFuse},
		{"000!", false, measure.Inconclusive}, {"0000000!", false, measure.Inconclusive}, {"000?", false, DoNotFuse}, {"00??", false, measure.Inconclusive}, {"xxxx", false, measure.Inconclusive},
		{"--++", false, Depends + " m 2 4 true"}, {"-0?+", false, Depends + " m 1 8 true"}, {"++--", false, Depends + " m 2 4 false"},
		{"--++!", false, Depends + " m 2 4 true"}, {"--++w", false, measure.Inconclusive}, {"--++s", false, measure.Inconclusive}, {"f--++", false, measure.Inconclusive}, {"-/0!+", false, Depends + " m 1 16 true"},
		{"b--++", false, Depends + " m 4 8 true"}, {"!--++", false, measure.Inconclusive}, {"w++--", false, measure.Inconclusive}, {"++--!", false, measure.Inconclusive}, {"-+xxxx", false, measure.Inconclusive},
		{"-+-+", false, measure.Inconclusive}, {"+-+", false, measure.Inconclusive}, {"--++", true, measure.Inconclusive},
		{"", false, measure.Inconclusive}, {"????", false, measure.Inconclusive},
	} {
		r := recommend(sweep(c.answers), c.quick)
		got := r.Verdict
		if x := r.Crossover; x != nil {
			got += fmt.Sprintf(" %s %d %d %v", x.Parameter, x.Between[0], x.Between[1], x.FuseAbove)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s (%s)", c.answers, got, c.want, r.Reason)
		}
	}
}

// Between a loss of 0.8 at 2 and a gain of 1.6 at 16 the programs are even where the logarithm has gone ln(1/0.8)/ln(2) of the way.
func TestACrossoverSaysAboutWhereTheProgramsAreEven(t *testing.T) {
	shape := func(m int64, speedup float64) sized {
		s := sweep(map[bool]string{true: "+", false: "-"}[speedup > 1])[0]
		s.size, s.Speedup, s.SpeedupCI95 = m, speedup, [2]float64{speedup * 0.99, speedup * 1.01}
		return s
	}
	for _, up := range []bool{true, false} {
		shapes := []sized{shape(1, 0.7), shape(2, 0.8), shape(16, 1.6), shape(64, 1.7)}
		if !up {
			shapes = []sized{shape(1, 1.7), shape(2, 1.6), shape(16, 0.8), shape(64, 0.7)}
		}
		share := math.Log(1/0.8) / math.Log(2)
		want := 2 * math.Pow(8, share)
		if !up {
			want = 16 / math.Pow(8, share)
		}
		c := recommend(shapes, false).Crossover
		if c == nil || c.FuseAbove != up || math.Abs(c.Value/want-1) > 1e-9 || c.Value < 2 || c.Value > 16 {
			t.Errorf("fuse above %v: %+v, want about %v", up, c, want)
		}
	}
}

// None of their tensors has gaps, and their convolutions read every pixel, so all that is allocated is touched.
func TestAProgramOfAPatternTouchesAllItsTensors(t *testing.T) {
	for _, p := range Builtin() {
		for _, s := range p.Shapes {
			for _, d := range p.DTypes {
				_, pair, err := p.pair(s.Params, d)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range append(pair.Unfused, pair.Fused) {
					if x.WorkingSet() != x.StorageBytes() {
						t.Errorf("%s %v %s, %s: %d of %d bytes are touched", p.Name, s.Params, d, x.Name, x.WorkingSet(), x.StorageBytes())
					}
				}
			}
		}
	}
}

func TestSelectTakesGroupsAndNames(t *testing.T) {
	group := map[string]int{} // a new pattern changes no number here
	for _, p := range Builtin() {
		group[p.Group]++
	}
	for _, want := range []string{"linear", "conv", "attention", "elementwise", "norm"} {
		if !slices.Contains(Groups(Builtin()), want) {
			t.Errorf("groups %v, want %s", Groups(Builtin()), want)
		}
	}
	for want, n := range map[string]int{"all": len(Builtin()), "linear": group["linear"], "conv": group["conv"], "norm elementwise": group["norm"] + group["elementwise"], "Conv2d_BN": 1,
		"linear Linear_Bias": group["linear"], "linear Conv2d_BN": group["linear"] + 1} {
		if got, err := Select(Builtin(), strings.Fields(want)); err != nil || len(got) != n {
			t.Errorf("%s: %d patterns, %v, want %d", want, len(got), err, n)
		}
	}
	if _, err := Select(Builtin(), []string{"relu"}); err == nil || !strings.Contains(err.Error(), "Conv2d_ReLU") {
		t.Errorf("an unknown name: %v", err)
	}
}

// The scale of the scores is an operation whether it is a step or a product's factor (REFERENCE 1.3: B(2S²D+S²)).
func TestBothProgramsOfAttentionScoresCountTheScale(t *testing.T) {
	for _, d := range []int64{1, 64, 80} {
		pair := build(t, "QK_AttentionScores", record.FP32, map[string]string{"b": "4", "s": "256", "d": strconv.FormatInt(d, 10)})
		want := 4 * (2*256*256*d + 256*256)
		if u, f := pair.Unfused[0].FLOPs(), pair.Fused.FLOPs(); u != want || f != want {
			t.Errorf("d %d: %d and %d FLOP, want %d of both", d, u, f, want)
		}
	}
}
