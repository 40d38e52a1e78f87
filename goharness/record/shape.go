package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"ridge/schemas"
)

// The schema library judges values that were decoded into maps, which takes several times as long as decoding into the types. A shape
// judges the text as it stands and may only say yes: what it does not take goes to the library, which has the last word and the message.

// kinds of JSON values, as the bits of shape.kinds.
const (
	kindObject = 1 << iota
	kindArray
	kindString
	kindNumber
	kindInteger
	kindBoolean
)

var kindNames = map[string]uint8{
	"object": kindObject, "array": kindArray, "string": kindString, "number": kindNumber | kindInteger,
	"integer": kindInteger, "boolean": kindBoolean,
}

// shape is one node of a compiled schema. A nil shape takes anything.
type shape struct {
	kinds    uint8
	names    map[string]int // of props
	props    []*shape
	folded   map[string]bool // names in lower case: encoding/json would take them in any
	required uint64          // bits of props
	without  uint64          // bits of props whose fields are left out
	aside    bool            // a list of numbers that is decoded while the text is judged
	unsigned bool            // an integer of no sign
	count    bool            // a list whose items are counted
	oneOf    []uint64        // sets of props of which exactly one is there as a whole
	other    *shape          // of a field that names has not
	item     *shape
	min, max int // items of an array; max 0: any number
	enum     map[string]bool
}

// schemaText is what shapes know of JSON Schema: a schema that says more has no shape.
type schemaText struct {
	Schema      string                 `json:"$schema"`
	ID          string                 `json:"$id"`
	Description string                 `json:"description"`
	Ref         string                 `json:"$ref"`
	Defs        map[string]*schemaText `json:"$defs"`
	Type        string                 `json:"type"`
	Properties  map[string]*schemaText `json:"properties"`
	Required    []string               `json:"required"`
	Additional  *schemaText            `json:"additionalProperties"`
	Items       *schemaText            `json:"items"`
	MinItems    int                    `json:"minItems"`
	MaxItems    int                    `json:"maxItems"`
	Enum        []string               `json:"enum"`
	OneOf       []*schemaText          `json:"oneOf"`
}

// UnmarshalJSON takes true for a schema that allows anything and refuses keywords that shapes do not know.
func (s *schemaText) UnmarshalJSON(data []byte) error {
	if string(data) == "true" {
		return nil
	}
	type plain schemaText
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(s))
}

// calibrationShape is that of the committed schema, nil when shapes do not know all it says: every document is left to the library then.
var calibrationShape = sync.OnceValue(func() *shape {
	data, err := schemas.Read(schemaFile)
	if err != nil {
		return nil
	}
	s, err := newShape(data)
	if err != nil {
		return nil
	}
	own := *s.props[s.names["schema"]]
	own.enum = map[string]bool{SchemaCalibration: true}
	s.props[s.names["schema"]] = &own
	if s, err = s.with(samplesPath, putAside); err != nil {
		return nil
	}
	if s, err = s.with(seedPath, withoutSign); err != nil {
		return nil
	}
	s.props[s.names["results"]].count = true // with has made it this shape's own
	return s
})

// newShape compiles a schema as GenerateSchema writes it.
func newShape(data []byte) (*shape, error) {
	var root schemaText
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, err
	}
	c := shapeCompiler{defs: root.Defs, done: map[string]*shape{}}
	return c.compile(&root)
}

type shapeCompiler struct {
	defs map[string]*schemaText
	done map[string]*shape
}

