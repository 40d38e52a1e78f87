package power

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxPlist bounds one property list of the stream; powermetrics writes some 50 kB on the largest machines.
const maxPlist = 4 << 20

// plistStream reads the XML property lists that powermetrics writes one after another, with a NUL between.
type plistStream struct{ sc *bufio.Scanner }

func newPlistStream(r io.Reader) *plistStream {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), maxPlist)
	sc.Split(func(data []byte, end bool) (int, []byte, error) {
		const tail = "</plist>"
		if i := bytes.Index(data, []byte(tail)); i >= 0 {
			return i + len(tail), data[:i+len(tail)], nil
		}
		if end {
			return len(data), nil, nil // a torn list is none
		}
		return 0, nil, nil
	})
	return &plistStream{sc}
}

// next is the dictionary of the next list; io.EOF after the last.
func (s *plistStream) next() (map[string]any, error) {
	if !s.sc.Scan() {
		if err := s.sc.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	d := xml.NewDecoder(bytes.NewReader(bytes.Trim(s.sc.Bytes(), "\x00 \r\n\t")))
	for {
		tok, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("property list: %w", err)
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local != "plist" {
			v, err := plistValue(d, e, 0)
			if err != nil {
				return nil, fmt.Errorf("property list: %w", err)
			}
			dict, ok := v.(map[string]any)
			if !ok {
				return nil, errors.New("property list: expected a dictionary")
			}
			return dict, nil
		}
	}
}

// plistValue reads one element: a dictionary, an array, or a value as its text.
func plistValue(d *xml.Decoder, e xml.StartElement, depth int) (any, error) {
	if depth > 50 {
		return nil, errors.New("nested too deeply")
	}
	dict, list, key, text := map[string]any{}, []any{}, "", ""
	for {
		tok, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch x := tok.(type) {
		case xml.CharData:
			text += string(x)
		case xml.StartElement:
			v, err := plistValue(d, x, depth+1)
			if err != nil {
				return nil, err
			}
			switch {
			case x.Name.Local == "key":
				key, _ = v.(string)
			case e.Name.Local == "dict":
				dict[key] = v
			default:
				list = append(list, v)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "dict":
				return dict, nil
			case "array":
				return list, nil
			case "true", "false":
				return e.Name.Local, nil
			}
			return strings.TrimSpace(text), nil
		}
	}
}

// plistNumber finds a number by its path of keys.
func plistNumber(d map[string]any, keys ...string) (float64, bool) {
	for _, k := range keys[:len(keys)-1] {
		next, ok := d[k].(map[string]any)
		if !ok {
			return 0, false
		}
		d = next
	}
	s, ok := d[keys[len(keys)-1]].(string)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v < 1e18
}
