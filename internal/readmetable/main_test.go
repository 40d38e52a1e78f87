package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"ridge/goharness/record"
)

func read(t *testing.T) (string, record.Calibration) {
	t.Helper()
	text, err := os.ReadFile("../../" + readme)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := record.ReadCalibration(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), doc
}

func TestTheReadmesTableIsOfTheCommittedDocument(t *testing.T) {
	text, doc := read(t)
	want, err := replace(text, doc)
	if err != nil {
		t.Fatal(err)
	}
	if text != want {
		t.Errorf("%s differs from %s: go run ./internal/readmetable", readme, document)
	}
}

func TestOtherFiguresGiveAnotherTable(t *testing.T) {
	text, doc := read(t)
	for i := range doc.Results {
		if r := &doc.Results[i]; r.Op == "gemm" && r.UseCase == "square 2048" {
			r.GFLOPS = 12345
		}
	}
	got, err := replace(text, doc)
	if err != nil || got == text || !strings.Contains(got, "| 12345 GFLOPS |") {
		t.Errorf("the table does not follow the document: %v", err)
	}
}

func TestAMissingRowOrMarkerIsAnError(t *testing.T) {
	text, doc := read(t)
	if _, err := replace("# ridge\n", doc); err == nil || !strings.Contains(err.Error(), "quick table") {
		t.Errorf("no markers: %v", err)
	}
	doc.Results = doc.Results[:1]
	if _, err := replace(text, doc); err == nil || !strings.Contains(err.Error(), "gemm") {
		t.Errorf("no results: %v", err)
	}
}
