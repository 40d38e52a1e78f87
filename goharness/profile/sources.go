package profile

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Sources finds kernels in the sources of a platform, which are embedded in the binary, so that a
// binary that is started elsewhere knows them too.
type Sources struct {
	root  string // of the paths given out, as "native"
	files []sourceFile
	// family is the folder of each kernel that a kernels.def names: other folders have its op's word too.
	family map[string]string
	known  map[string]Source
	code   map[string]string // of each file, without its comments
	names  map[named]bool    // whether a file's code has a word
}

type sourceFile struct {
	name  string // path below the root
	text  string
	lines []string
	// reach are the file itself and what it includes from its own folder, headers and bodies.
	reach []string
}

// named is a question about a file's code: does it have the word, or (start) one that goes on behind an underscore?
type named struct {
	file, word string
	start      bool
}

// NewSources reads the C files of the kernel families, one folder below the tree's top.
func NewSources(root string, tree fs.FS) (*Sources, error) {
	s := &Sources{root: root, family: map[string]string{}, known: map[string]Source{}, code: map[string]string{}, names: map[named]bool{}}
	text, includes := map[string]string{}, map[string][]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Count(name, "/") != 1 {
			return err
		}
		b, err := fs.ReadFile(tree, name)
		if path.Ext(name) == ".def" {
			for _, m := range registered.FindAllSubmatch(b, -1) {
				s.family[string(m[1])] = path.Dir(name)
			}
			return err
		}
		text[name] = string(b)
		s.code[name] = withoutComments(text[name])
		for _, m := range include.FindAllStringSubmatch(s.code[name], -1) {
			includes[name] = append(includes[name], path.Join(path.Dir(name), m[1]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, own := range text {
		// table.c and models.c name every kernel and define none.
		if base := path.Base(name); path.Ext(base) == ".c" && base != "table.c" && base != "models.c" || path.Ext(base) == ".cu" {
			s.files = append(s.files, sourceFile{name: name, text: own, lines: strings.Split(own, "\n"), reach: reach(includes, name, nil)})
		}
	}
	slices.SortFunc(s.files, func(a, b sourceFile) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

// registered is a line of a family's kernels.def.
var registered = regexp.MustCompile(`(?m)^RIDGE_KERNEL(?:_[A-Z]+)?\((\w+),`)

var include = regexp.MustCompile(`(?m)^\s*#include "([^"/]+)"`)

// withoutComments leaves out what stands behind // in each line.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, _, found := strings.Cut(line, "//")
		b.WriteString(code)
		if found && strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// reach adds to seen a file and what it includes, directly or not.
func reach(includes map[string][]string, name string, seen []string) []string {
	if slices.Contains(seen, name) {
		return seen
	}
	seen = append(seen, name)
	for _, n := range includes[name] {
		seen = reach(includes, n, seen)
	}
	return seen
}

// Locate gives the file that defines a kernel and the line that names it there: its definition, or
// the line that makes it of a shared body (EW_KERNELS(fp32_avx2), #define GEMM_NAME …).
func (s *Sources) Locate(kernel string) (Source, bool) {
	if got, ok := s.known[kernel]; ok {
		return got, got.File != ""
	}
	got := s.search(kernel)
	if base, model := strings.CutSuffix(kernel, "_model"); model && got.File == "" {
		got = s.search(base) // the same file, compiled without the instruction set
	}
	s.known[kernel] = got
	return got, got.File != ""
}

// search looks for the file of the kernel's name, as CUDA kernels have one, whose entries go on behind that name (NAME_nn, NAME_nt); else for
// the longest end of the name that a file spells out: all of it, or what it passes to a macro that pastes the rest on. The rest must be
// found among what the file includes.
func (s *Sources) search(kernel string) Source {
	for _, f := range s.files {
		if path.Base(f.name) == kernel+".cu" {
			entry := regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(kernel) + `($|[^A-Za-z0-9])`)
			return Source{path.Join(s.root, f.name), max(1, defines(f.lines, entry, kernel, kernel))}
		}
	}
	for tail := kernel; tail != "" && tail != "nt" && tail != "model"; _, tail, _ = strings.Cut(tail, "_") { // any file has those two
		if found := s.spelling(kernel, tail); found.File != "" {
			return found
		}
		if base, nt := strings.CutSuffix(tail, "_nt"); nt && tail != kernel { // EW_KERNELS_NT(fp32_avx2)
			if found := s.spelling(kernel, base); found.File != "" {
				return found
			}
		}
	}
	return Source{}
}

// spelling gives the likeliest of the files that spell out this end of a kernel's name.
func (s *Sources) spelling(kernel, tail string) Source {
	var best Source
	most := 0
	op, _, _ := strings.Cut(kernel, "_")
	family := s.family[kernel]
	word := regexp.MustCompile(`(^|[^A-Za-z0-9_]|\bridge_|##_?)` + regexp.QuoteMeta(tail) + `($|[^A-Za-z0-9_])`)
	for _, f := range s.files {
		if family != "" && path.Dir(f.name) != family || !strings.Contains(f.text, tail) {
			continue
		}
		if folder, name := path.Split(f.name); folder == "vendor/" && name != op+path.Ext(name) { // kernels begin with their library's name
			continue
		}
		line := defines(f.lines, word, tail, op)
		if line == 0 || tail != kernel && !s.has(f, op, true) {
			continue
		}
		n := likeness(path.Base(f.name), kernel)
		if tail != kernel && s.has(f, strings.TrimSuffix(kernel, "_"+tail), false) {
			n += 3 // K(copy_fp32), not only the word copy
		}
		if best.File == "" || n > most {
			best, most = Source{path.Join(s.root, f.name), line}, n
		}
	}
	return best
}

// defines gives the first line outside of comments that matches the word around tail: one that defines the op's (ridge_binary_##D##_portable)
// where there is one, as a file may make several ops' kernels.
func defines(lines []string, word *regexp.Regexp, tail, op string) int64 {
	first := int64(0)
	for i, l := range lines {
		code, _, _ := strings.Cut(l, "//")
		if !strings.Contains(code, tail) || !word.MatchString(code) {
			continue
		}
		if strings.Contains(code, "ridge_"+op+"_") {
			return int64(i + 1)
		}
		if first == 0 {
			first = int64(i + 1)
		}
	}
	return first
}

// has reports whether a file or one that it includes has the word in its code. Many kernels ask the same of a header.
func (s *Sources) has(f sourceFile, word string, start bool) bool {
	return slices.ContainsFunc(f.reach, func(name string) bool {
		q := named{name, word, start}
		known, asked := s.names[q]
		if !asked {
			known = spelled(s.code[name], word, start)
			s.names[q] = known
		}
		return known
	})
}

// spelled reports whether a text has the word, alone or behind ridge_; with start also a longer one that goes on behind an underscore.
func spelled(text, word string, start bool) bool {
	if word == "" {
		return false
	}
	part := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, after := strings.TrimSuffix(text[:at], "ridge_"), text[at+len(word):]
		begins := at == 0 || !part(text[at-1]) || len(before) < at && (before == "" || !part(before[len(before)-1]))
		if begins && (after == "" || !part(after[0]) || start && after[0] == '_') {
			return true
		}
	}
}

// likeness counts the parts that a file's name and a kernel's share, less those that only the file has.
func likeness(file, kernel string) int {
	name := strings.TrimSuffix(file, path.Ext(file))
	have := strings.Split(kernel, "_")
	n := 0
	for _, part := range strings.Split(name, "_") {
		switch {
		case part == "amd64" || part == "arm64":
		case slices.Contains(have, part):
			n += 2
		default:
			n--
		}
	}
	return n
}
