//go:build unix

package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/process"
)

func TestS21OnlyListedProgramsStart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"calc", "pkg", "tools/a", "tools/deep/b"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	calc := filepath.Join(dir, "calc")
	for _, tc := range []struct {
		name    string
		list    []string
		command []string
		want    string // below dir; empty means refused
	}{
		{"an empty list", nil, []string{"calc"}, ""},
		{"a name", []string{"calc"}, []string{"calc", "any", "--arguments"}, "calc"},
		{"another name", []string{"calc"}, []string{"pkg"}, ""},
		{"no command", []string{"*"}, nil, ""},
		{"an empty name", []string{"*"}, []string{""}, ""},
		{"the path at which a name is found", []string{"calc"}, []string{calc}, "calc"},
		{"a program of the same name elsewhere", []string{"calc"}, []string{filepath.Join(dir, "tools", "calc")}, ""},
		{"a name for a path that is allowed", []string{calc}, []string{"calc"}, "calc"},
		{"a program of a folder", []string{dir + "/tools/*"}, []string{dir + "/tools/a"}, "tools/a"},
		{"a program below a folder", []string{dir + "/tools/*"}, []string{dir + "/tools/deep/b"}, ""},
		{"a program below a tree", []string{dir + "/tools/**"}, []string{dir + "/tools/deep/b"}, "tools/deep/b"},
		{"a program of a tree", []string{dir + "/tools/**"}, []string{dir + "/tools/a"}, "tools/a"},
		{"a way out of a tree", []string{dir + "/tools/**"}, []string{dir + "/tools/../calc"}, ""},
		{"a way out of a folder", []string{dir + "/tools/*"}, []string{dir + "/tools/.."}, ""},
		{"a relative path is one of the working directory", []string{dir + "/tools/*"}, []string{"./a"}, ""},
		{"anything by name", []string{"*"}, []string{"calc"}, "calc"},
		{"anything by path", []string{"*"}, []string{calc}, "calc"},
		{"arguments", []string{"pkg -y @modelcontextprotocol/*"}, []string{"pkg", "-y", "@modelcontextprotocol/server-filesystem"}, "pkg"},
		{"other arguments", []string{"pkg -y @modelcontextprotocol/*"}, []string{"pkg", "-y", "@evil/server"}, ""},
		{"too few arguments", []string{"pkg -y @modelcontextprotocol/*"}, []string{"pkg", "-y"}, ""},
		{"too many arguments", []string{"pkg -y @modelcontextprotocol/*"}, []string{"pkg", "-y", "@modelcontextprotocol/x", "--more"}, ""},
		{"further arguments", []string{"pkg -y @modelcontextprotocol/* ..."}, []string{"pkg", "-y", "@modelcontextprotocol/x", "--more"}, "pkg"},
		{"no further arguments", []string{"pkg -y ..."}, []string{"pkg", "-y"}, "pkg"},
		{"fewer than before further arguments", []string{"pkg -y x ..."}, []string{"pkg", "-y"}, ""},
		{"a shell in an argument is text", []string{"calc"}, []string{"calc; pkg"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := process.NewPrograms(tc.list, []string{dir})
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Find(tc.command, "/", nil)
			switch {
			case tc.want == "" && !errors.Is(err, process.ErrNotAllowed):
				t.Errorf("Find = %q, %v, want ErrNotAllowed", got, err)
			case tc.want != "" && (err != nil || got != filepath.Join(dir, tc.want)):
				t.Errorf("Find = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	p, err := process.NewPrograms([]string{"no-such-program-here"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Find([]string{"no-such-program-here"}, "", nil); err == nil || errors.Is(err, process.ErrNotAllowed) {
		t.Errorf("a listed program that does not exist: %v", err)
	}
	for _, bad := range [][]string{{""}, {"[a"}, {"calc [a"}, {"./calc"}, {"tools/*"}} {
		if _, err := process.NewPrograms(bad, nil); err == nil {
			t.Errorf("the list %q passes", bad)
		}
	}
}

func TestS21ANameIsLookedUpOnce(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	add := func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, "tool-of-a-test"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	add(second)
	p, err := process.NewPrograms([]string{"tool-of-a-test"}, []string{first, second})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := p.Find([]string{"tool-of-a-test"}, "", nil); err != nil || filepath.Dir(got) != second {
			t.Errorf("Find = %q, %v", got, err)
		}
		add(first) // somebody who may write there does not replace the program
	}
}

func TestS21VariablesThatLoadCode(t *testing.T) {
	some, err := process.NewPrograms([]string{"true", "pkg *"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := process.NewPrograms([]string{"*"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]bool{
		"API_TOKEN": true, "REGION": true, "NODE_ENV": true, "LD_PRELOAD": false, "ld_preload": false, "PATH": false, "NODE_OPTIONS": false,
		"PYTHONPATH": false, "BASH_ENV": false, "npm_config_registry": false, "GIT_SSH_COMMAND": false,
	} {
		env := map[string]string{variable: "/x"}
		if _, err := some.Find([]string{"true"}, "", env); (err == nil) != want || err != nil && !errors.Is(err, process.ErrNotAllowed) {
			t.Errorf("%s: %v", variable, err)
		}
		if _, err := all.Find([]string{"true"}, "", env); err != nil {
			t.Errorf("%s is refused although all programs are allowed: %v", variable, err)
		}
	}
}
