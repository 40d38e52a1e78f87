package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// parts of a run that come one by one: its journal, the fusion profiles of two devices, and its document.
func parts(t *testing.T, s *Store, dir string) map[string]func() Added {
	t.Helper()
	d := recordtest.Sample()
	d.RunID, d.Created = "r", "2026-03-01T00:00:00Z"
	ended(t, dir, "r", d.Results)
	profile := func(device string) func() Added {
		p := recordtest.Fusion(d)
		p.RunID, p.Created, p.Complete, p.Device.ID = "r", d.Created, true, device
		text, err := record.EncodeFusion(p)
		if err != nil {
			t.Fatal(err)
		}
		return func() Added {
			t.Helper()
			stored, known, err := s.Import(t.Context(), "profile.json", bytes.NewReader(text))
			if err != nil || stored+known != 1 {
				t.Fatal(stored, known, err)
			}
			return map[bool]Added{true: Replaced, false: Known}[stored == 1]
		}
	}
	return map[string]func() Added{
		"journal": func() Added {
			n, warnings, err := s.TakeIn(t.Context(), dir)
			if err != nil || len(warnings) > 0 {
				t.Fatal(warnings, err)
			}
			return map[bool]Added{true: Replaced, false: Known}[n == 1]
		},
		"profile": profile("cpu"), "other": profile("cuda:0"),
		"document": func() Added { return must[Added](t)(s.Add(t.Context(), d, FromDocument)) },
	}
}

// Whatever part of a run comes first, nothing of the others is lost, and none is taken twice.
func TestTheProfilesOfARunAndItsResultsComeInAnyOrder(t *testing.T) {
	results := len(recordtest.Sample().Results)
	for _, c := range []struct {
		order    string
		results  int
		devices  string
		complete bool
	}{
		{"profile", 0, "cpu", true},
		{"profile other", 0, "cpu cuda:0", true},
		{"profile journal", results, "cpu", true},
		{"journal profile", results, "cpu", true},
		{"other journal profile", results, "cpu cuda:0", true},
		{"other profile document", results, "cpu cuda:0", true},
		{"journal other document profile", results, "cpu cuda:0", true},
		{"document profile", results, "cpu", true},
	} {
		t.Run(c.order, func(t *testing.T) {
			ctx, dir := t.Context(), t.TempDir()
			s := opened(t, dir)
			part := parts(t, s, dir)
			for _, name := range strings.Fields(c.order) {
				part[name]()
			}
			for _, name := range strings.Fields(c.order) {
				if a := part[name](); a != Known {
					t.Errorf("%s again: %v", name, a)
				}
			}
			d := must[record.Calibration](t)(s.Document(ctx, "r"))
			profiles := must[[]record.Fusion](t)(record.FusionProfiles(&d))
			var devices []string
			for _, p := range profiles {
				devices = append(devices, p.Device.ID)
			}
			slices.Sort(devices)
			if len(d.Results) != c.results || strings.Join(devices, " ") != c.devices || d.Summary.Complete != c.complete {
				t.Errorf("%d results, profiles of %q, complete %v", len(d.Results), devices, d.Summary.Complete)
			}
			r := must[Run](t)(s.Show(ctx, "r"))
			kind := "calibrate"
			if c.results == 0 {
				kind = "document"
			}
			if r.Results != c.results || r.Kind != kind || r.Complete != c.complete {
				t.Errorf("%+v", r)
			}
			var fusion string
			for _, q := range profiles[0].Patterns {
				for _, x := range q.Shapes {
					fusion = x.CaseID + " fused"
				}
			}
			if tr := must[Trend](t)(s.TrendOf(ctx, fusion, "", compare.Time)); len(tr.Points) != 1 {
				t.Errorf("%d points of %s", len(tr.Points), fusion)
			}
			if _, err := record.EncodeCalibration(d); err != nil {
				t.Error(err)
			}
		})
	}
}

