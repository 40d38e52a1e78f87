package record

import (
	"bytes"
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// quickCalibration decodes a calibration in one pass where its text is one that nobody can find fault with, as nearly all are. Of any other
// it says no, and the careful way decides. Fields to do without are checked and not decoded.
func quickCalibration(data []byte, without ...string) (doc Calibration, ok bool) {
	s := calibrationShape()
	if s == nil {
		return doc, false
	}
	s, err := s.leavingOut(without)
	if err != nil {
		return doc, false
	}
	f, ok := fits(data, s)
	if !ok {
		return doc, false
	}
	if f.counted > 0 {
		doc.Results = make([]Result, 0, f.counted)
	}
	// As encoding/json reads: fits has refused fields of the types that are given twice, so that this is of maps and of fields of a later version.
	if len(f.cuts) == 0 {
		err = jsonv2.Unmarshal(data, &doc, quickly)
	} else { // without a copy of what is left
		err = jsonv2.UnmarshalRead(&pieces{data: data, cuts: f.cuts}, &doc, quickly)
	}
	return doc, err == nil && giveBack(doc.Results, f.aside)
}

var quickly = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(numbersFrom)))

// numbersFrom decodes a list of numbers, of which most documents have more than of anything else, without a look at the type for each.
func numbersFrom(dec *jsontext.Decoder, to *[]float64) error {
	text, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if len(text) < 2 || text[0] != '[' {
		return errors.New("expected a list of numbers")
	}
	out := make([]float64, 0, bytes.Count(text, []byte(","))+1)
	f := fitter{data: text}
	for i := 1; i < len(text); {
		if !numeric[text[i]] { // between numbers, as the decoder has checked
			i++
			continue
		}
		x, end, ok := f.decimal(i)
		if !ok {
			return errors.New("expected numbers that a float64 can hold")
		}
		out, i = append(out, x), end
	}
	*to = out
	return nil
}

// keptFields has the fields of a type beside those of a later minor version.
type (
	keptCalibration struct {
		plainCalibration
		Later map[string]json.RawMessage `json:",unknown"`
	}
	keptResult struct {
		plainResult
		Later map[string]json.RawMessage `json:",unknown"`
	}
)

// UnmarshalJSONFrom is UnmarshalJSON in one pass.
func (c *Calibration) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var k keptCalibration
	k.Results = c.Results // room for them, where their number is known
	if err := jsonv2.UnmarshalDecode(dec, &k); err != nil {
		return err
	}
	*c = Calibration(k.plainCalibration)
	c.Extra = k.Later
	return nil
}

// UnmarshalJSONFrom is UnmarshalJSON in one pass.
func (r *Result) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var k keptResult
	if err := jsonv2.UnmarshalDecode(dec, &k); err != nil {
		return err
	}
	*r = Result(k.plainResult)
	r.Extra = k.Later
	return nil
}
