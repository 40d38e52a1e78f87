package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"

	reflectschema "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"ridge/schemas"
)

// schemaFile is the committed schema of the calibration document.
const schemaFile = "ridge.calibration-1.schema.json"

var typePath = regexp.MustCompile(`[\w./-]*[./]`)

// GenerateSchema gives the JSON Schema (2020-12) of a Go type under an id. Fields without
// omitempty are required; unknown fields are allowed, so that documents of a later minor
// version are valid.
func GenerateSchema(id string, v any) ([]byte, error) {
	r := reflectschema.Reflector{
		AllowAdditionalProperties: true,
		ExpandedStruct:            true,
		Anonymous:                 true,
		Namer:                     definitionName,
		Mapper: func(t reflect.Type) *reflectschema.Schema {
			if t != reflect.TypeFor[Status]() {
				return nil
			}
			s := &reflectschema.Schema{Type: "string"}
			for _, st := range statuses {
				s.Enum = append(s.Enum, string(st))
			}
			return s
		},
	}
	s := r.Reflect(v)
	s.ID = reflectschema.ID(id)
	for name, def := range s.Definitions {
		if strings.HasPrefix(name, "Fact") && def.Properties != nil {
			def.OneOf = []*reflectschema.Schema{{Required: []string{"value"}}, {Required: []string{"unavailable"}}}
			def.Description = "a value with its source, or why it is not known"
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("generating the schema %s: %w", id, err)
	}
	return append(data, '\n'), nil
}

// definitionName turns Fact[float64] into FactFloat64, which may stand in a $ref.
func definitionName(t reflect.Type) string {
	name := typePath.ReplaceAllString(t.Name(), "")
	var b strings.Builder
	up := false
	for _, r := range name {
		if r == '[' || r == ']' || r == '*' || r == ',' {
			up = true
			continue
		}
		if up {
			b.WriteString(strings.ToUpper(string(r)))
			up = false
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) { return CompileSchema(schemaFile) })

// CompileSchema reads a committed schema by its file name.
func CompileSchema(name string) (*jsonschema.Schema, error) {
	data, err := schemas.Read(name)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return c.Compile(name)
}

// Validate checks a calibration document against the schema. The error is one line that
// names the first field at fault and what was expected there.
func Validate(data []byte) error {
	text, err := skim(data, "schema")
	if err != nil {
		return err
	}
	return validate(data, text)
}

// validate is Validate of a text that was skimmed for its schema.
func validate(data []byte, text skimmed) error {
	s, err := compiled()
	if err != nil {
		return err
	}
	var head any
	if raw, there := text.top["schema"]; there && json.Unmarshal(raw, &head) != nil || !there {
		var object struct{ Schema any }
		if err := json.Unmarshal(data, &object); err != nil {
			return explainIn(data, err)
		}
		head = nil
	}
	if head != any(SchemaCalibration) {
		return fmt.Errorf("schema: got %s, this ridge reads %q", describe(head), SchemaCalibration)
	}
	return validateSkimmed(s, data, text)
}

// ValidateAgainst checks a JSON document against a compiled schema, with an error as
// Validate gives it.
func ValidateAgainst(s *jsonschema.Schema, data []byte) error {
	text, err := skim(data)
	if err != nil {
		return err
	}
	return validateSkimmed(s, data, text)
}

// validateSkimmed holds the reduced text against the schema: what is left out are further numbers of lists of numbers,
// which have no schema of their own.
func validateSkimmed(s *jsonschema.Schema, data []byte, text skimmed) error {
	var v any
	// Decoding into float64 refuses numbers beyond its range here, before the validator
	// would expand them.
	if err := json.Unmarshal(text.reduced, &v); err != nil {
		if whole := json.Unmarshal(data, new(json.RawMessage)); whole != nil {
			err = whole // its offset is that of the whole text
		}
		return explainIn(data, err)
	}
	if err := boundLists(v, nil); err != nil {
		return err
	}
	err := s.Validate(v)
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return err
	}
	return errors.New(explainSchema(ve))
}

// maxEntries bounds the entries of a list of anything but numbers, a hundred times what a
// full run has: the validator keeps about a kilobyte for every entry at fault.
const maxEntries = 100_000

// boundLists refuses lists that are too long to be validated.
func boundLists(v any, at []string) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if err := boundLists(v[k], append(at, k)); err != nil {
				return err
			}
		}
	case []any:
		others := 0
		for i, x := range v {
			if _, number := x.(float64); number {
				continue
			}
			if others++; others > maxEntries {
				return fmt.Errorf("%s: the list has more than %d entries", fieldPath(at), maxEntries)
			}
			if err := boundLists(x, append(at, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// explainSchema gives the fault that comes first in the document's order of field names.
func explainSchema(ve *jsonschema.ValidationError) string {
	var all []string
	p := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		where := fieldPath(e.InstanceLocation)
		switch k := e.ErrorKind.(type) {
		case *kind.OneOf:
			all = append(all, where+": expected exactly one of value and unavailable")
			return
		case *kind.Type:
			all = append(all, fmt.Sprintf("%s: got %s, expected %s", where, k.Got, strings.Join(k.Want, " or ")))
		case *kind.Required:
			all = append(all, fmt.Sprintf("%s: missing %s", where, strings.Join(k.Missing, ", ")))
		case *kind.Enum:
			all = append(all, fmt.Sprintf("%s: got %s, expected one of %s", where, describe(k.Got), list(k.Want)))
		case *kind.Const:
			all = append(all, fmt.Sprintf("%s: got %s, expected %s", where, describe(k.Got), describe(k.Want)))
		default:
			if len(e.Causes) == 0 {
				all = append(all, where+": "+k.LocalizedString(p))
			}
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(ve)
	sort.Strings(all)
	if len(all) == 0 {
		return "the document does not follow its schema"
	}
	msg := oneLine(all[0])
	if len(all) > 1 {
		msg += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	return msg
}

// fieldPath writes a location as results[3].time.median_ns.
func fieldPath(loc []string) string {
	if len(loc) == 0 {
		return "the document"
	}
	var b strings.Builder
	for i, s := range loc {
		switch {
		case s != "" && strings.Trim(s, "0123456789") == "":
			b.WriteString("[" + s + "]")
		case i > 0:
			b.WriteString("." + clip(s, 60))
		default:
			b.WriteString(clip(s, 60))
		}
	}
	return b.String()
}

func describe(v any) string {
	if v == nil {
		return "nothing"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return clip(string(data), 60)
}

func list(vs []any) string {
	var out []string
	for _, v := range vs {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}

// oneLine replaces control characters, which a damaged file may bring into a message.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
