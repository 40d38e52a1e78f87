package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Limits of a graphs file, tens of times what a full run has, so that a damaged or hostile one
// costs neither memory nor time.
const (
	maxGraphs       = 16 << 20 // bytes
	maxGraphsValues = 1_000_000
	maxGraphsDepth  = 32
)

// treeReader parses JSON into maps, lists and json.Numbers. Unlike encoding/json it refuses a
// key that is there twice, and names the key at which a text stops being JSON.
type treeReader struct {
	dec    *json.Decoder
	values int
}

func parseTree(data []byte) (any, error) {
	t := treeReader{dec: json.NewDecoder(bytes.NewReader(data))}
	t.dec.UseNumber()
	v, err := t.value("", 0)
	if err != nil {
		return nil, err
	}
	if _, err := t.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not JSON: text after the document at byte %d", t.dec.InputOffset())
	}
	return v, nil
}

func (t *treeReader) value(path string, depth int) (any, error) {
	tok, err := t.token(path)
	if err != nil {
		return nil, err
	}
	if t.values++; t.values > maxGraphsValues {
		return nil, fmt.Errorf("%s: the document has more than %d values", place(path), maxGraphsValues)
	}
	if depth > maxGraphsDepth {
		return nil, fmt.Errorf("%s: nested more than %d deep", place(path), maxGraphsDepth)
	}
	switch tok {
	case json.Delim('{'):
		return t.object(path, depth)
	case json.Delim('['):
		list := []any{}
		for t.dec.More() {
			v, err := t.value(path+"["+strconv.Itoa(len(list))+"]", depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := t.token(path)
		return list, err
	}
	return tok, nil
}

func (t *treeReader) object(path string, depth int) (any, error) {
	o := map[string]any{}
	for t.dec.More() {
		tok, err := t.token(path)
		if err != nil {
			return nil, err
		}
		key, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("%s: not JSON: got %v, expected a key", place(path), tok)
		}
		at := under(path, key)
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("%s: the key is there twice", at)
		}
		if o[key], err = t.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := t.token(path)
	return o, err
}

// token is the next one; an error names the key that is being read.
func (t *treeReader) token(path string) (json.Token, error) {
	tok, err := t.dec.Token()
	switch {
	case err == nil:
		return tok, nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: not JSON: the text ends at byte %d", place(path), t.dec.InputOffset())
	}
	return nil, errors.New(oneLine(fmt.Sprintf("%s: not JSON: %v after byte %d", place(path), err, t.dec.InputOffset())))
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,60}$`)

// under is the path of a key: metadata.cpu_count, operation_profiles["gemm/m=8"].efficiency.
func under(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.QuoteToASCII(clip(key, 160)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func place(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// graphsNode is a value of a file with its path. Its methods read the fields of an object:
// what is absent or null is nil unless it must be there. The first error of a file is kept;
// after it fields read as absent.
type graphsNode struct {
	value any
	path  string
	first *error
}

func (n graphsNode) fail(format string, a ...any) {
	if *n.first == nil {
		*n.first = errors.New(oneLine(place(n.path) + ": " + fmt.Sprintf(format, a...)))
	}
}

func (n graphsNode) expected(what string) { n.fail("got %s, expected %s", kindOf(n.value), what) }

func kindOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "the text " + strconv.QuoteToASCII(clip(v, 60))
	case json.Number:
		return "the number " + clip(v.String(), 40)
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// field is an object's field; there is false for an absent or null one.
func (n graphsNode) field(name string) (f graphsNode, there bool) {
	f = graphsNode{path: under(n.path, name), first: n.first}
	o, ok := n.value.(map[string]any)
	if !ok {
		n.expected("an object")
		return f, false
	}
	f.value = o[name]
	return f, f.value != nil && *n.first == nil
}

// must is a field that has to be there.
func (n graphsNode) must(name string) graphsNode {
	f, there := n.field(name)
	if !there {
		f.fail("missing or null")
	}
	return f
}

// objects lists the fields of an object, sorted by name.
func (n graphsNode) objects() (names []string, fields []graphsNode) {
	o, ok := n.value.(map[string]any)
	if !ok && n.value != nil {
		n.expected("an object")
	}
	for _, k := range sortedKeys(o) {
		names, fields = append(names, k), append(fields, graphsNode{o[k], under(n.path, k), n.first})
	}
	return names, fields
}

// items lists the entries of a list.
func (n graphsNode) items() []graphsNode {
	list, ok := n.value.([]any)
	if !ok && n.value != nil {
		n.expected("a list")
	}
	var out []graphsNode
	for i, v := range list {
		out = append(out, graphsNode{v, n.path + "[" + strconv.Itoa(i) + "]", n.first})
	}
	return out
}

func (n graphsNode) text(name string) *string {
	f, there := n.field(name)
	if !there {
		return nil
	}
	s, ok := f.value.(string)
	if !ok {
		f.expected("text")
		return nil
	}
	return &s
}

func (n graphsNode) flag(name string) *bool {
	f, there := n.field(name)
	if !there {
		return nil
	}
	b, ok := f.value.(bool)
	if !ok {
		f.expected("true or false")
		return nil
	}
	return &b
}

// number is a field's value between two bounds.
func (n graphsNode) number(name string, least, most float64) *float64 {
	f, there := n.field(name)
	if !there {
		return nil
	}
	return f.float(least, most)
}

func (n graphsNode) float(least, most float64) *float64 {
	v, ok := n.value.(json.Number)
	if !ok {
		n.expected("a number")
		return nil
	}
	x, err := strconv.ParseFloat(v.String(), 64)
	if err != nil || !(x >= least && x <= most) {
		n.expected(fmt.Sprintf("a number from %g to %g", least, most))
		return nil
	}
	return &x
}

// whole is a field's value that has to be a whole number; 8.0 is one.
func (n graphsNode) whole(name string, least, most int64) *int64 {
	f, there := n.field(name)
	if !there {
		return nil
	}
	return f.integer(least, most)
}

func (n graphsNode) integer(least, most int64) *int64 {
	v, ok := n.value.(json.Number)
	if !ok {
		n.expected("a whole number")
		return nil
	}
	i, err := strconv.ParseInt(v.String(), 10, 64)
	if err != nil {
		x, ferr := strconv.ParseFloat(v.String(), 64)
		if ferr != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			n.expected("a whole number")
			return nil
		}
		i = int64(x)
	}
	if i < least || i > most {
		n.expected(fmt.Sprintf("a whole number from %d to %d", least, most))
		return nil
	}
	return &i
}

// maxRank bounds the dimensions of a shape, maxDim each of them.
const (
	maxRank = 16
	maxDim  = 1 << 53
)

// shape is a list of dimensions.
func (n graphsNode) shape(name string) []int64 {
	f, there := n.field(name)
	if !there {
		return nil
	}
	out := []int64{}
	for i, d := range f.items() {
		if i >= maxRank {
			f.fail("more than %d dimensions", maxRank)
		}
		if v := d.integer(0, maxDim); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

func (n graphsNode) texts(name string) []string {
	f, there := n.field(name)
	if !there {
		return nil
	}
	out := []string{}
	for _, d := range f.items() {
		s, ok := d.value.(string)
		if !ok {
			d.expected("text")
		}
		out = append(out, s)
	}
	return out
}

// decode reads a value into a type of this package by its JSON names.
func (n graphsNode) decode(v any) {
	if *n.first != nil {
		return
	}
	text, err := json.Marshal(n.value)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &te) && te.Field != "":
		graphsNode{path: n.path + "." + te.Field, first: n.first}.fail("got %s, expected %s", clip(te.Value, 60), te.Type)
	case errors.As(err, &te):
		n.fail("got %s, expected %s", clip(te.Value, 60), te.Type)
	case err != nil:
		n.fail("%v", strings.TrimPrefix(err.Error(), "json: "))
	}
}
