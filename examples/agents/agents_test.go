// Package agents_test validates the example bundles against the format of `windlass apply`.
package agents_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var (
	agentID    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	sourceName = regexp.MustCompile(`^[a-z](_?[a-z0-9-]+)*$`)
)

// document has the fields that the examples use.
type document struct {
	Kind string

	ID           string
	DisplayName  string `yaml:"display_name"`
	Description  string
	Instructions string
	Model        string
	Strategy     string
	Tools        []string
	Limits       struct {
		MaxSteps int `yaml:"max_steps"`
	}

	Name       string
	SourceKind string `yaml:"source_kind"`
	Command    []string
}

func TestBundles(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			sources := make(map[string]bool)
			for _, d := range read(t, file) {
				switch d.Kind {
				case "source":
					sources[d.Name] = true
					checkSource(t, d)
				case "agent":
					checkAgent(t, d, sources)
				default:
					t.Errorf("unknown kind %q", d.Kind)
				}
			}
		})
	}
}

func read(t *testing.T, file string) []document {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var documents []document
	for {
		var d document
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, d)
	}
}

func checkSource(t *testing.T, d document) {
	t.Helper()
	if !sourceName.MatchString(d.Name) || d.SourceKind != "mcp" || len(d.Command) == 0 {
		t.Fatalf("bad source: %+v", d)
	}
	// A plain name is looked up beside the running program, where `make build` puts the examples.
	if _, err := os.Stat(filepath.Join("..", d.Command[0], "main.go")); err != nil {
		t.Errorf("source %s: command %q is not an example: %v", d.Name, d.Command[0], err)
	}
}

func checkAgent(t *testing.T, d document, sources map[string]bool) {
	t.Helper()
	if !agentID.MatchString(d.ID) || d.Instructions == "" {
		t.Errorf("bad agent: %+v", d)
	}
	if d.Strategy != "react" && d.Strategy != "direct" {
		t.Errorf("agent %s: unknown strategy %q", d.ID, d.Strategy)
	}
	for _, glob := range d.Tools {
		if source, _, ok := strings.Cut(glob, "__"); !ok || !sources[source] {
			t.Errorf("agent %s: tools %q come from no source above it", d.ID, glob)
		}
	}
}
