// Package project works with the folders that hold agents: it makes one to start from, reads bundles, and tells what changed.
package project

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

//go:embed template
var templates embed.FS

// maxName is the greatest length of a source's name, which an agent may have too.
const maxName = 32

var (
	validName = regexp.MustCompile(`^[a-z](_?[a-z0-9-]+)*$`)
	otherRune = regexp.MustCompile(`[^a-z0-9]+`)
)

// Create makes a folder with an agent, a tool server and a test, and returns the paths of the files. The agent and its source are called
// name; an empty name is taken from the folder's. Nothing is overwritten.
func Create(dir, name string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = strings.Trim(otherRune.ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-"), "-")
	}
	if !validName.MatchString(name) || len(name) > maxName {
		return nil, fmt.Errorf("%q is no name for an agent: choose one of lower-case letters, digits and -, at most %d, with --name",
			name, maxName)
	}
	values := struct{ Name, Dir string }{name, strconv.Quote(dir)}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a folder to work in, like any other
		return nil, err
	}
	names, err := fs.Glob(templates, "template/*")
	if err != nil {
		return nil, err
	}
	var made []string
	for _, from := range names {
		path := filepath.Join(dir, filepath.Base(from))
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is there already: choose another folder", path)
		}
		made = append(made, path)
	}
	for i, from := range names {
		if err := fill(from, made[i], values); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// fill writes a template to a new file.
func fill(from, path string, values any) error {
	t, err := template.ParseFS(templates, from)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(path, ".sh") {
		mode = 0o755
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}
