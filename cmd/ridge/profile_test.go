//go:build linux && cgo && (amd64 || arm64)

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/profile"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

func calibrationFile(t *testing.T, change func(*record.Calibration)) string {
	t.Helper()
	doc := recordtest.Sample()
	if change != nil {
		change(&doc)
	}
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func readPprof(t *testing.T, name string) *pprof.Profile {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	cmd.Dir = "../.."
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool pprof %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

func TestAProfileIsMadeOfADocument(t *testing.T) {
	doc, out := calibrationFile(t, nil), filepath.Join(t.TempDir(), "f.pb.gz")
	code, stdout, stderr := ridge(t, "profile", "--from", doc, "--output", out)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "time_over_roofline") || !strings.Contains(stdout, "compute") {
		t.Errorf("standard output:\n%s", stdout)
	}
	if err := readPprof(t, out).CheckValid(); err != nil {
		t.Error(err)
	}
	if top := goTool(t, "-top", out); !strings.Contains(top, "Type: device_time") {
		t.Errorf("go tool pprof -top:\n%s", top)
	}
	// The same document twice, to a file and to standard output, gives the same bytes.
	_, again, _ := ridge(t, "profile", "--from", doc, "--output", "-")
	if b, err := os.ReadFile(out); err != nil || string(b) != again {
		t.Errorf("two profiles of one document differ (%v)", err)
	}
}

func TestProfilesOfTwoRunsAreCompared(t *testing.T) {
	old := calibrationFile(t, nil)
	slower := calibrationFile(t, func(doc *record.Calibration) {
		for i := range doc.Results {
			if r := &doc.Results[i]; r.Time != nil && strings.Contains(r.ID, "/gemm/fp32/m=1024") {
				r.Time.MedianNS *= 1.25
			}
		}
	})
	diff := filepath.Join(t.TempDir(), "d.pb.gz")
	code, stdout, stderr := ridge(t, "profile", "--diff", old, slower, "--output", diff)
	if code != exitOK || !strings.Contains(stdout, "new/old") || !strings.Contains(stdout, "1.2") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	if err := readPprof(t, diff).CheckValid(); err != nil {
		t.Error(err)
	}
	if code, _, stderr = ridge(t, "profile", "--diff", "--fail-on", "slower", old, slower); code != exitFault || len(lines(stderr)) != 1 {
		t.Errorf("--fail-on slower: exit code %d: %s", code, stderr)
	}
	if code, stdout, stderr = ridge(t, "profile", "--diff", "--fail-on", "slower", old, old); code != exitOK {
		t.Errorf("a document against itself: exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestProfileRefusesNonsenseInOneLine(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("not a document"), 0o644); err != nil {
		t.Fatal(err)
	}
	doc := calibrationFile(t, nil)
	torn := filepath.Join(t.TempDir(), "torn.pb.gz")
	if err := os.WriteFile(torn, []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3}, 0o644); err != nil {
		t.Fatal(err)
	}
	elsewhere := calibrationFile(t, func(doc *record.Calibration) { doc.RunID = "../../elsewhere" })
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--from", elsewhere}, []string{"../../elsewhere", "--output"}}, // the file would not lie among the runs
		{[]string{"--from", torn}, []string{torn}},
		{[]string{"--from", t.TempDir()}, []string{"is a directory"}},
		{[]string{"--from", "/dev/zero"}, []string{"/dev/zero is a device"}},
		{[]string{"--from", doc, "--output", t.TempDir()}, []string{"--output", "is a directory"}},
		{[]string{"--from", doc, "--output", filepath.Join(bad, "below")}, []string{"--output", "not a directory"}},
		{[]string{"gemm", "--m", "9223372036854775807", "--n", "8", "--k", "8"}, []string{"gemm", "9223372036854775807"}},
		{[]string{"gemm", "--m", "4294967296", "--n", "4294967296", "--k", "4294967296"}, []string{"gemm", "4294967296"}},
		{[]string{"--native", "gemm", "--m", "-1", "--n", "8", "--k", "8"}, []string{"gemm", "-1"}},
		{[]string{"--native", "--resume", "x", "gemm"}, []string{"--resume", "--native"}},
		{[]string{"--native", "--phases", "gemm"}, []string{"--phases", "--native"}},
		{[]string{"--from", doc, "--no-ceilings"}, []string{"--no-ceilings", "--from"}},
		{[]string{"--diff", doc, doc, "--no-ceilings"}, []string{"--no-ceilings", "--diff"}},
		{[]string{"Linear_Bias", "--quick", "--no-ceilings"}, []string{"--no-ceilings", "Linear_Bias"}},
		{[]string{"--diff", doc, torn}, []string{torn, "neither a profile nor"}},
		{nil, []string{"--suite", "--from"}},
		{[]string{"frobnicate"}, []string{"frobnicate"}},
		{[]string{"frobnicate", "--m", "8"}, []string{"frobnicate"}},
		{[]string{"--suite", "nothing"}, []string{"--suite", "nothing", "quick"}},
		{[]string{"--suite", ","}, []string{"--suite", "expected quick, full"}},
		{[]string{"--from", doc, "--energy"}, []string{"--energy true: does not go with --from"}},
		{[]string{"--diff", "--energy=all", doc, doc}, []string{"--energy all: does not go with --diff"}},
		{[]string{"--suite", "quick", "gemm"}, []string{"--suite", "gemm"}},
		{[]string{"--suite", "quick", "--m", "8"}, []string{"--suite", "quick"}},
		{[]string{"--from", bad}, []string{bad}},
		{[]string{"--from", filepath.Join(t.TempDir(), "missing")}, []string{"missing"}},
		{[]string{"--from", doc, "--native"}, []string{"--native", "--from"}},
		{[]string{"--from", doc, "no_such_op"}, []string{"no_such_op"}},
		{[]string{"--native", "--rate", "0", "gemm"}, []string{"--rate", "10 to 10000"}},
		{[]string{"--native", "--rate", "1000000", "gemm"}, []string{"--rate", "10 to 10000"}},
		{[]string{"--rate", "100", "gemm"}, []string{"--rate", "--native"}},
		{[]string{"--diff", doc}, []string{"--diff", "two"}},
		{[]string{"--diff", doc, bad}, []string{bad}},
		{[]string{"--diff", "--threshold", "many", doc, doc}, []string{"--threshold", "many", "percentage"}},
		{[]string{"--diff", "--fail-on", "faster", doc, doc}, []string{"--fail-on", "faster", "slower"}},
		{[]string{"--threshold", "5%", "gemm"}, []string{"--threshold", "--diff"}},
		{[]string{"--json", "--output", "-", "gemm"}, []string{"--json", "--output -", "choose one"}},
		{[]string{"--diff", "--json", "--output", "-", doc, doc}, []string{"--json", "--output -", "choose one"}},
		{[]string{"Add_ReLU", "--m", "8"}, []string{"Add_ReLU", "shapes of its own"}},
		{[]string{"Add_ReLU", "--precision", "int8"}, []string{"Add_ReLU", "int8"}},
	} {
		code, stdout, stderr := ridge(t, append([]string{"profile"}, tc.args...)...)
		if code != exitUsage || stdout != "" || len(lines(stderr)) != 1 {
			t.Errorf("ridge profile %q: exit code %d, want 2 and one line:\n%s%s", tc.args, code, stdout, stderr)
		}
		for _, w := range tc.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("ridge profile %q: the error lacks %q: %s", tc.args, w, stderr)
			}
		}
	}
}

