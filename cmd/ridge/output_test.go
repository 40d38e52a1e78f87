package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/goharness/report"
)

func sampleDocument(t *testing.T) []byte {
	t.Helper()
	data, err := record.EncodeCalibration(recordtest.Sample())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestJSONOutputParses(t *testing.T) {
	for _, args := range [][]string{
		{"info", "--json"}, {"list", "kernels", "--json"}, {"list", "ops", "--json"}, {"list", "devices", "--json"},
		{"list", "patterns", "--json"}, {"--json", "list", "devices"}, {"list", "cases", "--quick", "--json"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			code, stdout, stderr := ridge(t, args...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, error %q", code, stderr)
			}
			var v any
			if err := json.Unmarshal([]byte(stdout), &v); err != nil {
				t.Errorf("not JSON: %v", err)
			}
		})
	}
	t.Run("doctor", func(t *testing.T) {
		code, stdout, _ := ridge(t, "doctor", "--json")
		var p record.Preflight
		if err := json.Unmarshal([]byte(stdout), &p); err != nil || len(p.Checks) == 0 {
			t.Fatalf("%v, %d checks", err, len(p.Checks))
		}
		if p.Passed != (code == exitOK) {
			t.Errorf("passed is %v and the exit code %d", p.Passed, code)
		}
	})
}

func TestEveryViewShowsADocument(t *testing.T) {
	file := sampleFile(t)
	for _, v := range report.Views() {
		if v.Files != nil {
			continue // into a folder; TestReportShowsEveryKindOfDocumentInEveryView
		}
		code, stdout, stderr := ridge(t, "report", file, "--format", v.Name)
		if code != exitOK || stderr != "" || stdout == "" {
			t.Errorf("%s: exit code %d, %d bytes, error %q", v.Name, code, len(stdout), stderr)
		}
		out := filepath.Join(t.TempDir(), "out")
		if code, _, stderr := ridge(t, "report", "--output", out, "--format="+v.Name, file); code != exitOK {
			t.Errorf("%s --output: exit code %d, %q", v.Name, code, stderr)
		}
		written, err := os.ReadFile(out)
		if err != nil || string(written) != stdout {
			t.Errorf("%s: --output wrote other text than standard output: %v", v.Name, err)
		}
	}
}

func TestListsNameWhatIsThere(t *testing.T) {
	for _, tc := range []struct{ what, want string }{
		{"kernels", "gemm_fp32_portable"}, {"ops", "gemm"}, {"devices", "cpu"}, {"patterns", "Conv2d_BN_ReLU"},
	} {
		code, stdout, stderr := ridge(t, "list", tc.what)
		if code != exitOK || !strings.Contains(stdout, tc.want) || stderr != "" {
			t.Errorf("list %s: exit code %d, no %q in it, error %q", tc.what, code, tc.want, stderr)
		}
	}
	if _, all, _ := ridge(t, "list", "kernels", "--all"); !strings.Contains(all, "_model") {
		t.Error("list kernels --all: the models that only tests use are missing")
	}
}

// "verified on" comes from the committed documents: chips for what they hold, and a word
// for what nobody has measured.
func TestKernelsSayWhereTheyWereVerified(t *testing.T) {
	_, stdout, _ := ridge(t, "list", "kernels", "--json")
	var kernels []struct {
		Name string
		On   []string `json:"verified_on"`
	}
	if err := json.Unmarshal([]byte(stdout), &kernels); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("../../docs/benchmarks/zen3-milan/quick.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := record.ReadCalibration(file)
	if err != nil {
		t.Fatal(err)
	}
	measured := map[string]bool{}
	for _, r := range doc.Results {
		if r.Verification != nil && r.Verification.Passed {
			measured[r.Kernel] = true
		}
	}
	_, table, _ := ridge(t, "list", "kernels")
	both := [2]int{}
	for _, k := range kernels {
		row := ""
		for _, line := range lines(table) {
			if strings.HasPrefix(line, k.Name+" ") {
				row = line
			}
		}
		if on := slices.Contains(k.On, "zen3-milan"); on != measured[k.Name] || k.On == nil {
			t.Errorf("%s: verified on %v, the document of zen3-milan has it: %v", k.Name, k.On, measured[k.Name])
		}
		if nobody := strings.HasSuffix(row, "no chip yet"); nobody != (len(k.On) == 0) {
			t.Errorf("%s is verified on %v, and its row is %q", k.Name, k.On, row)
		}
		both[min(len(k.On), 1)]++
	}
	if both[0] == 0 || both[1] == 0 {
		t.Errorf("%d kernels without a chip, %d with one: the test needs both", both[0], both[1])
	}
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"bench", "--help"}, {"bench", "gemm", "-h"}, {"--version"}} {
		code, stdout, stderr := ridge(t, args...)
		if code != exitOK || stdout == "" || stderr != "" {
			t.Errorf("%v: exit code %d, %d bytes, error %q", args, code, len(stdout), stderr)
		}
	}
}

