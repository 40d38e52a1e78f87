package tune

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func here() Machine {
	return Machine{CPU: "A (family 1, model 2, stepping 3)", Threads: 2, Caches: []string{"L1"}, Features: []string{"avx2"}}
}

func entry() Entry {
	return Entry{Tuned: backend.Tuned{Op: "gemm", DType: record.FP32, Class: "large", Threads: 2, Kernel: "k", Params: map[string]int64{"kc": 192}},
		Shape: map[string]string{"m": "8"}, Gain: 1.1, GainCI95: [2]float64{1.05, 1.15}, Quartets: 16, Date: "2026-01-02T03:04:05Z", Revision: "abc"}
}

func TestWhatIsStoredIsReadBack(t *testing.T) {
	path := Path(filepath.Join(t.TempDir(), "new"))
	f, err := Load(path, here())
	if err != nil || len(f.Entries) != 0 {
		t.Fatalf("without a file: %+v, %v", f, err)
	}
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"entries": []`) {
		t.Errorf("without entries: %s, %v", data, err)
	}
	f.Entries = append(f.Entries, entry())
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path, here())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(backend.Tuning{entry().Tuned}, got.Tuning()); d != "" {
		t.Error(d)
	}
}

func TestAFileOfAnotherMachineOrFormatIsForeign(t *testing.T) {
	path := Path(t.TempDir())
	if err := (File{Schema: Schema, Machine: here(), Entries: []Entry{entry()}}).Save(path); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Machine){
		"CPU": func(m *Machine) { m.CPU = "B" }, "number of CPUs: then 2, now 4": func(m *Machine) { m.Threads = 4 },
		"caches": func(m *Machine) { m.Caches = []string{"L1", "L2"} }, "instruction sets": func(m *Machine) { m.Features = nil },
	} {
		m := here()
		change(&m)
		f, err := Load(path, m)
		var foreign *ForeignError
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), want) || len(f.Entries) > 0 {
			t.Errorf("%s: %v, %d entries", want, err, len(f.Entries))
		}
	}
	if err := os.WriteFile(path, []byte(`{"schema":"ridge.tuning/9","new":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var foreign *ForeignError
	if _, err := Load(path, here()); !errors.As(err, &foreign) || !strings.Contains(err.Error(), "ridge.tuning/9") {
		t.Errorf("a later format: %v", err)
	}
}

func TestADamagedFileIsAnError(t *testing.T) {
	path := Path(t.TempDir())
	for _, text := range []string{"", "{", `{"schema":"ridge.tuning/1","machin":{}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var foreign *ForeignError
		if _, err := Load(path, here()); err == nil || errors.As(err, &foreign) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAnOutcomeReplacesWhatWasKnownForItsPlaceAlone(t *testing.T) {
	other := entry()
	other.Class = "small"
	f := File{Entries: []Entry{entry(), other}}
	out := Outcome{Target: Target{Op: "gemm", DType: record.FP32}, Class: "large", Threads: 2}
	better := entry()
	better.Gain = 1.3
	out.Found = &better
	f.Put(out)
	if d := cmp.Diff([]Entry{other, better}, f.Entries); d != "" {
		t.Error(d)
	}
	out.Found = nil // the default is as good now
	f.Put(out)
	if d := cmp.Diff([]Entry{other}, f.Entries); d != "" {
		t.Error(d)
	}
}

func TestTheFingerprintIsWhatBlocksDependOn(t *testing.T) {
	h := record.Host{CPU: record.CPU{Model: "X", Family: 25, ModelNumber: 1, Stepping: 1, Features: []string{"fma", "avx2"}, Threads: record.Known(2, ""),
		Caches: []record.Cache{{Level: 2, Type: "unified", SizeBytes: 512 << 10, Instances: 2, SharedByCPUs: 1}, {Level: 1, Type: "data", SizeBytes: 32 << 10},
			{Level: 1, Type: "instruction", SizeBytes: 32 << 10}}}}
	m := Identify(h)
	want := Machine{CPU: "X (family 25, model 1, stepping 1)", Threads: 2, Features: []string{"avx2", "fma"},
		Caches: []string{"L1 data 32768 bytes x 0, each for 0 CPUs", "L2 unified 524288 bytes x 2, each for 1 CPUs"}}
	if d := cmp.Diff(want, m); d != "" {
		t.Error(d)
	}
	if c := Caches(h, 4<<20); c != (backend.Caches{L1: 32 << 10, L2: 512 << 10, LLC: 4 << 20}) {
		t.Errorf("caches %+v", c)
	}
}

func TestTargetsCoverOpsAndPrecisions(t *testing.T) {
	got, err := Targets(op.Builtin(), []string{"gemm", "linear"}, []record.DType{record.FP32, record.FP16}, false)
	if err != nil || len(got) != 3*len(shapes) { // linear has no fp16
		t.Errorf("%d targets, %v", len(got), err)
	}
	if got, err := Targets(op.Builtin(), []string{"gemm"}, []record.DType{record.BF16}, true); err != nil || len(got) != len(shapesOfAccelerators) {
		t.Errorf("%d targets of an accelerator, %v", len(got), err)
	}
	if got, err := Targets(op.Builtin(), []string{"linear"}, []record.DType{record.BF16}, true); err != nil || len(got) == 0 || len(got) >= len(shapesOfAccelerators) {
		t.Errorf("%d targets of an op that stores B in one way, %v", len(got), err)
	}
	for _, bad := range [][]string{{"relu"}, {"nothing"}} {
		if _, err := Targets(op.Builtin(), bad, []record.DType{record.FP32}, false); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	if _, err := Targets(op.Builtin(), []string{"linear"}, []record.DType{record.FP16}, false); err == nil {
		t.Error("linear at fp16: no error")
	}
}
