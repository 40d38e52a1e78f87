package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"sort"
	"strings"
)

// Fields of a later minor version are kept where a document grows: at the top level and in
// each result. Deeper objects belong to a result or to the host of the run that wrote
// them; a reader that rewrites a document copies those as it knows them.

// decodeKeeping decodes a JSON object into v and returns the fields v has no name for.
func decodeKeeping(data []byte, v any) (map[string]json.RawMessage, error) {
	if err := json.Unmarshal(data, v); err != nil {
		return nil, err
	}
	t := reflect.TypeOf(v).Elem()
	names := map[string]bool{}
	for i := range t.NumField() {
		if name := jsonName(t.Field(i)); name != "" { // of Extra itself
			names[name] = true
		}
	}
	var all map[string]json.RawMessage
	for name, value := range fields(data) {
		if names[name] {
			continue
		}
		for known := range names {
			// encoding/json matches names in any case, the schema does not: such a field would be read unchecked.
			if strings.EqualFold(name, known) {
				return nil, fmt.Errorf("field %q: expected %q", clip(name, 60), known)
			}
		}
		if all == nil {
			all = map[string]json.RawMessage{}
		}
		all[name] = bytes.Clone(value)
	}
	return all, nil
}

// fields are the names and values of an object whose text was decoded before, so that it is known to be one. encoding/json
// would parse the values again, the samples of a large document above all.
func fields(data []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		depth, name, from := 0, "", -1 // where the value of the last name begins
		var text [2]int                // the last string, with its quotes
		for i := 0; i < len(data); i++ {
			switch data[i] {
			case '"':
				text[0] = i
				for i++; i < len(data) && data[i] != '"'; i++ {
					if data[i] == '\\' {
						i++
					}
				}
				text[1] = min(i+1, len(data))
			case ':':
				if depth == 1 && from < 0 {
					if json.Unmarshal(data[text[0]:text[1]], &name) == nil {
						from = i + 1
					}
				}
			case '{', '[':
				depth++
			case ',', '}', ']':
				if depth == 1 && from >= 0 {
					if !yield(name, bytes.TrimSpace(data[from:i])) {
						return
					}
					from = -1
				}
				if data[i] != ',' {
					depth--
				}
			}
		}
	}
}

// encodeKeeping encodes v and appends the extra fields in the order of their names.
func encodeKeeping(v any, extra map[string]json.RawMessage) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil || len(extra) == 0 {
		return data, err
	}
	names := make([]string, 0, len(extra))
	for k := range extra {
		names = append(names, k)
	}
	sort.Strings(names)
	b := bytes.NewBuffer(data[:len(data)-1])
	for _, k := range names {
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		b.WriteByte(',')
		b.Write(key)
		b.WriteByte(':')
		b.Write(extra[k])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonName is the name of a struct field in JSON, "" when it has none.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" || !f.IsExported():
		return ""
	case name == "":
		return f.Name
	}
	return name
}

// plainCalibration and plainResult are the types without their own JSON methods.
type (
	plainCalibration Calibration
	plainResult      Result
)

// UnmarshalJSON keeps fields of a later minor version in Extra.
func (c *Calibration) UnmarshalJSON(data []byte) error {
	var p plainCalibration
	extra, err := decodeKeeping(data, &p)
	if err != nil {
		return err
	}
	*c = Calibration(p)
	c.Extra = extra
	return nil
}

// MarshalJSON writes the fields kept in Extra after the known ones.
func (c Calibration) MarshalJSON() ([]byte, error) {
	return encodeKeeping(plainCalibration(c), c.Extra)
}

// UnmarshalJSON keeps fields of a later minor version in Extra.
func (r *Result) UnmarshalJSON(data []byte) error {
	var p plainResult
	extra, err := decodeKeeping(data, &p)
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &te): // says the field itself
		return err
	case err != nil:
		return fmt.Errorf("result %q: %w", clip(p.ID, 200), err)
	}
	*r = Result(p)
	r.Extra = extra
	return nil
}

// MarshalJSON writes the fields kept in Extra after the known ones.
func (r Result) MarshalJSON() ([]byte, error) {
	return encodeKeeping(plainResult(r), r.Extra)
}

// normalize makes the value at v writable: nil slices and maps whose field is always
// written become empty ones (a document holds [] and {}, never null), and a number that
// JSON cannot hold is an error naming the field. Only nil headers are replaced.
func normalize(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Float64, reflect.Float32:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s is %v: a document holds finite numbers only; leave an unknown value out and say why", path, f)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return normalize(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name := jsonName(f)
			if name == "" {
				continue
			}
			fv := v.Field(i)
			if !strings.Contains(f.Tag.Get("json"), "omitempty") && fv.CanSet() {
				setEmpty(fv)
			}
			if err := normalize(fv, join(path, name)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		for i := range v.Len() {
			if err := normalize(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := normalize(it.Value(), join(path, fmt.Sprint(it.Key()))); err != nil {
				return err
			}
		}
	}
	return nil
}

func setEmpty(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Slice && v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case v.Kind() == reflect.Map && v.IsNil():
		v.Set(reflect.MakeMap(v.Type()))
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
