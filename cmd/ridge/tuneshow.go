package main

import (
	"fmt"
	"strings"

	"ridge/goharness/record"
)

// plannedSearch is what tune --dry-run --json tells of a search.
type plannedSearch struct {
	Device        string            `json:"device"`
	Op            string            `json:"op"`
	DType         record.DType      `json:"dtype"`
	Shape         map[string]string `json:"shape"`
	Class         string            `json:"class"`
	Threads       int               `json:"threads"`
	BudgetSeconds float64           `json:"budget_seconds"`
	Default       string            `json:"default"`
	Candidates    []string          `json:"candidates"` // and the neighbours of the best
}

// tuneInterrupted says what a search that was interrupted has done and stored, and what is left.
func tuneInterrupted(all []*tuning) error {
	done, stored, left, path := 0, 0, []string{}, ""
	for _, t := range all {
		done, path = done+len(t.outs), t.path
		for _, o := range t.outs {
			if o.Found != nil {
				stored++
			}
		}
		for _, target := range t.targets[len(t.outs):] {
			left = append(left, fmt.Sprint(target))
		}
	}
	if done == 0 {
		return interruptedBySignal("tune: interrupted before the first search was done; nothing is stored: repeat the command")
	}
	found := "none found anything faster than the default"
	if stored > 0 {
		found = fmt.Sprintf("what %d of them found faster than the default is stored in %s and holds", stored, path)
	}
	return interruptedBySignal("tune: interrupted; %d searches are done: %s; not done: %s: repeat the command for these", done, found, strings.Join(left, "; "))
}
