package profile

import (
	"debug/dwarf"
	"debug/elf"
	"slices"
	"strings"

	"ridge/goharness/backend"
)

// Symbols resolves addresses by the symbol tables and line tables of the mapped files. module is
// the name of the Go module, whose path stands before the sources' in a binary built with -trimpath.
type Symbols struct {
	module string
	files  map[string]*object
}

// NewSymbols opens files when they are first asked for.
func NewSymbols(module string) *Symbols { return &Symbols{module: module, files: map[string]*object{}} }

// object is one ELF file; an unreadable one knows nothing.
type object struct {
	base  uint64 // address in the file of the first executable segment, by which a mapping is shifted
	funcs []elf.Symbol
	units []unit
	data  *dwarf.Data
}

// unit is a stretch of code of one compilation unit.
type unit struct {
	low, high uint64
	entry     *dwarf.Entry
}

// Resolve is a Resolver.
func (s *Symbols) Resolve(m backend.CodeMapping, address uint64) (string, Source, bool) {
	o := s.files[m.File]
	if o == nil {
		o = open(m.File)
		s.files[m.File] = o
	}
	at := address - m.Start + o.base
	i, exact := slices.BinarySearchFunc(o.funcs, at, func(f elf.Symbol, at uint64) int {
		switch {
		case f.Value < at:
			return -1
		case f.Value > at:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	if i < 0 || at >= o.funcs[i].Value+o.funcs[i].Size {
		return "", Source{}, false
	}
	return o.funcs[i].Name, s.line(o, at), true
}

func open(file string) *object {
	o := &object{}
	f, err := elf.Open(file)
	if err != nil {
		return o
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			o.base = p.Vaddr - p.Vaddr%max(1, p.Align)
			break
		}
	}
	syms, err := f.Symbols()
	if err != nil {
		syms, _ = f.DynamicSymbols()
	}
	for _, y := range syms {
		if elf.ST_TYPE(y.Info) == elf.STT_FUNC && y.Size > 0 {
			o.funcs = append(o.funcs, y)
		}
	}
	// Of two names of one address the first in the alphabet, every time.
	slices.SortFunc(o.funcs, func(a, b elf.Symbol) int {
		if a.Value != b.Value {
			if a.Value < b.Value {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	o.funcs = slices.CompactFunc(o.funcs, func(a, b elf.Symbol) bool { return a.Value == b.Value })
	if o.data, err = f.DWARF(); err != nil {
		o.data = nil
		return o
	}
	r := o.data.Reader()
	for e, err := r.Next(); e != nil && err == nil; e, err = r.Next() {
		if e.Tag == dwarf.TagCompileUnit {
			ranges, _ := o.data.Ranges(e)
			for _, x := range ranges {
				o.units = append(o.units, unit{x[0], x[1], e})
			}
		}
		r.SkipChildren()
	}
	return o
}

// line gives the file and line of an address, the file relative to the module; empty where the
// file has no line table.
func (s *Symbols) line(o *object, at uint64) Source {
	i := slices.IndexFunc(o.units, func(u unit) bool { return at >= u.low && at < u.high })
	if i < 0 {
		return Source{}
	}
	lines, err := o.data.LineReader(o.units[i].entry)
	if err != nil || lines == nil {
		return Source{}
	}
	var e dwarf.LineEntry
	if lines.SeekPC(at, &e) != nil || e.File == nil {
		return Source{}
	}
	return Source{File: s.relative(e.File.Name), Line: int64(e.Line)}
}

// relative turns /_/MODULE/native/gemm/x.h, and ../include/x.h of a family, into paths of the module.
func (s *Symbols) relative(name string) string {
	if _, rest, ok := strings.Cut(name, "/_/"+s.module+"/"); ok {
		name = rest
	}
	if rest, ok := strings.CutPrefix(name, "../include/"); ok {
		name = "native/include/" + rest
	}
	return name
}
