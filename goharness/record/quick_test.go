package record_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
	"ridge/schemas"
)

// later is a document with fields of a later minor version.
func later(t testing.TB, doc record.Calibration) []byte {
	t.Helper()
	doc.Extra = map[string]json.RawMessage{"later": json.RawMessage(`{"a":[1,null,"x\n",{"b":-1.5}]}`), "ID": json.RawMessage(`7`)}
	doc.Results[0].Extra = map[string]json.RawMessage{"newer": json.RawMessage(`[[],{}]`)}
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDocumentsWithoutFaultAreReadTheQuickWay(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten times as long under the race detector, which other tests of the same code meet")
	}
	texts := map[string][]byte{"sample": encode(t, recordtest.Sample()), "empty": encode(t, empty()), "fields of a later version": later(t, recordtest.Sample())}
	files, err := filepath.Glob("../../docs/benchmarks/*/quick.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if texts[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		var tight bytes.Buffer
		if err := json.Compact(&tight, text); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{text, tight.Bytes()} {
			if len(data) > 1<<20 && len(data) < len(text) {
				continue // one form of the large ones
			}
			got, ok := record.QuickCalibration(data)
			want, err := record.CarefulCalibration(data)
			if !ok || err != nil {
				t.Errorf("%s: the quick way takes it: %v; the careful way: %v", name, ok, err)
			} else if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-careful +quick):\n%s", name, d)
			}
		}
	}
}

func TestShapesKnowAllThatTheSchemasSay(t *testing.T) {
	for _, name := range []string{"ridge.calibration-1.schema.json", "ridge.fusion-1.schema.json"} {
		data, err := schemas.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := record.HasShape(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, other := range []string{`{"type":"string","pattern":"a"}`, `{"$ref":"#/$defs/none"}`, `{"type":["string","null"]}`, `{"type":"object","additionalProperties":false}`, `{"items":{}}`, `7`} {
		if record.HasShape([]byte(other)) == nil {
			t.Errorf("%s has a shape", other)
		}
	}
}

// mutations gives a compact document with one value at a time removed, given twice, renamed or replaced by something else.
func mutations(t *testing.T, data []byte, try func(what string, text []byte)) {
	t.Helper()
	others := []string{`null`, `true`, `"text"`, `1`, `-1.5`, `[]`, `{}`, `{"a":"b"}`, `[1,2,3]`, `1e999`, `1e3`, `1.0`, `nil`, `01`, `-`, `1.`, `.5`, `2e`, `-1.5.2`, `-7`, `9223372036854775808`, strings.Repeat("9", 400), "\"\xff\"", `[[[`}
	put := func(what string, from, to int, text string) {
		try(what, slices.Concat(data[:from], []byte(text), data[to:]))
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	read := func() string {
		tok, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		return tok.String()
	}
	var walk func(at string)
	walk = func(at string) {
		switch dec.PeekKind() {
		case '{':
			read()
			for first := int(dec.InputOffset()); dec.PeekKind() != '}'; {
				before := int(dec.InputOffset()) // at the comma
				name := read()
				from := int(dec.InputOffset()) + 1
				where := at + "." + name
				walk(where)
				to := int(dec.InputOffset())
				for _, x := range others {
					put(where+" as "+x[:min(len(x), 20)], from, to, x)
				}
				switch {
				case before > first:
					put(where+" removed", before, to, "")
				case data[to] == ',':
					put(where+" removed", before, to+1, "")
				}
				nameAt := from - 1 - len(name) - len(`"`)
				put(where+" in upper case", nameAt, nameAt+len(name), strings.ToUpper(name))
				if i := strings.IndexByte(name, 's'); i >= 0 { // a letter that folds to another
					put(where+" with a long s", nameAt+i, nameAt+i+1, "ſ")
					put(where+" beside itself with a long s", to, to, `,"`+name[:i]+"ſ"+name[i+1:]+`":7`)
				}
				put(where+" beside a field without a name", to, to, `,"":7`)
				put(where+" twice", to, to, `,"`+name+`":`+string(data[from:to]))
				put(where+" beside another", to, to, `,"added":1e3`)
				put(where+" beside a number out of range", to, to, `,"added":[1,1e999]`)
			}
			read()
		case '[':
			read()
			for i := 0; dec.PeekKind() != ']'; i++ {
				if i >= 2 { // the others are alike
					if err := dec.SkipValue(); err != nil {
						t.Fatal(err)
					}
					continue
				}
				from := int(dec.InputOffset())
				if data[from] == ',' {
					from++
				}
				where := at + "[" + strconv.Itoa(i) + "]"
				walk(where)
				for _, x := range others {
					put(where+" as "+x[:min(len(x), 20)], from, int(dec.InputOffset()), x)
				}
			}
			read()
		default:
			read()
		}
	}
	walk("")
	for _, name := range []string{"schema", "results", "id", "value", "params", "samples_ns"} {
		try(name+" with an escape", bytes.Replace(data, []byte(`"`+name+`":`), fmt.Appendf(nil, `"\u%04x%s":`, name[0], name[1:]), 1))
	}
	for cut := 0; cut < len(data); cut += 97 {
		try("cut off", data[:cut])
		try("a byte changed", slices.Concat(data[:cut], []byte("}"), data[cut+1:]))
		try("a byte removed", slices.Concat(data[:cut], data[cut+1:]))
	}
}

// small is the sample with the first result of each kind, so that its changes are few.
func small(t *testing.T) []byte {
	t.Helper()
	doc := recordtest.Sample()
	kinds := map[string]bool{}
	doc.Results = slices.DeleteFunc(doc.Results, func(r record.Result) bool {
		kind := fmt.Sprint(r.Status.Counts(), len(r.Arms), r.Ratio != nil)
		had := kinds[kind]
		kinds[kind] = true
		if r.Time != nil {
			r.Time.SamplesNS = r.Time.SamplesNS[:min(2, len(r.Time.SamplesNS))]
		}
		return had
	})
	doc.Ceilings, doc.FusionProfiles, doc.Extra = doc.Ceilings[:1], []json.RawMessage{json.RawMessage(`{"a":1}`)}, nil
	var tight bytes.Buffer
	if err := json.Compact(&tight, encode(t, doc)); err != nil {
		t.Fatal(err)
	}
	return tight.Bytes()
}

// The quick way takes nothing that the careful way refuses, and reads the same.
func TestTheQuickWayTakesNothingThatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten times as long under the race detector, which other tests of the same code meet")
	}
	taken, refused := 0, 0
	mutations(t, small(t), func(what string, text []byte) {
		got, ok := record.QuickCalibration(text)
		_, partly := record.QuickCalibration(text, compare.Unused...)
		if ok && !partly {
			t.Errorf("%s: not taken where fields are left out", what)
		}
		if !ok && !partly {
			refused++
			return
		}
		want, err := record.CarefulCalibration(text)
		if !ok {
			if err != nil {
				t.Errorf("%s: taken where fields are left out: %v", what, err)
			}
			return
		}
		taken++
		if err != nil {
			if len(got.Devices) <= 256 && !strings.Contains(err.Error(), "already") {
				t.Errorf("%s: the quick way takes it: %v", what, err)
			}
			return
		}
		if taken%4 == 0 { // comparing takes long
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-careful +quick):\n%s", what, d)
			}
		}
	})
	if taken < 500 || refused < 5000 {
		t.Errorf("%d taken, %d refused", taken, refused)
	}
}

