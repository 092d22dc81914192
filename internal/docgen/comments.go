package main

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// comments maps the full names of a .proto file's messages, fields, enums and values to their comments.
type comments map[string]string

var (
	protoPackage = regexp.MustCompile(`^package ([\w.]+);`)
	protoBlock   = regexp.MustCompile(`^(message|enum|oneof) (\w+) \{`)
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
			if protoMember.MatchString(line) {
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
