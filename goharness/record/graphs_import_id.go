package record

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// measuredName matches parameters that hold something measured, which no id may.
var (
	measuredName = regexp.MustCompile(`(?i)flops|gops|latency|bandwidth|efficien|time|throughput|speedup|best|measured|_(ms|us|ns)$|watt|joule|temperature|clock|mhz|gbps`)
	decimal      = regexp.MustCompile(`-?[0-9]+\.[0-9]+([eE][-+]?[0-9]+)?|-?[0-9]+[eE][-+]?[0-9]+`)
	notToken     = regexp.MustCompile(`[^A-Za-z0-9_.+-]+`)
)

// foreignID makes a case id of what was asked for: the operation, its shape, and the
// parameters that are whole numbers, words or truths and not called after a measured figure.
// A key that is not made of these (system C's keys are) stands in it with its decimal numbers
// left out.
func (p *graphsRow) foreignID(d DType) CaseID {
	id := CaseID{Op: opOf(p.kind), DType: d, Mode: Hot}
	add := func(name, value string) { id.Params = append(id.Params, Param{Name: name, Value: value}) }
	dims := func(name string, shape []int64) {
		if len(shape) > 0 {
			add(name, dimsText(shape))
		}
	}
	dims("in", p.kept.Input)
	dims("out", p.kept.Output)
	if p.batch > 1 {
		add("batch", strconv.FormatInt(p.batch, 10))
	}
	for _, k := range sortedKeys(p.kept.Extra) {
		name := strings.Trim(notToken.ReplaceAllString(k, "_"), "_")
		value, ok := asked(p.kept.Extra[k])
		if !ok || name == "" || measuredName.MatchString(k) {
			continue
		}
		switch name {
		case "in", "out", "batch", "key":
			name += "_"
		}
		add(name, value)
	}
	if p.key != p.madeKey() {
		text := strings.Trim(notToken.ReplaceAllString(decimal.ReplaceAllString(p.key, ""), "_"), "_")
		if text != "" && text != p.kind {
			add("key", text)
		}
	}
	return id
}

func dimsText(shape []int64) string {
	var text []string
	for _, d := range shape {
		text = append(text, strconv.FormatInt(d, 10))
	}
	return strings.Join(text, "x")
}

// asked is a parameter's text for an id; false for what is none or may be measured.
func asked(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return v.String(), true
		}
	case bool:
		return strconv.FormatBool(v), true
	case string:
		text := strings.Trim(notToken.ReplaceAllString(v, "_"), "_")
		return clip(text, 80), text != "" && len(text) <= 80
	}
	return "", false
}

// madeKey is the key that system C makes of a profile: its type, parameters and size.
func (p *graphsRow) madeKey() string {
	parts := []string{p.kind}
	for _, k := range sortedKeys(p.kept.Extra) {
		text := "None"
		switch v := p.kept.Extra[k].(type) {
		case json.Number:
			text = v.String()
		case string:
			text = v
		case bool:
			text = map[bool]string{true: "True", false: "False"}[v]
		}
		parts = append(parts, k+"="+text)
	}
	if p.kind == "matmul" || p.kind == "conv2d" {
		total := 1.0
		for _, d := range p.kept.Input {
			total *= float64(d)
		}
		switch {
		case total < 1<<20:
			parts = append(parts, "small")
		case total < 10<<20:
			parts = append(parts, "medium")
		default:
			parts = append(parts, "large")
		}
	}
	return strings.Join(parts, "_")
}
