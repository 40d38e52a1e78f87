package record_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

func document(t *testing.T, name string, text []byte) record.Document {
	t.Helper()
	d, err := record.ReadDocument(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d.Name = name
	return d
}

// calibration is the sample without a profile of its own.
func calibration(t *testing.T, change func(*record.Calibration)) []byte {
	t.Helper()
	doc := recordtest.Sample()
	doc.FusionProfiles = nil
	if change != nil {
		change(&doc)
	}
	return encode(t, doc)
}

func profile(t *testing.T, change func(*record.Fusion)) []byte {
	t.Helper()
	f := recordtest.Fusion(recordtest.Sample())
	if change != nil {
		change(&f)
	}
	text, err := record.EncodeFusion(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheKindOfADocumentIsFound(t *testing.T) {
	graphs, _ := export(t, recordtest.Sample())
	for name, c := range map[string]struct {
		text   []byte
		fusion bool
		tool   string
	}{
		"calibration":    {calibration(t, nil), false, "ridge"},
		"fusion profile": {profile(t, nil), true, ""},
		"own graphs":     {graphs, false, "ridge"},
		"system C's":     {[]byte(cuda(t)), false, "branes-ai/graphs"},
		"metadata last":  {[]byte(`{"x":1,"operation_profiles":{},"metadata":{"hardware_name":"x","calibration_date":"2026-01-02T03:04:05Z"}}`), false, "branes-ai/graphs"},
	} {
		d := document(t, name, c.text)
		if (d.Fusion != nil) != c.fusion || (d.Calibration != nil) == c.fusion {
			t.Errorf("%s: %+v", name, d)
		}
		if d.Calibration != nil && d.Calibration.Tool.Name != c.tool {
			t.Errorf("%s: by %q", name, d.Calibration.Tool.Name)
		}
	}
}

func TestAnUnknownDocumentIsRefusedInOneLine(t *testing.T) {
	good := string(profile(t, nil))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {`{}`, `schema: got nothing, expected "ridge.calibration/1", "ridge.fusion/1", or a graphs file`},
		"other schema":      {`{"schema":"ridge.fusion/2"}`, `schema: got "ridge.fusion/2", expected`},
		"a number":          {`{"schema":1}`, "schema: got 1"},
		"list":              {`[]`, "expected"},
		"garbage":           {`garbage`, "not JSON: invalid character"},
		"empty":             {``, "not JSON"},
		"half a graphs":     {cuda(t)[:3000], "operation_profiles"},
		"graphs of nothing": {`{"operation_profiles":{}}`, "metadata: missing"},
		"schema and more":   {`{"metadata":{},"schema":"x"}`, `schema: got "x"`},
		"cut profile":       {good[:len(good)/2], "not JSON: unexpected end"},
		"no patterns":       {strings.Replace(good, `"patterns"`, `"pattern"`, 1), "missing patterns"},
		"wrong verdict":     {strings.Replace(good, `"verdict": "moderate"`, `"verdict": "good"`, 1), `verdict: got "good", expected one of`},
		"wrong type":        {strings.Replace(good, `"num_trials": 8`, `"num_trials": "8"`, 1), "num_trials: got string, expected integer"},
		"case twice": {strings.Replace(good, `/m=128,k=512,n=512/`, `/m=512,k=1024,n=1024/`, 1),
			`patterns[0].shapes[1].case_id: case "cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/hot" is patterns[0].shapes[0] already`},
	} {
		_, err := record.ReadDocument(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 600 {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
}

// A profile joins the calibration of its device and host; otherwise it stands alone.
func TestAProfileJoinsTheCalibrationOfItsDevice(t *testing.T) {
	other := func(c *record.Calibration) { c.RunID = "other" }
	for name, c := range map[string]struct {
		texts [][]byte
		want  string // run and profiles of each document
	}{
		"same run":          {[][]byte{calibration(t, nil), profile(t, nil)}, "20260102T030405Z-sample:1"},
		"profile first":     {[][]byte{profile(t, nil), calibration(t, nil)}, "20260102T030405Z-sample:1"},
		"another run":       {[][]byte{calibration(t, other), profile(t, nil)}, "other:1"},
		"its own of two":    {[][]byte{calibration(t, other), profile(t, nil), calibration(t, nil)}, "other:0 20260102T030405Z-sample:1"},
		"alone":             {[][]byte{profile(t, nil)}, "20260102T030405Z-sample:1"},
		"another host":      {[][]byte{calibration(t, func(c *record.Calibration) { c.Host.Hostname = "b" }), profile(t, nil)}, "20260102T030405Z-sample:0 20260102T030405Z-sample:1"},
		"another processor": {[][]byte{calibration(t, func(c *record.Calibration) { c.Host.CPU.Model = "b" }), profile(t, nil)}, "20260102T030405Z-sample:0 20260102T030405Z-sample:1"},
		"another device":    {[][]byte{calibration(t, func(c *record.Calibration) { c.Devices[0].ID = "cuda:0" }), profile(t, nil)}, "20260102T030405Z-sample:0 20260102T030405Z-sample:1"},
		"a name of one":     {[][]byte{calibration(t, func(c *record.Calibration) { c.RunID, c.Host.Name = "other", "lab" }), profile(t, func(f *record.Fusion) { f.Host.Name = "" })}, "other:1"},
		"two names":         {[][]byte{calibration(t, func(c *record.Calibration) { c.RunID, c.Host.Name = "other", "lab" }), profile(t, func(f *record.Fusion) { f.Host.Name = "attic" })}, "other:0 20260102T030405Z-sample:1"},
		"none rather than a name": {[][]byte{calibration(t, func(c *record.Calibration) { c.RunID, c.Host.Name = "other", "" }), calibration(t, func(c *record.Calibration) { c.RunID, c.Host.Name = "third", "lab" }),
			profile(t, func(f *record.Fusion) { f.Host.Name = "" })}, "other:1 third:0"},
		"two that fit": {[][]byte{calibration(t, other), calibration(t, func(c *record.Calibration) { c.RunID = "third" }), profile(t, nil)}, "other:0 third:0 20260102T030405Z-sample:1"},
		"two profiles": {[][]byte{calibration(t, nil), profile(t, func(f *record.Fusion) { f.Patterns = f.Patterns[:1] }),
			profile(t, func(f *record.Fusion) { f.Patterns = f.Patterns[1:] })}, "20260102T030405Z-sample:2"},
		"one case on two hosts": {[][]byte{profile(t, nil), profile(t, func(f *record.Fusion) { f.Host.Hostname = "b" })}, "20260102T030405Z-sample:1 20260102T030405Z-sample:1"},
	} {
		var docs []record.Document
		for i, text := range c.texts {
			docs = append(docs, document(t, fmt.Sprint(name, i), text))
		}
		all, err := record.JoinFusion(docs)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, d := range all {
			got = append(got, fmt.Sprintf("%s:%d", d.RunID, len(d.FusionProfiles)))
			if err := record.Validate(encode(t, d)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		for _, d := range docs {
			if d.Calibration != nil && len(d.Calibration.FusionProfiles) > 0 {
				t.Errorf("%s: joining changed the document that was read", name)
			}
		}
	}
}

func TestTheSameCaseOfADeviceInTwoProfilesIsAnError(t *testing.T) {
	const id = "cpu/Linear_Bias_ReLU/fp32/m=128,k=512,n=512/threads=2/hot"
	holding := encode(t, recordtest.Sample())
	for name, texts := range map[string][][]byte{
		"alone":                         {profile(t, nil), profile(t, func(f *record.Fusion) { f.RunID = "again" })},
		"with a calibration":            {calibration(t, nil), profile(t, nil), profile(t, nil)},
		"the calibration has it itself": {holding, profile(t, nil)},
	} {
		var docs []record.Document
		for i, text := range texts {
			docs = append(docs, document(t, fmt.Sprintf("file%d.json", i), text))
		}
		_, err := record.JoinFusion(docs)
		last := fmt.Sprintf("file%d.json: ", len(texts)-1)
		if err == nil || !strings.Contains(err.Error(), id) || !strings.HasPrefix(err.Error(), last) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want %s%s", name, err, last, id)
		}
	}
}

func TestAnUnfinishedProfileIsAWarningOfTheDocumentItJoins(t *testing.T) {
	docs := []record.Document{document(t, "a", calibration(t, nil)), document(t, "b", profile(t, func(f *record.Fusion) { f.Complete = false }))}
	all, err := record.JoinFusion(docs)
	if err != nil || len(all) != 1 || !strings.Contains(strings.Join(all[0].Summary.Warnings, "\n"), "is not complete") || len(docs[0].Calibration.Summary.Warnings) != 0 {
		t.Errorf("%v, %+v", err, all)
	}
}

// One file holds the calibration and the profile that joined it.
func TestGraphsExportOfAJoinedDocumentHoldsBoth(t *testing.T) {
	all, err := record.JoinFusion([]record.Document{document(t, "a", calibration(t, nil)), document(t, "b", profile(t, nil))})
	if err != nil {
		t.Fatal(err)
	}
	_, m := export(t, all[0])
	_, want := export(t, recordtest.Sample())
	if d := differences(want, m, ""); len(d) > 0 {
		t.Errorf("not what a document with both gives:\n%s", strings.Join(d, "\n"))
	}
}

func FuzzReadDocument(f *testing.F) {
	fusion := recordtest.Fusion(recordtest.Sample())
	fusion.Patterns = fusion.Patterns[1:2]
	text, err := record.EncodeFusion(fusion)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":"ridge.calibration/1"}`))
	f.Add([]byte(`{"metadata":{},"operation_profiles":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := record.ReadDocument(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		all, err := record.JoinFusion([]record.Document{d})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d documents, %v", len(all), err)
		}
		out, err := record.EncodeCalibration(all[0])
		if err != nil {
			t.Fatalf("a document that was read cannot be written: %v", err)
		}
		if err := record.Validate(out); err != nil {
			t.Fatalf("a document that was read is not valid when written: %v", err)
		}
	})
}

// Virtual machines of one provider have one host name and one brand string.
func TestAProfileOfOtherSiliconUnderTheSameNameStandsAlone(t *testing.T) {
	milan := func(h *record.Host) { h.CPU.Family, h.CPU.ModelNumber, h.CPU.Microarchitecture = 25, 1, "Zen 3" }
	genoa := func(h *record.Host) { h.CPU.Family, h.CPU.ModelNumber, h.CPU.Microarchitecture = 25, 17, "Zen 4" }
	of := func(set func(*record.Host), run string) record.Document {
		return document(t, run+".json", calibration(t, func(c *record.Calibration) { set(&c.Host); c.RunID = run }))
	}
	fused := func(set func(*record.Host), run string) record.Document {
		return document(t, run+".json", profile(t, func(f *record.Fusion) { set(&f.Host); f.RunID = run }))
	}
	got, err := record.JoinFusion([]record.Document{of(genoa, "genoa"), fused(milan, "milan-fusion")})
	if err != nil || len(got) != 2 || len(got[0].FusionProfiles) != 0 {
		t.Errorf("%d documents, %v: a profile joined the calibration of another chip", len(got), err)
	}
	got, err = record.JoinFusion([]record.Document{of(genoa, "genoa"), of(milan, "milan"), fused(milan, "milan-fusion"), fused(genoa, "genoa-fusion")})
	if err != nil || len(got) != 2 || len(got[0].FusionProfiles) != 1 || len(got[1].FusionProfiles) != 1 {
		t.Errorf("%d documents, %v: each profile belongs to the calibration of its chip", len(got), err)
	}
}

func TestARunGivenTwiceIsRefused(t *testing.T) {
	a, b := document(t, "a.json", calibration(t, nil)), document(t, "b.json", calibration(t, nil))
	if _, err := record.JoinFusion([]record.Document{a, b}); err == nil || !strings.Contains(err.Error(), "b.json: run ") || !strings.Contains(err.Error(), "in a.json already") {
		t.Errorf("error %v", err)
	}
	b = document(t, "b.json", calibration(t, func(c *record.Calibration) { c.RunID = "other" }))
	if got, err := record.JoinFusion([]record.Document{a, b}); err != nil || len(got) != 2 {
		t.Errorf("%d documents, %v", len(got), err)
	}
}

// The schema knows "results", encoding/json reads "Results" too.
func TestFieldsInAnotherCaseAreNotReadUnchecked(t *testing.T) {
	text := string(calibration(t, nil))
	for field, bad := range map[string]string{
		`field "Results": expected "results"`: strings.Replace(text, "{", `{"Results":[{"id":"x","status":"splendid"}],`, 1),
		`field "Status": expected "status"`:   strings.Replace(text, `"op": "gemm",`, `"op": "gemm", "Status": "splendid",`, 1),
	} {
		if _, err := record.ReadDocument(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v, expected %s", err, field)
		}
	}
}

func TestDevicesAreFewAndHaveNamesOfTheirOwn(t *testing.T) {
	for want, change := range map[string]func(*record.Calibration){
		`devices[1].id: device "cpu" is devices[0] already`: func(c *record.Calibration) { c.Devices = append(c.Devices, c.Devices[0]) },
		"devices: the list has 300 entries, at most 256": func(c *record.Calibration) {
			for i := len(c.Devices); i < 300; i++ {
				c.Devices = append(c.Devices, record.Device{ID: fmt.Sprint("cuda:", i)})
			}
		},
	} {
		if _, err := record.ReadDocument(bytes.NewReader(calibration(t, change))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %s", err, want)
		}
	}
}