func TestABenchGivesAValidDocument(t *testing.T) {
	code, stdout, stderr := ridge(t, benchTiny("--json", "--energy", "--hardware", "test machine")...)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := record.Validate([]byte(stdout)); err != nil {
		t.Fatal(err)
	}
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Results) != 1 || !doc.Results[0].Status.Counts() {
		t.Fatalf("results: %+v", doc.Results)
	}
	if doc.Tool.Revision != "unknown" { // the Makefile sets it, and did not build this test
		t.Errorf("revision %q", doc.Tool.Revision)
	}
	r := doc.Results[0]
	if r.Energy == nil || !strings.Contains(r.Energy.Unavailable, "no energy meter") || r.Metrics.Power == nil || r.Metrics.Power.Unavailable != r.Energy.Unavailable {
		t.Errorf("energy %+v, power %+v: want both to say that there is no meter", r.Energy, r.Metrics.Power)
	}
	if doc.Host.Name != "test machine" || !strings.Contains(strings.Join(doc.Command, " "), "ridge bench gemm") {
		t.Errorf("name %q, command %q", doc.Host.Name, doc.Command)
	}
	if r.Verification == nil || !r.Verification.Passed {
		t.Errorf("verification %+v", r.Verification)
	}
	// The command that a result carries measures the same case.
	again := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(r.Reproduce, "ridge "), "'", ""))
	code, stdout, stderr = ridge(t, append(again, "--no-ceilings", "--json")...)
	if code != exitOK {
		t.Fatalf("%s: exit code %d: %s", r.Reproduce, code, stderr)
	}
	if doc, err = record.ReadCalibration(strings.NewReader(stdout)); err != nil || doc.Results[0].ID != r.ID {
		t.Errorf("%s measured another case: %v", r.Reproduce, err)
	}
}

func TestQuietIsSilent(t *testing.T) {
	code, stdout, stderr := ridge(t, benchTiny("--quiet")...)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "Results") {
		t.Errorf("exit code %d, error %q, output %.200q", code, stderr, stdout)
	}
	if code, _, stderr := ridge(t, append([]string{"--quiet"}, benchTiny()...)...); code != exitOK || stderr != "" {
		t.Errorf("--quiet before the command: exit code %d, error %q", code, stderr)
	}
	if strings.Contains(stdout, "\x1b[") {
		t.Error("escape sequences in output that is no terminal")
	}
}

func TestACaseBeyondTheMemoryIsSkippedWithTheBytesItNeeds(t *testing.T) {
	code, stdout, stderr := ridge(t, "bench", "gemm", "--m", "1099511627776", "--n", "1", "--k", "1", "--no-ceilings", "--json", "--quiet")
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	// fp32 A[m,1], B[1,1] and C[m,1].
	if r := doc.Results[0]; r.Status != record.Skipped || !strings.Contains(r.Reason, "needs 8796093022212 bytes") {
		t.Errorf("%s: %s", r.Status, r.Reason)
	}
}

func TestOutputGoesWhereItWasAskedFor(t *testing.T) {
	out := filepath.Join(t.TempDir(), "doc.json")
	if code, _, stderr := ridge(t, benchTiny("--output", out)...); code != exitOK || !strings.Contains(stderr, out) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Error(err)
	}
	dir := t.TempDir()
	if code, _, stderr := ridge(t, append([]string{"--data-dir", dir}, benchTiny()...)...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got, _ := filepath.Glob(filepath.Join(dir, "runs", "*.json")); len(got) != 1 {
		t.Errorf("--data-dir before the command: %d documents below it, want 1", len(got))
	}
	code, stdout, stderr := ridge(t, benchTiny("--output", "-")...)
	if err := record.Validate([]byte(stdout)); code != exitOK || err != nil {
		t.Errorf("--output -: exit code %d, %s, %v", code, stderr, err)
	}
}

// failing is an output that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAFullStandardOutputDoesNotCostTheDocument(t *testing.T) {
	out := filepath.Join(t.TempDir(), "doc.json")
	var errs bytes.Buffer
	code := run(t.Context(), append([]string{"ridge"}, benchTiny("--quiet", "--output", out)...), failing{}, &errs)
	if code != exitUsage || len(lines(errs.String())) != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit code %d, %q: want 2 and one line", code, errs.String())
	}
	data, err := os.ReadFile(out)
	if err == nil {
		err = record.Validate(data)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestTheFolderOfTheOutputIsMade(t *testing.T) {
	out := filepath.Join(t.TempDir(), "profiles", "of", "test.json")
	if code, _, stderr := ridge(t, benchTiny("--output", out)...); code != exitOK {
		t.Fatalf("code %d: %s", code, stderr)
	}
	if st, err := os.Stat(out); err != nil || st.Size() == 0 {
		t.Errorf("%v", err)
	}
}
