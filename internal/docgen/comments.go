package main

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// comments maps the full names of a .proto file's declarations to their comments. A value of an enum is below its enum.
type comments map[string]string

var (
	protoPackage = regexp.MustCompile(`^package ([\w.]+);`)
	protoBlock   = regexp.MustCompile(`^(message|enum|oneof|service) (\w+) \{`)
	protoMethod  = regexp.MustCompile(`^rpc (\w+)\(`)
	protoMember  = regexp.MustCompile(`^(?:(?:repeated |optional )?(?:map<[^>]+>|[\w.]+) )?(\w+) = \d+`)
)

// readComments reads .proto files formatted by buf: one declaration per line.
func readComments(root string, files ...string) (comments, error) {
	out := comments{}
	for _, name := range files {
		f, err := os.Open(filepath.Join(root, "proto", filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		out.read(bufio.NewScanner(f))
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c comments) read(sc *bufio.Scanner) {
	var scope []string // names of the enclosing blocks; "" for one without a name
	var text []string
	pkg := ""
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if comment, ok := strings.CutPrefix(line, "//"); ok {
			text = append(text, strings.TrimSpace(comment))
			continue
		}
		name := ""
		if m := protoPackage.FindStringSubmatch(line); m != nil {
			pkg = m[1]
		} else if m := protoBlock.FindStringSubmatch(line); m != nil {
			name = m[2]
		} else if m := protoMethod.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if m := protoMember.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if name != "" {
			path := append([]string{pkg}, scope...)
			c[strings.Join(drop(append(path, name)), ".")] = strings.Join(text, " ")
		}
		text = nil
		switch {
		case strings.HasSuffix(line, "{") || strings.HasSuffix(line, "["):
			if m := protoBlock.FindStringSubmatch(line); m == nil || m[1] == "oneof" {
				name = "" // members of a oneof belong to the message
			}
			if protoMember.MatchString(line) || protoMethod.MatchString(line) {
				name = ""
			}
			scope = append(scope, name)
		case strings.HasPrefix(line, "}") || strings.HasPrefix(line, "]"):
			if len(scope) > 0 {
				scope = scope[:len(scope)-1]
			}
		}
	}
}

// drop removes blocks without a name.
func drop(path []string) []string {
	var out []string
	for _, p := range path {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// writeComments writes the comments of the whole API for package comment, which serves them by reflection.
func writeComments(w *writer, root string) error {
	var files []string
	dir := filepath.Join(root, "proto")
	err := filepath.WalkDir(filepath.Join(dir, "windlass"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".proto" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	all, err := readComments(root, files...)
	if err != nil {
		return err
	}
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	w.line("%s", text)
	return nil
}
