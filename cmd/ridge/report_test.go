package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/goharness/report"
)

// documents are a calibration, a fusion profile of its run and device, and graphs files of our
// own and of system C.
func documents(t *testing.T) (calibration, profile, own, theirs string) {
	t.Helper()
	doc := recordtest.Sample()
	write := func(name string, text []byte, err error) string {
		file := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	text, err := record.ExportGraphs(doc)
	own = write("graphs.json", text, err)
	text, err = record.EncodeFusion(recordtest.Fusion(doc))
	profile = write("profiles.json", text, err)
	doc.FusionProfiles = nil
	text, err = record.EncodeCalibration(doc)
	return write("calibration.json", text, err), profile, own, "../../testdata/record/graphs_cuda.json"
}

func TestReportShowsEveryKindOfDocumentInEveryView(t *testing.T) {
	calibration, profile, own, theirs := documents(t)
	for name, c := range map[string]struct {
		files []string
		want  string // in every view but json's and graphs' numbers
	}{
		"a fusion profile alone": {[]string{profile}, "Linear_Bias_ReLU"},
		"with its calibration":   {[]string{calibration, profile}, "Linear_Bias_ReLU"},
		"our graphs file":        {[]string{own}, "Linear_Bias_ReLU"},
		"system C's graphs file": {[]string{theirs}, "Conv2d_BN_ReLU"},
	} {
		for _, v := range report.Views() {
			if v.Files != nil {
				dir := filepath.Join(t.TempDir(), "plots")
				if code, stdout, stderr := ridge(t, append([]string{"report", "--format", v.Name, "--output", dir}, c.files...)...); code != exitOK || stderr != "" || !strings.Contains(stdout, "fusion.svg") {
					t.Errorf("%s, %s: exit code %d, files %q, error %q", name, v.Name, code, stdout, stderr)
				}
				continue
			}
			code, stdout, stderr := ridge(t, append([]string{"report", "--format", v.Name}, c.files...)...)
			if code != exitOK || stderr != "" || stdout == "" {
				t.Errorf("%s, %s: exit code %d, %d bytes, error %q", name, v.Name, code, len(stdout), stderr)
			}
			if v.Name != "benchfmt" && !strings.Contains(strings.ReplaceAll(stdout, `\_`, "_"), c.want) {
				t.Errorf("%s, %s: no %s", name, v.Name, c.want)
			}
		}
	}
}

func TestReportWritesOneGraphsFileOfACalibrationAndItsProfile(t *testing.T) {
	calibration, profile, own, _ := documents(t)
	want, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, files := range [][]string{{calibration, profile}, {profile, calibration}} {
		code, stdout, stderr := ridge(t, append([]string{"report", "--format", "graphs"}, files...)...)
		if code != exitOK || stdout != string(want) {
			t.Errorf("exit code %d, error %q; the file is not that of a calibration that holds the profile", code, stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "back.json")
	if code, _, stderr := ridge(t, "report", own, "--format", "json", "--output", out); code != exitOK {
		t.Fatal(stderr)
	}
	if code, stdout, stderr := ridge(t, "report", out, "--format", "graphs"); code != exitOK || stdout != string(want) {
		t.Errorf("exit code %d, error %q; the file changed on its way through a document", code, stderr)
	}
}

func TestReportRefusesInputsThatDoNotGoTogetherInOneLine(t *testing.T) {
	calibration, profile, own, theirs := documents(t)
	again := filepath.Join(t.TempDir(), "again.json")
	text, err := os.ReadFile(profile)
	if err == nil {
		err = os.WriteFile(again, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	bad := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{calibration, profile, again}, []string{"again.json", "cpu/Linear_Bias_ReLU/fp32/m=128,k=512,n=512/threads=2/hot", "profiles.json"}},
		{[]string{own, theirs, "--format", "graphs"}, []string{"graphs export", "one document"}},
		{[]string{bad("a.json", `{}`)}, []string{"a.json", "schema", "ridge.fusion/1", "graphs"}},
		{[]string{bad("b.json", `{"schema":"ridge.fusion/1"}`)}, []string{"b.json", "missing"}},
		{[]string{bad("c.json", `{"metadata":{"hardware_name":5},"operation_profiles":{}}`)}, []string{"c.json", "metadata.hardware_name", "expected text"}},
		{[]string{bad("d.json", `{"metadata":{"hardware_name":NaN},"operation_profiles":{}}`)}, []string{"d.json", "metadata.hardware_name", "not JSON"}},
		{[]string{bad("e.json", `{"metadata":`)}, []string{"e.json", "metadata", "ends at byte"}},
	} {
		code, stdout, stderr := ridge(t, append([]string{"report"}, c.args...)...)
		got := lines(stderr)
		if code != exitUsage || len(got) != 1 || stdout != "" {
			t.Fatalf("%v: exit code %d, standard output %q, standard error %q: want code 2, nothing, one line", c.args, code, stdout, stderr)
		}
		for _, part := range c.want {
			if !strings.Contains(got[0], part) {
				t.Errorf("%q does not say %q", got[0], part)
			}
		}
	}
}

// What is shown of an imported file does not pretend to know more than the file.
func TestReportOfAnImportedFileSaysWhatIsNotKnown(t *testing.T) {
	_, _, _, theirs := documents(t)
	_, stdout, _ := ridge(t, "report", theirs)
	for _, part := range []string{"the mean stands for it", "inconclusive", "no interval", "unsupported: Timeout: Warmup exceeded 5s timeout", "Example Board (GPU)"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the table does not say %q", part)
		}
	}
	_, stdout, _ = ridge(t, "report", theirs, "--format", "json")
	var doc record.Calibration
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || record.Validate([]byte(stdout)) != nil {
		t.Errorf("%v, %v", err, record.Validate([]byte(stdout)))
	}
}

// "-" is one of several inputs, and what stands there is merged with the others as a file would be.
func TestReportMergesStandardInputWithFiles(t *testing.T) {
	calibration, profile, _, _ := documents(t)
	stdin := func(name string) {
		t.Helper()
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		old := os.Stdin
		os.Stdin = f
		t.Cleanup(func() { os.Stdin = old; f.Close() })
	}
	_, want, _ := ridge(t, "report", "--format", "csv", calibration, profile)
	stdin(profile)
	if code, got, stderr := ridge(t, "report", "--format", "csv", calibration, "-"); code != exitOK || got != want || !strings.Contains(got, "Linear_Bias_ReLU") {
		t.Errorf("exit code %d, error %q, %d bytes where %d were expected", code, stderr, len(got), len(want))
	}
	stdin(calibration)
	if code, _, stderr := ridge(t, "report", "--format", "csv", calibration, "-"); code != exitUsage || !strings.Contains(stderr, "-: run ") || !strings.Contains(stderr, "calibration.json already") {
		t.Errorf("the same run twice: exit code %d, error %q", code, stderr)
	}
	if code, _, stderr := ridge(t, "report", "-", "-"); code != exitUsage || !strings.Contains(stderr, "given twice") {
		t.Errorf("exit code %d, error %q", code, stderr)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{\n\"schema\": \"ridge.calibration/1\",\n\"results\": [1,,2]}"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdin(bad)
	if code, _, stderr := ridge(t, "report", "-"); code != exitUsage || !strings.Contains(stderr, "-: ") || !strings.Contains(stderr, "line 3, column ") || len(lines(stderr)) != 1 {
		t.Errorf("exit code %d, error %q", code, stderr)
	}
}
