package record

import (
	"encoding/json"
	"maps"
	"testing"
)

// The fields of an object are those that encoding/json finds.
func TestFieldsOfAnObjectAreThoseOfEncodingJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, ` { } `, `null`, `{"a":1}`, `{"a":[1,2,{"b":3}],"c":{"a":"x,y","d":[]}, "e" : null }`,
		`{"a\"b":"}{][,:\"","\u0061":"\\","x":"\\\"",  "": -1.5e3}`, `{"a":1,"a":2}`, "{\n\t\"list\" : [ 1 , 2 ] ,\r\n \"t\":true}",
		`{"ä":"ö","nested":[[[["]"]]]]}`,
	} {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		for name, value := range fields([]byte(text)) {
			got[name] = value
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzFieldsOfAnObject(f *testing.F) {
	f.Add([]byte(`{"a\"b":"}{][,:\"","c":[1,{"d":"]"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil {
			return
		}
		got := map[string]json.RawMessage{}
		for name, value := range fields(text) {
			got[name] = value
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	})
}