func FuzzTheQuickWayTakesNothingThatIsWrong(f *testing.F) {
	data, err := record.EncodeCalibration(empty())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(later(f, recordtest.Sample()))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := record.QuickCalibration(text)
		if !ok {
			return
		}
		want, err := record.CarefulCalibration(text)
		if err != nil {
			if !strings.Contains(err.Error(), "already") && len(got.Devices) <= 256 {
				t.Fatalf("the quick way takes it: %v", err)
			}
		} else if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-careful +quick:\n%s", d)
		}
	})
}

// Numbers of lists are those of encoding/json to the last bit.
func TestNumbersOfListsAreTheNearest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	numbers := []string{"0", "-0", "0.0", "-0.5", "123456789012345", "1234567890123456", "0.000000000000001", "0.00000000000000001", "9007199254740993", "0.1", "1e3", "1.5E-7", "179769313486231570000", "4.35", "0.000001", "-99999.9999999999"}
	for range 20000 {
		numbers = append(numbers, strconv.FormatFloat((rng.Float64()-0.5)*math.Pow(10, float64(rng.IntN(20)-6)), 'f', rng.IntN(16), 64), strconv.FormatFloat(rng.NormFloat64(), 'g', 1+rng.IntN(17), 64))
	}
	for i, n := range numbers[:101] {
		doc := recordtest.Sample()
		at := slices.IndexFunc(doc.Results, func(r record.Result) bool { return r.Time != nil })
		doc.Results = doc.Results[at : at+1]
		doc.Results[0].Time.SamplesNS = []float64{4242}
		part := numbers[i*len(numbers)/101:]
		list := strings.Join(append([]string{n}, part[:len(numbers)/101]...), " ,\n")
		got, ok := record.QuickCalibration(bytes.Replace(encode(t, doc), []byte("[4242]"), []byte("["+list+"]"), 1))
		var want []float64
		if err := json.Unmarshal([]byte("["+list+"]"), &want); err != nil || !ok {
			t.Fatal(err, ok)
		}
		for j, x := range got.Results[0].Time.SamplesNS {
			if math.Float64bits(x) != math.Float64bits(want[j]) {
				t.Errorf("%d: %v, want %v", j, x, want[j])
			}
		}
		if len(got.Results[0].Time.SamplesNS) != len(want) {
			t.Errorf("%d numbers, want %d", len(got.Results[0].Time.SamplesNS), len(want))
		}
	}
}

