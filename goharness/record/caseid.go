package record

import (
	"fmt"
	"strconv"
	"strings"
)

// CaseID is the parsed form of a case id,
//
//	device/op/dtype/param=value,…/threads=N/mode[@kernel]
//
// Params stand in the op's declared order with defaults left out; "-" stands for none of
// them. Threads is 0 where a device has no thread count. Kernel is set only when it was
// forced. The text is stable for ever and holds no measured value.
type CaseID struct {
	Device  string // may hold ':', as in cuda:0
	Op      string
	DType   DType
	Params  []Param
	Threads int
	Mode    string // hot or cold
	Kernel  string
}

// maxCaseID bounds the length of a case id in bytes, so that a damaged file cannot make
// a reader hold an arbitrarily long one.
const maxCaseID = 4096

// maxThreads bounds the thread count a case id may name (Linux supports 8192 CPUs).
const maxThreads = 1 << 20

// noParams stands in the parameter segment of a case without parameters.
const noParams = "-"

// ParseCaseID reads a case id. The accepted text is canonical: String of what it returns
// gives the same text back.
func ParseCaseID(s string) (CaseID, error) {
	if len(s) > maxCaseID {
		return CaseID{}, fmt.Errorf("case id of %d bytes: at most %d are allowed", len(s), maxCaseID)
	}
	fail := func(format string, a ...any) (CaseID, error) {
		return CaseID{}, fmt.Errorf("case id %q: %s", clip(s, 120), fmt.Sprintf(format, a...))
	}
	seg := strings.Split(s, "/")
	if len(seg) != 6 {
		return fail("%d parts between slashes, expected device/op/dtype/params/threads=N/mode[@kernel]", len(seg))
	}
	c := CaseID{Device: seg[0], Op: seg[1], DType: DType(seg[2])}
	if seg[3] != noParams {
		for _, p := range strings.Split(seg[3], ",") {
			name, value, ok := strings.Cut(p, "=")
			if !ok {
				return fail("parameter %q, expected name=value (or %q for no parameters)", p, noParams)
			}
			c.Params = append(c.Params, Param{Name: name, Value: value})
		}
	}
	n, ok := strings.CutPrefix(seg[4], "threads=")
	if !ok {
		return fail("%q, expected threads=N", seg[4])
	}
	threads, err := strconv.Atoi(n)
	if err != nil || strconv.Itoa(threads) != n {
		return fail("threads=%q, expected a whole number without sign or leading zeros", n)
	}
	c.Threads = threads
	mode, kernel, forced := strings.Cut(seg[5], "@")
	if forced && kernel == "" {
		return fail("no kernel after @")
	}
	c.Mode, c.Kernel = mode, kernel
	if err := c.check(); err != nil {
		return fail("%v", err)
	}
	return c, nil
}

// String formats the id. Call Validate first on one that was not parsed.
func (c CaseID) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s/%s/", c.Device, c.Op, c.DType)
	if len(c.Params) == 0 {
		b.WriteString(noParams)
	}
	for i, p := range c.Params {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.Name + "=" + p.Value)
	}
	fmt.Fprintf(&b, "/threads=%d/%s", c.Threads, c.Mode)
	if c.Kernel != "" {
		b.WriteString("@" + c.Kernel)
	}
	return b.String()
}

// Validate reports whether String gives an id that ParseCaseID accepts.
func (c CaseID) Validate() error {
	if err := c.check(); err != nil {
		return fmt.Errorf("case id: %w", err)
	}
	if n := len(c.String()); n > maxCaseID {
		return fmt.Errorf("case id of %d bytes: at most %d are allowed", n, maxCaseID)
	}
	return nil
}

func (c CaseID) check() error {
	parts := []struct{ what, text, extra string }{
		{"device", c.Device, ":"}, {"op", c.Op, ""}, {"mode", c.Mode, ""},
	}
	if c.Kernel != "" {
		parts = append(parts, struct{ what, text, extra string }{"kernel", c.Kernel, ""})
	}
	for _, p := range c.Params {
		parts = append(parts, struct{ what, text, extra string }{"parameter name", p.Name, ""},
			struct{ what, text, extra string }{"value of parameter " + clip(p.Name, 40), p.Value, ":"})
	}
	for _, p := range parts {
		if err := checkToken(p.text, p.extra); err != nil {
			return fmt.Errorf("%s %w", p.what, err)
		}
	}
	if !c.DType.Known() && c.DType.Size() == 0 && !c.DType.foreign() {
		return fmt.Errorf("unknown precision %q", clip(string(c.DType), 40))
	}
	seen := map[string]bool{}
	for _, p := range c.Params {
		if seen[p.Name] {
			return fmt.Errorf("parameter %s is given twice", clip(p.Name, 40))
		}
		seen[p.Name] = true
	}
	if c.Threads < 0 || c.Threads > maxThreads {
		return fmt.Errorf("threads=%d, expected 0 to %d", c.Threads, maxThreads)
	}
	return nil
}

// checkToken allows letters, digits, '_', '-', '.', '+' and the characters of extra: none
// of them separates parts of an id, and none needs quoting in a shell.
func checkToken(s, extra string) error {
	if s == "" {
		return fmt.Errorf("is empty")
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case strings.ContainsRune("_-.+"+extra, r):
		default:
			return fmt.Errorf("%q holds %q; letters, digits and _-.+%s are allowed", clip(s, 40), r, extra)
		}
	}
	return nil
}

// clip shortens text for an error message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
