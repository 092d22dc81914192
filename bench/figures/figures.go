// Package figures keeps the figures of a benchmark by the machine that measured them, and compares new ones with them.
package figures

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Figure is one measured value.
type Figure struct {
	// Row and Name identify the figure within a run.
	Row  string `json:"row"`
	Name string `json:"name"`
	// Value is positive.
	Value float64 `json:"value"`
	// Noise is by which part the value differs between two halves of its own run; 0 = that is not known.
	Noise float64 `json:"noise,omitempty"`
	// More means that a larger value is better.
	More bool `json:"more,omitempty"`
}

// Run is what one benchmark measured.
type Run struct {
	Date   string   `json:"date"`
	Commit string   `json:"commit"`
	Load   string   `json:"load"` // of the machine before the run
	Values []Figure `json:"figures"`
}

// Book is the recorded figures of one machine. Only runs under the same conditions can be compared: it has one for each.
type Book struct {
	// Machine describes the machine.
	Machine string `json:"machine"`
	// Runs are the last ones recorded, by their conditions.
	Runs map[string]Run `json:"runs"`

	file string
}

// Open reads the book of a machine in a folder. A machine without one has an empty book.
func Open(folder, machine string) (*Book, error) {
	b := &Book{Machine: machine, Runs: map[string]Run{}, file: filepath.Join(folder, fileName(machine))}
	raw, err := os.ReadFile(b.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return nil, fmt.Errorf("read recorded figures: %w", err)
	}
	if err := json.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("read recorded figures in %s: %w", b.file, err)
	}
	return b, nil
}

// Record replaces the run under some conditions. It returns the file that has it.
func (b *Book) Record(conditions string, run Run) (string, error) {
	b.Runs[conditions] = run
	raw, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(b.file), 0o755); err != nil {
		return "", fmt.Errorf("record figures: %w", err)
	}
	if err := os.WriteFile(b.file, append(raw, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("record figures: %w", err)
	}
	return b.file, nil
}

// fileName turns the description of a machine into the name of a file.
func fileName(machine string) string {
	words := strings.FieldsFunc(strings.ToLower(machine), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-") + ".json"
}
