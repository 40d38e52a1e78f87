package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

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
	cuts, ok := fits(data, s)
	if !ok {
		return doc, false
	}
	// As encoding/json reads: fits has refused fields of the types that are given twice, so that this is of maps and of fields of a later version.
	if len(cuts) == 0 {
		err = jsonv2.Unmarshal(data, &doc, quickly)
	} else { // without a copy of what is left
		err = jsonv2.UnmarshalRead(&pieces{data: data, cuts: cuts}, &doc, quickly)
	}
	return doc, err == nil
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
	for i := 1; i < len(text); {
		if !numeric[text[i]] { // between numbers, as the decoder has checked
			i++
			continue
		}
		x, end, exact := shortDecimal(text, i)
		if !exact {
			for end = i; end < len(text) && numeric[text[end]]; {
				end++
			}
			if x, err = strconv.ParseFloat(string(text[i:end]), 64); err != nil {
				return err
			}
		}
		out = append(out, x)
		i = end
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

// shortDecimal is the number that begins at i where it is a decimal of at most 15 digits without exponent: both it without its point and the
// power of ten are float64 then, and their quotient is the nearest there is (Clinger 1990).
func shortDecimal(text []byte, i int) (x float64, end int, exact bool) {
	negative := text[i] == '-'
	if negative {
		i++
	}
	mantissa, digits, point := uint64(0), 0, -1
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' {
			point = digits
		} else if c >= '0' && c <= '9' {
			mantissa = mantissa*10 + uint64(c-'0')
			digits++
		} else if numeric[c] {
			return 0, 0, false
		} else {
			break
		}
		if digits > 15 {
			return 0, 0, false
		}
	}
	x = float64(mantissa)
	if point >= 0 {
		x /= powersOfTen[digits-point]
	}
	if negative {
		x = -x
	}
	return x, i, true
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