// Both ways count values alike: what is too much for the one is for the other.
func TestEmptyListsCountInBothWays(t *testing.T) {
	doc := empty()
	doc.Extra = map[string]json.RawMessage{"later": json.RawMessage("[" + strings.Repeat("["+strings.Repeat("[],", 90_000)+"{}],", 25) + "[]]")}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.CarefulCalibration(text); err == nil {
		t.Fatal("the careful way takes it")
	}
	if _, ok := record.QuickCalibration(text); ok {
		t.Error("the quick way takes it")
	}
}

// Long lists, and ones without numbers, keep their place among the others.
func TestSamplesGoBackToTheirResults(t *testing.T) {
	doc := recordtest.Sample()
	at := slices.IndexFunc(doc.Results, func(r record.Result) bool { return r.Time != nil })
	one := doc.Results[at]
	doc.Results = nil
	for i, n := range []int{3, 0, 40_000, 1, -1, 70_000, 0, 2, 33_000, 5} {
		r := one
		r.ID = fmt.Sprintf("%s@kernel_%d", one.ID, i)
		if r.Time = nil; n >= 0 {
			time := *one.Time
			time.SamplesNS, r.Time = make([]float64, n), &time
			for j := range n {
				time.SamplesNS[j] = float64(i) + float64(j)/8
			}
		}
		doc.Results = append(doc.Results, r)
	}
	data := encode(t, doc)
	for _, without := range []string{"results.metrics", "results.time.samples_ns"} {
		got, ok := record.QuickCalibration(data, without)
		if !ok {
			t.Fatal("not taken")
		}
		for i, r := range got.Results {
			want := doc.Results[i].Time
			if (r.Time == nil) != (want == nil) {
				t.Errorf("%d: time %v, want %v", i, r.Time, want)
			} else if without == "results.metrics" && want != nil && !slices.Equal(r.Time.SamplesNS, want.SamplesNS) {
				t.Errorf("%d: %d samples, want %d", i, len(r.Time.SamplesNS), len(want.SamplesNS))
			} else if without != "results.metrics" && want != nil && r.Time.SamplesNS != nil {
				t.Errorf("%d: %d samples that were left out", i, len(r.Time.SamplesNS))
			}
		}
	}
}

// Fields that are left out are missing, the others are there, whether they stand first, last or alone.
func TestFieldsThatAreNotAskedForAreLeftOut(t *testing.T) {
	sample := recordtest.Sample()
	sample.FusionProfiles = nil // kept as text, in which the order of fields counts
	data := encode(t, sample)
	var tight bytes.Buffer
	if err := json.Compact(&tight, data); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{data, tight.Bytes()} {
		for _, without := range [][]string{
			{"results.id"}, {"results.id", "results.op"}, {"results.time.stop_rule"}, {"results.time.samples_ns", "results.time.median_ns"}, {"results.conditions", "results.metrics"}, {"results.conditions.cpus", "results.conditions"}, {"results", "results.id", "results.time.ci95_ns"},
			{"results"}, {"schema"}, {"summary"}, {"results.arms.time.samples_ns", "results.params"}, {"results.verification.passed", "host.cpu", "ceilings.probes.value"},
			{"results.time.median_ns", "results.time.ci95_ns", "results.time.min_ns", "results.time.max_ns", "results.time.mean_ns", "results.time.std_ns"},
		} {
			if err := record.KnownFields(without...); err != nil {
				t.Fatal(err)
			}
			got, ok := record.QuickCalibration(text, without...)
			if !ok {
				t.Errorf("%s: not taken", without)
				continue
			}
			var want any
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.UseNumber()
			if err := dec.Decode(&want); err != nil {
				t.Fatal(err)
			}
			for _, path := range without {
				remove(want, strings.Split(path, "."))
			}
			rest, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var doc record.Calibration
			if err := json.Unmarshal(rest, &doc); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(doc, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", without, d)
			}
		}
	}
	for _, path := range []string{"", "none", "results.none", "schema.none", "results.metrics."} {
		if record.KnownFields(path) == nil {
			t.Errorf("%q is known", path)
		}
	}
}

// remove deletes what a path names in decoded JSON.
func remove(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
		} else if next, there := v[path[0]]; there {
			remove(next, path[1:])
		}
	case []any:
		for _, x := range v {
			remove(x, path)
		}
	}
}