// A profile that was not complete gives way to the complete one.
func TestACompleteProfileReplacesOneThatWasNot(t *testing.T) {
	s := opened(t, t.TempDir())
	p := recordtest.Fusion(recordtest.Sample())
	p.RunID, p.Created = "r", "2026-03-01T00:00:00Z"
	stays := false // from the first that is complete on
	for _, complete := range []bool{false, true, false} {
		p.Complete = complete
		stays = stays || complete
		text, err := record.EncodeFusion(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Import(t.Context(), "f", bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if r := must[Run](t)(s.Show(t.Context(), "r")); r.Complete != stays {
			t.Errorf("after one that is complete (%v): %+v", complete, r)
		}
	}
	d := must[record.Calibration](t)(s.Document(t.Context(), "r"))
	if len(d.FusionProfiles) != 1 || !d.Summary.Complete {
		t.Errorf("%d profiles, complete %v", len(d.FusionProfiles), d.Summary.Complete)
	}
}

// The journal of a GPU's run tells its name, so that what is made of it is a run of the same machine.
func TestARunMadeOfItsJournalIsOfTheSameMachine(t *testing.T) {
	d := recordtest.Sample()
	gpu := record.Device{ID: "cuda:0", Platform: "cuda", Name: "NVIDIA H200"}
	d.Devices = append(d.Devices, gpu)
	log := record.Log{Header: record.JournalHeader{RunID: d.RunID, Created: d.Created, Tool: &d.Tool, Host: &d.Host, Devices: d.Devices}}
	made := fromLog(&log)
	if got, want := HostFingerprint(&made), HostFingerprint(&d); got != want {
		t.Errorf("machine %s, that of the document is %s", got, want)
	}
	var back record.JournalHeader
	text, err := json.Marshal(log.Header)
	if err != nil || json.Unmarshal(text, &back) != nil || len(back.Devices) != len(d.Devices) || back.Devices[len(d.Devices)-1].Name != gpu.Name {
		t.Errorf("%v: %s", err, text)
	}
}

// verify measures nothing: it is listed and shown, but the latest run, trends and the drift are of runs that measured.
func TestARunThatVerifiedIsNotTheLatestAndGivesNoFigures(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	checked := func(id, created string, factor float64) record.Calibration {
		d := sample(id, created, factor)
		d.Command = []string{"ridge", "verify"}
		return d
	}
	must[Added](t)(s.Add(ctx, checked("v", "2026-05-01T00:00:00Z", 1), FromRun))
	if _, err := s.Show(ctx, "latest"); err == nil || !strings.Contains(err.Error(), "verify measures nothing") {
		t.Errorf("of a history that only verified: %v", err)
	}
	for i := range 6 {
		must[Added](t)(s.Add(ctx, sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1), FromRun))
		must[Added](t)(s.Add(ctx, checked(fmt.Sprint("v", i), fmt.Sprintf("2026-04-%02dT00:00:00Z", i+1), 1+float64(i)), FromRun))
	}
	if r := must[Run](t)(s.Show(ctx, "latest")); r.RunID != "r5" {
		t.Errorf("latest: %s", r.RunID)
	}
	if r := must[[]Run](t)(s.List(ctx, Filter{Kind: "verify"})); len(r) != 7 {
		t.Errorf("%d runs that verified", len(r))
	}
	if d, ok, err := s.Drift(ctx, must[Run](t)(s.Show(ctx, "r0")).HostPrint); !ok || err != nil || d.DoF != 5 || d.PerRun > 0.005 {
		t.Errorf("drift %+v %v %v", d, ok, err)
	}
	id := ""
	for _, r := range recordtest.Sample().Results {
		if r.Status == record.OK && r.Time != nil && len(r.Arms) == 0 {
			id = r.ID
		}
	}
	tr := must[Trend](t)(s.TrendOf(ctx, id, "", compare.Time))
	if n := len(tr.measured()); n != 6 || len(tr.Points) != 13 {
		t.Errorf("%d figures of %d runs", n, len(tr.Points))
	}
}