// A full disk, and a file that may not grow (ulimit -f): what stood there stays, and the message says how to get the profile.
func TestAProfileThatCannotBeWrittenLeavesTheOlderOne(t *testing.T) {
	out, dir := filepath.Join(t.TempDir(), "f.pb.gz"), t.TempDir()
	if err := os.WriteFile(out, []byte("an older profile"), 0o644); err != nil {
		t.Fatal(err)
	}
	doc := calibrationFile(t, nil)
	limited := func(blocks string, args ...string) (code int, said string) {
		t.Helper()
		cmd := process(t, args...)
		cmd.Args = append([]string{"sh", "-c", "ulimit -f " + blocks + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		text, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(text)
	}
	code, said := limited("1", "profile", "--from", doc, "--output", out)
	if code != exitUsage || len(lines(said)) != 1 || !strings.Contains(said, "write the profile: ") || !strings.Contains(said, "file too large") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "an older profile" {
		t.Errorf("%q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) != 0 {
		t.Errorf("left beside it: %q", left)
	}
	full := []string{"profile", "relu", "--param", "rows=64", "--param", "cols=64", "--precision", "fp32", "--threads", "1", "--quick", "--warmup", "1", "--trials", "5", "--no-ceilings", "--output", "/dev/full", "--data-dir", dir}
	code, _, stderr := ridge(t, full...)
	said = lines(stderr)[len(lines(stderr))-1]
	_, again, kept := strings.Cut(said, "the run is kept: ridge profile --from ")
	if code == exitOK || !kept || !strings.Contains(said, "no space left") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if code, _, stderr := ridge(t, "profile", "--from", again, "--output", out); code != exitOK {
		t.Errorf("as it says: exit code %d: %s", code, stderr)
	}
	long := append(slices.Clone(full), "--native")
	long[slices.Index(long, "--trials")+1] = "400"
	if code, _, stderr := ridge(t, long...); code == exitOK || !strings.Contains(stderr, "repeat the command with another --output") {
		t.Errorf("--native: exit code %d: %s", code, stderr)
	}
}

// 300 MB of zeros in a file of 300 kB.
func TestAProfileThatUnpacksToTooMuchIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it packs 300 MB")
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 300 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := filepath.Join(t.TempDir(), "bomb.pb.gz")
	if err := os.WriteFile(bomb, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := ridge(t, "profile", "--diff", bomb, bomb)
	if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, "unpacks to more than") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// Names come from files of others: they must not command the terminal.
func TestNamesInAProfileAreShownWithoutControlCharacters(t *testing.T) {
	doc := calibrationFile(t, func(doc *record.Calibration) {
		for i := range doc.Results {
			if r := &doc.Results[i]; r.Kernel != "" {
				r.Kernel += "\x1b[2J\nfake"
			}
		}
	})
	other := calibrationFile(t, func(doc *record.Calibration) {
		for i := range doc.Results {
			if r := &doc.Results[i]; r.Time != nil {
				r.Kernel += "\x1b[31m"
				r.Time.MedianNS *= 3
			}
		}
	})
	for _, args := range [][]string{{"--from", doc, "--output", filepath.Join(t.TempDir(), "f.pb.gz")}, {"--diff", doc, other}, {"--diff", "--fail-on", "slower", doc, other}} {
		_, stdout, stderr := ridge(t, append([]string{"profile"}, args...)...)
		if strings.Contains(stdout+stderr, "\x1b") || strings.Contains(stdout, "\nfake") || stdout == "" {
			t.Errorf("ridge profile %q:\n%q\n%q", args, stdout, stderr)
		}
	}
}

// Every kernel of the registry has its source, in a file that names its instruction set.
func TestEveryKernelHasASource(t *testing.T) {
	locate := locateKernel()
	for _, b := range backends() {
		for _, k := range b.Kernels() {
			at, ok := locate(k.Name)
			if !ok {
				t.Errorf("kernel %s: no source", k.Name)
				continue
			}
			text, err := os.ReadFile(filepath.Join("..", "..", at.File))
			if err != nil {
				t.Errorf("kernel %s: %v", k.Name, err)
				continue
			}
			if n := int64(bytes.Count(text, []byte("\n"))); at.Line < 1 || at.Line > n {
				t.Errorf("kernel %s: line %d of %s, which has %d", k.Name, at.Line, at.File, n)
			}
			for _, isa := range []string{"avx2", "avx512", "neon"} {
				if strings.Contains(k.Name+"_", "_"+isa+"_") && !strings.HasSuffix(k.Name, "_model") && !strings.Contains(at.File, isa) {
					t.Errorf("kernel %s: source %s", k.Name, at.File)
				}
			}
		}
	}
}

// Without ceilings on this machine, and with them on a toy, where they take no time to probe.
func TestAnOpIsMeasuredAndProfiled(t *testing.T) {
	toys(t, 1)
	for _, tc := range []struct {
		args    []string
		label   string
		value   int64
		without bool
	}{
		{[]string{"gemm", "--m", "64", "--n", "64", "--k", "64", "--threads", "1", "--no-ceilings"}, "m", 64, true},
		{[]string{"stream_copy", "--param", "n=1000", "--device", "toy:0"}, "n", 1000, false},
	} {
		out := filepath.Join(t.TempDir(), "f.pb.gz")
		args := append(append([]string{"profile"}, tc.args...), "--precision", "fp32", "--quick", "--warmup", "1", "--trials", "5", "--output", out, "--data-dir", t.TempDir())
		code, stdout, stderr := ridge(t, args...)
		if code != exitOK {
			t.Fatalf("%q: exit code %d: %s", tc.args, code, stderr)
		}
		// Without ceilings nothing is over a roofline: the list is by time then.
		if rows := lines(stdout); len(rows) != 2 || tc.without && !strings.HasPrefix(rows[0], profile.DeviceTime) {
			t.Errorf("%q: standard output:\n%s", tc.args, stdout)
		}
		p := readPprof(t, out)
		if len(p.Sample) != 1 || p.Sample[0].NumLabel[tc.label][0] != tc.value || p.DefaultSampleType != profile.DeviceTime {
			t.Errorf("%q: %v", tc.args, p)
		}
		if said := slices.Contains(p.Comments, "time_over_roofline: 1 of 1 samples have no ceiling and contribute nothing"); said != tc.without {
			t.Errorf("%q: %q", tc.args, p.Comments)
		}
	}
}

// The whole way, with a binary as users have it (the test's own has no symbols): the micro-kernel
// of a GEMM has the most samples, and its instructions show.
func TestANativeProfileNamesTheMicroKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the program once more")
	}
	dir := t.TempDir()
	bin, out := filepath.Join(dir, "ridge"), filepath.Join(dir, "n.pb.gz")
	if text, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, text)
	}
	cmd := exec.Command(bin, "profile", "--native", "gemm", "--m", "512", "--n", "512", "--k", "512", "--precision", "fp32",
		"--threads", "1", "--warmup", "2", "--trials", "200", "--output", out, "--data-dir", dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	p := readPprof(t, out)
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	count, total := map[string]int64{}, int64(0)
	for _, s := range p.Sample {
		count[s.Location[0].Line[0].Function.Name] += s.Value[0]
		total += s.Value[0]
		if l := s.Location[0]; l.Mapping == nil || l.Address < l.Mapping.Start || l.Address >= l.Mapping.Limit {
			t.Fatalf("address %#x lies in no mapping", l.Address)
		}
		if len(s.Label["case"]) != 1 || len(s.NumLabel["k"]) != 1 {
			t.Fatalf("labels %v %v", s.Label, s.NumLabel)
		}
	}
	kernel := p.Sample[0].Label["kernel"][0]
	best, most, computing := "", int64(0), int64(0)
	for name, n := range count {
		if n > most {
			best, most = name, n
		}
		if strings.Contains(name, kernel) && !strings.HasPrefix(name, "pack") {
			computing += n
		}
	}
	// tile_KERNEL, or strip_…_KERNEL and the like where a shape goes another way; never packing or waiting. Tiles of two heights may
	// share the work between them.
	if !strings.Contains(best, kernel) || strings.HasPrefix(best, "pack") || 4*computing < 3*total {
		t.Errorf("the function with the most samples is %s (%d of %d, %d compute), want one that computes in %s: %v", best, most, total, computing, kernel, count)
	}
	if p.Mapping[0].BuildID == "" || filepath.Base(p.Mapping[0].File) != "ridge" {
		t.Errorf("mapping %+v", p.Mapping[0])
	}
	if top := goTool(t, "-top", out); !strings.Contains(top, best) {
		t.Errorf("go tool pprof -top lacks %s:\n%s", best, top)
	}
	if text := goTool(t, "-disasm="+best, bin, out); !strings.Contains(text, best) || !strings.Contains(text, "ms ") {
		t.Errorf("go tool pprof -disasm:\n%s", text)
	}
	if text := goTool(t, "-disasm=gemm_fp32", bin, out); !strings.Contains(text, "ROUTINE") || !strings.Contains(text, "ms ") { // as docs/profiling.md has it
		t.Errorf("go tool pprof -disasm by a part of the kernel's name:\n%s", text)
	}
	if text := goTool(t, "-list="+best, out); !strings.Contains(text, "native/gemm/") {
		t.Errorf("go tool pprof -list:\n%s", text)
	}
	html := filepath.Join(dir, "w.html")
	goTool(t, "-weblist="+best, "-output="+html, bin, out)
	if text, err := os.ReadFile(html); err != nil || !strings.Contains(string(text), "class=asm") {
		t.Errorf("go tool pprof -weblist shows no instructions (%v, %d bytes)", err, len(text))
	}
	if text := goTool(t, "-tags", out); !strings.Contains(text, "thread: Total") {
		t.Errorf("go tool pprof -tags:\n%s", text)
	}
}
