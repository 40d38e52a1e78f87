package objtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// instruction is one line of objdump's listing.
type instruction struct {
	at       uint64
	mnemonic string
	operands string
}

var (
	// Address, an encoding hint such as {vex}, mnemonic, operands.
	line   = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(?:\{\w+\} )?(\S+)\s*(.*)$`)
	target = regexp.MustCompile(`\b([0-9a-f]+) <`)
	// %rsp of amd64; sp of arm64, which no other register's name contains as a word.
	stack = regexp.MustCompile(`%[re]sp\b|\bw?sp\b`)
)

// function lists the instructions of a symbol.
func function(listing, symbol string) ([]instruction, error) {
	_, body, ok := strings.Cut(listing, "<"+symbol+">:\n")
	if !ok {
		return nil, fmt.Errorf("the object has no function %s", symbol)
	}
	body, _, _ = strings.Cut(body, "\n\n")
	var out []instruction
	for _, text := range strings.Split(body, "\n") {
		m := line.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		at, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read the listing of %s: address %q: %w", symbol, m[1], err)
		}
		operands, _, _ := strings.Cut(m[3], "  #") // a comment with a resolved address; arm64 writes constants with one space
		out = append(out, instruction{at, m[2], operands})
	}
	return out, nil
}

// backward gives the index that instruction i jumps back to.
func backward(code []instruction, i int) (int, bool) {
	m := code[i].mnemonic
	if m[0] != 'j' && m != "b" && !strings.HasPrefix(m, "b.") && !strings.HasPrefix(m, "cb") && !strings.HasPrefix(m, "tb") {
		return 0, false
	}
	to := target.FindStringSubmatch(code[i].operands)
	if to == nil {
		return 0, false
	}
	at, err := strconv.ParseUint(to[1], 16, 64)
	if err != nil {
		return 0, false
	}
	for j := i; j >= 0; j-- {
		if code[j].at == at {
			return j, true
		}
	}
	return 0, false
}

// innermost lists the loops that hold no other: from the target of a backward jump to the jump.
// Code that a jump backwards only reuses (a shared epilogue) ends in a return and is none.
func innermost(code []instruction) [][]instruction {
	type span struct{ from, to int }
	var spans []span
	for i := range code {
		if j, ok := backward(code, i); ok {
			spans = append(spans, span{j, i})
		}
	}
	var out [][]instruction
	for _, s := range spans {
		inner := true
		for _, o := range spans {
			if o != s && o.from >= s.from && o.to <= s.to {
				inner = false
			}
		}
		for _, c := range code[s.from : s.to+1] {
			if strings.HasPrefix(c.mnemonic, "ret") {
				inner = false
			}
		}
		if inner {
			out = append(out, code[s.from:s.to+1])
		}
	}
	return out
}

// count counts the instructions that a key of Loop.Main means.
func count(code []instruction, key string) int {
	names, memory := strings.CutSuffix(key, "/m")
	n := 0
	for _, c := range code {
		if memory && !strings.ContainsAny(c.operands, "([") {
			continue
		}
		for _, name := range strings.Split(names, "|") {
			if c.mnemonic == name {
				n++
			}
		}
	}
	return n
}

// onStack lists a loop's instructions that name the stack pointer, or the frame pointer where the
// function sets one up.
func onStack(code, turn []instruction) []string {
	frame := ""
	for _, c := range code {
		switch {
		case c.mnemonic == "mov" && c.operands == "%rsp,%rbp":
			frame = "%rbp"
		case c.mnemonic == "mov" && c.operands == "x29, sp", c.mnemonic == "add" && strings.HasPrefix(c.operands, "x29, sp,"):
			frame = "x29"
		}
	}
	var out []string
	for _, c := range turn {
		if stack.MatchString(c.operands) || frame != "" && strings.Contains(c.operands, frame) {
			out = append(out, c.mnemonic+" "+c.operands)
		}
	}
	return out
}
