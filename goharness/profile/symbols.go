package profile

import (
	"cmp"
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
	code  []elf.ProgHeader // executable segments: which part of the file belongs at which of its addresses
	funcs []elf.Symbol
	units []*unit
	data  *dwarf.Data
}

// unit is a compilation unit.
type unit struct {
	ranges [][2]uint64
	entry  *dwarf.Entry
	// calls are the stretches of code that were put in from other functions, the smallest first; read when first asked for.
	calls []call
	read  bool
}

// call is a function that the compiler put into another.
type call struct {
	low, high uint64
	function  string
}

// Resolve is a Resolver.
func (s *Symbols) Resolve(m backend.CodeMapping, address uint64) (Code, bool) {
	o := s.files[m.File]
	if o == nil {
		o = open(m.File)
		s.files[m.File] = o
	}
	at, ok := o.address(address - m.Start + m.Offset)
	if !ok {
		return Code{}, false
	}
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
		return Code{}, false
	}
	u := o.unit(at)
	return Code{Function: o.funcs[i].Name, At: s.line(o, u, at), Inlined: o.inlined(u, at)}, true
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
			o.code = append(o.code, p.ProgHeader)
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
			if ranges, _ := o.data.Ranges(e); len(ranges) > 0 {
				o.units = append(o.units, &unit{ranges: ranges, entry: e})
			}
		}
		r.SkipChildren()
	}
	return o
}

// address in the file's own terms of what stands at an offset of it: a mapping may show any part of a segment.
func (o *object) address(offset uint64) (uint64, bool) {
	for _, p := range o.code {
		if offset >= p.Off && offset-p.Off < p.Filesz {
			return p.Vaddr + offset - p.Off, true
		}
	}
	return 0, false
}

// unit is the one that an address lies in; nil where there is no debug information.
func (o *object) unit(at uint64) *unit {
	i := slices.IndexFunc(o.units, func(u *unit) bool {
		return slices.ContainsFunc(u.ranges, func(x [2]uint64) bool { return at >= x[0] && at < x[1] })
	})
	if i < 0 {
		return nil
	}
	return o.units[i]
}

// inlined names the functions that were put in where an address is, the innermost first.
func (o *object) inlined(u *unit, at uint64) []string {
	if u == nil {
		return nil
	}
	if !u.read {
		u.read = true
		u.calls = o.calls(u)
	}
	var out []string
	for _, c := range u.calls {
		if at >= c.low && at < c.high {
			out = append(out, c.function)
		}
	}
	return out
}

// calls reads the inlined calls of a unit.
func (o *object) calls(u *unit) []call {
	r := o.data.Reader()
	r.Seek(u.entry.Offset)
	names := map[dwarf.Offset]string{}
	var out []call
	for depth := 0; ; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
		} else if e.Children {
			depth++
		}
		if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok && e.Tag == dwarf.TagInlinedSubroutine {
			name, known := names[origin]
			if !known {
				of := o.data.Reader()
				of.Seek(origin)
				if x, err := of.Next(); err == nil && x != nil {
					name, _ = x.Val(dwarf.AttrName).(string)
				}
				names[origin] = name
			}
			ranges, _ := o.data.Ranges(e)
			for _, x := range ranges {
				out = append(out, call{x[0], x[1], name})
			}
		}
		if depth <= 0 {
			break
		}
	}
	// What encloses another is larger; of equal ones the later is the inner.
	slices.Reverse(out)
	slices.SortStableFunc(out, func(a, b call) int { return cmp.Compare(a.high-a.low, b.high-b.low) })
	return out
}

// line gives the file and line of an address, the file relative to the module; empty where the
// file has no line table.
func (s *Symbols) line(o *object, u *unit, at uint64) Source {
	if u == nil {
		return Source{}
	}
	lines, err := o.data.LineReader(u.entry)
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
