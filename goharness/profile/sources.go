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
	known map[string]Source
}

type sourceFile struct {
	name  string // path below the root
	text  string
	lines []string
	// reach is the code, without comments, with that of the headers and bodies it includes from its own folder.
	reach string
}

// NewSources reads the C files of the kernel families, one folder below the tree's top.
func NewSources(root string, tree fs.FS) (*Sources, error) {
	s := &Sources{root: root, known: map[string]Source{}}
	text := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Count(name, "/") != 1 {
			return err
		}
		b, err := fs.ReadFile(tree, name)
		text[name] = string(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, own := range text {
		// table.c and models.c name every kernel and define none.
		if base := path.Base(name); path.Ext(base) == ".c" && base != "table.c" && base != "models.c" || path.Ext(base) == ".cu" {
			s.files = append(s.files, sourceFile{name: name, text: own, lines: strings.Split(own, "\n"), reach: reach(text, name, map[string]bool{})})
		}
	}
	slices.SortFunc(s.files, func(a, b sourceFile) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

var comment = regexp.MustCompile(`//[^\n]*`)

var include = regexp.MustCompile(`(?m)^\s*#include "([^"/]+)"`)

func reach(text map[string]string, name string, seen map[string]bool) string {
	if seen[name] {
		return ""
	}
	seen[name] = true
	out := comment.ReplaceAllString(text[name], "")
	for _, m := range include.FindAllStringSubmatch(out, -1) {
		out += reach(text, path.Join(path.Dir(name), m[1]), seen)
	}
	return out
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

// search looks for the longest end of the name that a file spells out: all of it, or what it passes
// to a macro that pastes the rest on. The rest must be found among what the file includes.
func (s *Sources) search(kernel string) Source {
	var best Source
	most := 0
	op, _, _ := strings.Cut(kernel, "_")
	hasOp := regexp.MustCompile(`\b(ridge_)?` + regexp.QuoteMeta(op) + `(_|\b)`)
	for tail := kernel; tail != ""; {
		word := regexp.MustCompile(`(^|[^A-Za-z0-9_]|\bridge_|##_?)` + regexp.QuoteMeta(tail) + `($|[^A-Za-z0-9_])`)
		for _, f := range s.files {
			if !strings.Contains(f.text, tail) {
				continue
			}
			line := defines(f.lines, word, tail)
			if line == 0 || tail != kernel && !hasOp.MatchString(f.reach) {
				continue
			}
			n := likeness(path.Base(f.name), kernel)
			if tail != kernel && spelled(f.reach, strings.TrimSuffix(kernel, "_"+tail)) {
				n += 3 // K(copy_fp32), not only the word copy
			}
			if best.File == "" || n > most {
				best, most = Source{path.Join(s.root, f.name), line}, n
			}
		}
		if best.File != "" {
			return best
		}
		if base, nt := strings.CutSuffix(tail, "_nt"); nt && tail != kernel { // EW_KERNELS_NT(fp32_avx2)
			tail = base
			continue
		}
		_, tail, _ = strings.Cut(tail, "_")
		if tail == "nt" || tail == "model" {
			return best // any file has those
		}
	}
	return best
}

// defines gives the first line outside of comments that matches the word around tail.
func defines(lines []string, word *regexp.Regexp, tail string) int64 {
	for i, l := range lines {
		if code, _, _ := strings.Cut(l, "//"); strings.Contains(code, tail) && word.MatchString(code) {
			return int64(i + 1)
		}
	}
	return 0
}

// spelled reports whether the text has the word.
func spelled(text, word string) bool {
	ok, _ := regexp.MatchString(`\b(ridge_)?`+regexp.QuoteMeta(word)+`\b`, text)
	return ok
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
