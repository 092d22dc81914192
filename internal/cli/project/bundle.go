package project

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Bundle is one YAML text and its origin.
type Bundle struct{ From, YAML string }

// Read reads files, the YAML files of folders, and in for "-".
func Read(in io.Reader, names []string) ([]Bundle, error) {
	var out []Bundle
	for _, name := range names {
		if name == "-" {
			raw, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			out = append(out, Bundle{"standard input", string(raw)})
			continue
		}
		files, err := yamlFiles(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			out = append(out, Bundle{file, string(raw)})
		}
	}
	return out, nil
}

// yamlFiles returns a file itself, or the YAML files of a folder in order of name.
func yamlFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml"} {
		found, err := filepath.Glob(filepath.Join(name, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("folder " + name + " has no .yaml or .yml files")
	}
	slices.Sort(files)
	return files, nil
}