func (c *shapeCompiler) compile(t *schemaText) (*shape, error) {
	if t == nil {
		return nil, nil
	}
	if name, isRef := strings.CutPrefix(t.Ref, "#/$defs/"); isRef {
		if s, there := c.done[name]; there {
			return s, nil
		}
		if c.defs[name] == nil {
			return nil, fmt.Errorf("no definition %q", name)
		}
		s := &shape{}
		c.done[name] = s // before its fields, which may lead back here
		got, err := c.compile(c.defs[name])
		if err != nil {
			return nil, err
		}
		if got != nil {
			*s = *got
		}
		return s, nil
	}
	s := &shape{names: map[string]int{}, folded: map[string]bool{}, min: t.MinItems, max: t.MaxItems}
	switch kind, known := kindNames[t.Type]; {
	case t.Ref != "", t.Type != "" && !known:
		return nil, fmt.Errorf("reference %q or type %q", t.Ref, t.Type)
	case t.Type == "" && t.Properties == nil && t.Required == nil && t.Items == nil && t.Enum == nil && t.OneOf == nil:
		return nil, nil
	case t.Type == "":
		return nil, fmt.Errorf("a schema without a type")
	default:
		s.kinds = kind
	}
	var err error
	if s.item, err = c.compile(t.Items); err != nil {
		return nil, err
	}
	if s.other, err = c.compile(t.Additional); err != nil {
		return nil, err
	}
	for _, name := range sortedKeys(t.Properties) {
		prop, err := c.compile(t.Properties[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.names[name], s.folded[strings.ToLower(name)] = len(s.props), true
		s.props = append(s.props, prop)
	}
	if len(s.props) > 64 {
		return nil, fmt.Errorf("an object of %d fields", len(s.props))
	}
	if s.required, err = s.set(t.Required); err != nil {
		return nil, err
	}
	for _, one := range t.OneOf {
		fields, err := s.set(one.Required)
		if err != nil {
			return nil, err
		}
		s.oneOf = append(s.oneOf, fields)
	}
	if t.Enum != nil {
		s.enum = map[string]bool{}
		for _, text := range t.Enum {
			s.enum[text] = true
		}
	}
	return s, nil
}

func (s *shape) set(names []string) (bits uint64, err error) {
	for _, name := range names {
		i, there := s.names[name]
		if !there {
			return 0, fmt.Errorf("required field %q has no schema", name)
		}
		bits |= 1 << i
	}
	return bits, nil
}

// samplesPath names the lists that are most of a document: the samples of each result's time.
var samplesPath = []string{"results", "time", "samples_ns"}

// seedPath names the integer that has no sign and may have a bit more.
var seedPath = []string{"results", "conditions", "seed"}

func putAside(s *shape) error {
	if s.item == nil || s.item.kinds&kindNumber == 0 || s.item.enum != nil {
		return fmt.Errorf("no list of numbers")
	}
	s.aside = true
	return nil
}

func withoutSign(s *shape) error {
	if s.kinds != kindInteger {
		return fmt.Errorf("no integer")
	}
	s.unsigned = true
	return nil
}

// with gives the shape with that of the field at a path, items of lists among them, changed.
func (s *shape) with(path []string, change func(*shape) error) (*shape, error) {
	if s == nil {
		return nil, fmt.Errorf("no field %q", path)
	}
	own := *s
	switch {
	case s.item != nil && len(path) > 0:
		item, err := s.item.with(path, change)
		own.item = item
		return &own, err
	case len(path) == 0:
		return &own, change(&own)
	}
	n, known := s.names[path[0]]
	if !known {
		return nil, fmt.Errorf("no field %q", path[0])
	}
	prop, err := s.props[n].with(path[1:], change)
	own.props = append([]*shape(nil), s.props...)
	own.props[n] = prop
	return &own, err
}

// leavingOut gives the shape without the fields that paths such as results.metrics name, items of lists among them.
func (s *shape) leavingOut(paths []string) (*shape, error) {
	for _, path := range paths {
		var err error
		if s, err = s.leaving(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return s, nil
}

func (s *shape) leaving(path string) (*shape, error) {
	if s == nil {
		return nil, fmt.Errorf("no such field")
	}
	own := *s
	if s.item != nil {
		item, err := s.item.leaving(path)
		own.item = item
		return &own, err
	}
	name, rest, deeper := strings.Cut(path, ".")
	n, known := s.names[name]
	if !known {
		return nil, fmt.Errorf("no field %q", name)
	}
	if !deeper {
		own.without |= 1 << n
		return &own, nil
	}
	prop, err := s.props[n].leaving(rest)
	own.props = append([]*shape(nil), s.props...)
	own.props[n] = prop
	return &own, err
}
