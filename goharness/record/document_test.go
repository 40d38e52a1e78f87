package record_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

var update = flag.Bool("update", false, "rewrite the committed schema and the goldens")

// golden compares got with a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got; -update rewrites it):\n%s", path, d)
	}
}

func TestSchemaFileIsWhatTheTypesGive(t *testing.T) {
	got, err := record.GenerateSchema("ridge.calibration/1", &record.Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../schemas/ridge.calibration-1.schema.json", got)
}

func TestFusionSchemaFileIsWhatTheTypesGive(t *testing.T) {
	got, err := record.GenerateSchema("ridge.fusion/1", &record.Fusion{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../schemas/ridge.fusion-1.schema.json", got)
}

func encode(t *testing.T, doc record.Calibration) []byte {
	t.Helper()
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDocumentRoundTrip(t *testing.T) {
	for name, doc := range map[string]record.Calibration{"sample": recordtest.Sample(), "empty": empty()} {
		data := encode(t, doc)
		got, err := record.ReadCalibration(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(encode(t, got), data) {
			t.Errorf("%s: the document changed on its way", name)
		}
		if bytes.Contains(data, []byte("null")) {
			t.Errorf("%s: holds a null", name)
		}
	}
}

func empty() record.Calibration {
	var doc record.Calibration
	recordtest.FillFacts(&doc, "empty")
	return doc
}

func TestDocumentKeepsFieldsOfALaterVersion(t *testing.T) {
	data := encode(t, recordtest.Sample())
	data = bytes.Replace(data, []byte(`"run_id"`), []byte(`"weather":{"sky":[1,"b"]},"run_id"`), 1)
	data = bytes.Replace(data, []byte(`"results": [
    {`), []byte(`"results": [
    {"mood":"good",`), 1)
	doc, err := record.ReadCalibration(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	doc, err = record.ReadCalibration(bytes.NewReader(encode(t, doc)))
	if err != nil {
		t.Fatal(err)
	}
	var sky any
	if err := json.Unmarshal(doc.Extra["weather"], &sky); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"sky": []any{1.0, "b"}}
	if d := cmp.Diff(any(want), sky); d != "" || string(doc.Results[0].Extra["mood"]) != `"good"` || len(doc.Extra) != 1 {
		t.Errorf("extra %v, result's %v\n%s", doc.Extra, doc.Results[0].Extra, d)
	}
}

func TestDocumentErrorsNameTheFieldInOneLine(t *testing.T) {
	good := string(encode(t, recordtest.Sample()))
	replace := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("the sample has no %q", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "not JSON: unexpected end"},
		"truncated":       {good[:len(good)/2], "not JSON"},
		"no object":       {"[]", "expected"},
		"other schema":    {replace("ridge.calibration/1", "ridge.calibration/2"), `schema: got "ridge.calibration/2", this ridge reads "ridge.calibration/1"`},
		"no schema":       {`{}`, "schema: got nothing"},
		"wrong type":      {replace(`"run_id": "`, `"run_id": 5, "x": "`), "run_id: got number, expected string"},
		"missing field":   {replace(`"run_id"`, `"run"`), "missing run_id"},
		"unknown status":  {replace(`"status": "noisy"`, `"status": "great"`), `results[2].status: got "great", expected one of ok, noisy`},
		"huge number":     {replace(`"wall_seconds": 42.5`, `"wall_seconds": 1e999`), "number 1e999"},
		"vast exponent":   {replace(`"wall_seconds": 42.5`, `"wall_seconds": 1e999999999`), "number 1e999999999"},
		"fraction":        {replace(`"threads": 2,`, `"threads": 2.5,`), "expected integer"},
		"beyond 64 bits":  {replace(`"flops": 2147483648`, `"flops": 1e30`), "flops"},
		"null byte":       {replace(`"run_id": "`, "\"run_id\": \"\x00"), "not JSON"},
		"null list":       {replace(`"fusion_profiles": [`, `"fusion_profiles": null, "x": [`), "fusion_profiles: got null, expected array"},
		"fact of neither": {replace(`"unavailable": "not read in this sample"`, `"source": ""`), "expected exactly one of value and unavailable"},
		"trailing text":   {good + "x", "not JSON"},
		"twice the id":    {replace(`m=64,n=64,k=64/threads=1/hot"`, `m=1024,n=1024,k=1024/threads=2/hot"`), "is results[0] already"},
	} {
		_, err := record.ReadCalibration(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
}

func TestDocumentWithANumberJSONCannotHoldIsRefused(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		doc := recordtest.Sample()
		doc.Results[1].Time.SamplesNS[2] = v
		_, err := record.EncodeCalibration(doc)
		if err == nil || !strings.Contains(err.Error(), "results[1].time.samples_ns[2]") {
			t.Errorf("error %v", err)
		}
	}
}

func TestWriteFileReplacesInOneStepAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "doc.json")
	for _, text := range []string{"one", "two"} {
		if err := record.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("holds %q", got)
		}
	}
	if err := record.WriteFile(filepath.Join(dir, "none", "x"), nil); err == nil || !strings.Contains(err.Error(), "none/x") {
		t.Errorf("into no directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := record.WriteFile(filepath.Join(dir, "d"), nil); err == nil {
		t.Error("replaced a directory")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestMergingAJournalGivesTheDocumentItsResults(t *testing.T) {
	sample := recordtest.Sample()
	path := filepath.Join(t.TempDir(), "j")
	j, err := record.Create(path, record.JournalHeader{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sample.Ceilings {
		if err := j.Append(record.Entry{Kind: record.EntryCeiling, Ceiling: &sample.Ceilings[i]}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sample.Results {
		if err := j.Append(record.Entry{Kind: record.EntryResult, Result: &sample.Results[i]}); err != nil {
			t.Fatal(err)
		}
	}
	better := record.Probe{Time: "2026-01-02T03:05:00Z", Value: 221, Case: "again", Why: "reprobe"}
	for range 2 { // a probe that comes twice counts once
		err := j.Append(record.Entry{Kind: record.EntryProbe, Probe: &record.ProbeEntry{Ceiling: sample.Ceilings[0].Key(), Probe: better}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Append(record.Entry{Kind: record.EntryEnd, End: &record.End{Complete: true, WallSeconds: 9}}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	log, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := recordtest.Sample()
	doc.Results, doc.Ceilings = doc.Results[:2], nil
	if err := record.MergeJournal(&doc, log); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample.Results, doc.Results); d != "" {
		t.Error(d)
	}
	c := doc.Ceilings[0]
	if len(c.Probes) != 2 || c.Measured.Value != 221 || c.Measured.CaseID != "again" || c.Ratio != 221.0/224 {
		t.Errorf("ceiling after a better probe: %+v, ratio %v", c.Measured, c.Ratio)
	}
	if !doc.Summary.Complete || doc.Summary.WallSeconds != 9 {
		t.Errorf("summary %+v", doc.Summary)
	}
}

func FuzzReadCalibration(f *testing.F) {
	doc := recordtest.Sample()
	doc.Results, doc.Ceilings, doc.FusionProfiles = doc.Results[:1], doc.Ceilings[:1], nil // small seeds mutate faster
	good, err := record.EncodeCalibration(doc)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/3])
	f.Add([]byte(`{"schema":"ridge.calibration/1","results":null}`))
	f.Add([]byte("{\"schema\":\"ridge.calibration/1\",\"\\u0000\\n\":1e400}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := record.ReadCalibration(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		out, err := record.EncodeCalibration(doc)
		if err != nil {
			t.Fatalf("a document that was read cannot be written: %v", err)
		}
		if err := record.Validate(out); err != nil {
			t.Fatalf("a document that was read is not valid when written: %v", err)
		}
	})
}

// A list of a few megabytes must not cost gigabytes of error texts.
func TestListsTooLongToValidateAreRefusedByName(t *testing.T) {
	long := []byte(`{"schema":"ridge.calibration/1","results":[` + strings.Repeat("{},", 200_000) + `{}]}`)
	if err := record.Validate(long); err == nil || !strings.Contains(err.Error(), "results: the list has more than 100000 entries") {
		t.Errorf("error %v", err)
	}
	doc := recordtest.Sample()
	doc.Results[0].Time.SamplesNS = slices.Repeat([]float64{1}, 200_000)
	if err := record.Validate(encode(t, doc)); err != nil {
		t.Errorf("many samples: %v", err)
	}
}

// What is no regular file stays what it is; a link keeps its target.
func TestWritingADocumentReplacesOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	target, link, pipe := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	for _, f := range []string{target, link} {
		if err := os.Symlink(target, link); f == link && err != nil {
			t.Skip("no links here: ", err)
		}
		if err := record.WriteFile(f, []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", st.Mode(), err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != link {
		t.Errorf("the target holds %q, %v", got, err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	read := make(chan string, 1)
	go func() {
		got, err := os.ReadFile(pipe)
		read <- fmt.Sprint(string(got), err)
	}()
	if err := record.WriteFile(pipe, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(pipe); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
		t.Fatalf("the pipe became %v, %v", st.Mode(), err)
	}
	if got := <-read; got != "text<nil>" {
		t.Errorf("the reader got %q", got)
	}
}
