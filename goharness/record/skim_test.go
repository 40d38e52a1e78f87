package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestSkimFindsKeysAtTheTopLevelAlone(t *testing.T) {
	s, err := skim([]byte(`{"a":{"schema":1,"x":"}\""},"schema" : "ridge" , "list":["schema",{"schema":2}], "metadata":{"k":[1,2]}}`), "schema", "metadata")
	if err != nil || string(s.top["schema"]) != `"ridge"` || string(s.top["metadata"]) != `{"k":[1,2]}` || len(s.top) != 2 {
		t.Errorf("%q, %v", s.top, err)
	}
}

func TestSkimCutsListsOfNumbersShort(t *testing.T) {
	long := "[" + strings.Repeat("1.5e3, ", 99) + "-2]"
	s, err := skim([]byte(`{"a":` + long + `,"b":[1,2],"c":[` + strings.Repeat(`"x",`, 30) + `1],"d":` + long + `}`))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string][]any
	if err := json.Unmarshal(s.reduced, &got); err != nil {
		t.Fatalf("%v in %s", err, s.reduced)
	}
	if len(got["a"]) != keptNumbers || len(got["b"]) != 2 || len(got["c"]) != 31 || len(got["d"]) != keptNumbers {
		t.Errorf("%v", got)
	}
}

func TestSkimRefusesWhatWouldCostTooMuch(t *testing.T) {
	for name, text := range map[string]string{
		"nested more than 64 deep":   strings.Repeat("[", 1000),
		"more than 4000000 values":   `{"a":[` + strings.Repeat("[],", maxValues/2+1),
		"more than 1048576 bytes":    `{"a":"` + strings.Repeat("x", maxText+1) + `"}`,
		"(line 2, column 66)":        "{\n" + strings.Repeat(" ", 1) + strings.Repeat("[", 100),
		"nested more than 64 deep a": `{"a":` + strings.Repeat(`{"a":`, 100),
	} {
		if _, err := skim([]byte(text)); name != "(line 2, column 66)" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: no position in %v", name, err)
		}
	}
}

// A text and its reduced form are JSON or not alike, but for numbers that were cut.
func FuzzSkim(f *testing.F) {
	for _, s := range []string{`{"schema":"ridge.calibration/1","a":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]}`, `["\u0022\\",{"a":[[]]}]`, `{"a":"`, `]]`, `{"a":[1,,,,,,,,,,,,,,,,,,,2]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := skim(data, "schema")
		if err != nil {
			return
		}
		if json.Valid(data) && !json.Valid(s.reduced) {
			t.Fatalf("%q became %q", data, s.reduced)
		}
		if len(s.reduced) > len(data) {
			t.Fatal("longer than before")
		}
		var want struct {
			Schema json.RawMessage `json:"schema"`
		}
		if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) || json.Unmarshal(data, &want) != nil || bytes.Contains(data, []byte(`\`)) {
			return
		}
		var all map[string]json.RawMessage
		if json.Unmarshal(data, &all) == nil && !bytes.Equal(all["schema"], s.top["schema"]) {
			t.Fatalf("schema %q, expected %q", s.top["schema"], all["schema"])
		}
	})
}
