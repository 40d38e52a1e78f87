package record

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCaseIDReadsEveryPart(t *testing.T) {
	for _, c := range []struct {
		text string
		want CaseID
	}{
		{"cpu/gemm/fp32/m=1024,n=512,k=64/threads=2/hot", CaseID{Device: "cpu", Op: "gemm", DType: FP32,
			Params: []Param{{"m", "1024"}, {"n", "512"}, {"k", "64"}}, Threads: 2, Mode: "hot"}},
		{"cuda:0/launch/fp32/-/threads=0/hot", CaseID{Device: "cuda:0", Op: "launch", DType: FP32, Mode: "hot"}},
		{"cpu/chase/int64/bytes=8192/threads=1/cold@chase_amd64", CaseID{Device: "cpu", Op: "chase", DType: INT64,
			Params: []Param{{"bytes", "8192"}}, Threads: 1, Mode: "cold", Kernel: "chase_amd64"}},
	} {
		got, err := ParseCaseID(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", c.text, d)
		}
		if got.String() != c.text {
			t.Errorf("%s comes back as %s", c.text, got)
		}
	}
}

func TestCaseIDRefusesWhatItCannotMean(t *testing.T) {
	for text, want := range map[string]string{
		"":                                          "1 parts",
		"cpu/gemm/fp32/m=1/threads=1":               "5 parts",
		"cpu/gemm/fp32//threads=1/hot":              "expected name=value",
		"cpu/gemm/fp32/m/threads=1/hot":             "expected name=value",
		"cpu/gemm/fp32/m=/threads=1/hot":            "value of parameter m is empty",
		"cpu/gemm/fp32/m=1,m=2/threads=1/hot":       "given twice",
		"cpu/gemm/fp31/m=1/threads=1/hot":           `unknown precision "fp31"`,
		"cpu/gemm/fp32/m=1/threads=01/hot":          "without sign or leading zeros",
		"cpu/gemm/fp32/m=1/threads=-1/hot":          "expected 0 to",
		"cpu/gemm/fp32/m=1/t=1/hot":                 "expected threads=N",
		"cpu/gemm/fp32/m=1/threads=1/hot@":          "no kernel after @",
		"cpu/gemm/fp32/m=1/threads=1/":              "mode is empty",
		"/gemm/fp32/m=1/threads=1/hot":              "device is empty",
		"cpu/ge mm/fp32/m=1/threads=1/hot":          "op ",
		"cpu/gemm/fp32/m=\x00/threads=1/hot":        "value of parameter m",
		"cpu/gemm/fp32/m=1/threads=1/hot@k@l":       "kernel ",
		"cpu/gemm/fp32/m=1/threads=99999999999/hot": "expected 0 to",
		strings.Repeat("x", maxCaseID+1):            "at most 4096",
	} {
		_, err := ParseCaseID(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: error %v, want one line with %q", text, err, want)
		}
	}
}

func TestCaseIDRoundTrip(t *testing.T) {
	token := rapid.StringMatching(`[A-Za-z0-9_.+-]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		c := CaseID{
			Device: rapid.StringMatching(`(cpu|cuda:[0-9]{1,2})`).Draw(t, "device"), Op: token.Draw(t, "op"),
			DType:   rapid.SampledFrom(append([]DType{INT64, INT32, UINT8}, Precisions...)).Draw(t, "dtype"),
			Threads: rapid.IntRange(0, maxThreads).Draw(t, "threads"), Mode: token.Draw(t, "mode"),
		}
		for _, n := range rapid.SliceOfNDistinct(token, 0, 5, rapid.ID).Draw(t, "names") {
			c.Params = append(c.Params, Param{n, token.Draw(t, "value")})
		}
		if rapid.Bool().Draw(t, "forced") {
			c.Kernel = token.Draw(t, "kernel")
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		got, err := ParseCaseID(c.String())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c, got); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzParseCaseID(f *testing.F) {
	for _, s := range []string{"cpu/gemm/fp32/m=1024/threads=2/hot", "cuda:0/x/fp64/-/threads=0/cold@k", "//////", "a/b/c/d=e,f/threads=1/g"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCaseID(s)
		if err != nil {
			return
		}
		if c.String() != s {
			t.Fatalf("%q comes back as %q", s, c)
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("%q was accepted and is not valid: %v", s, err)
		}
	})
}
