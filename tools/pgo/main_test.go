package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func TestNothingTellsOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	var raw bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&raw, 0); err != nil { // any profile with samples will do
		t.Fatal(err)
	}
	if err := os.WriteFile(in, raw.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{in, out}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil || len(p.Sample) == 0 || len(p.Function) == 0 {
		t.Fatalf("%v, %v", p, err)
	}
	if strings.Contains(p.String(), os.Args[0]) {
		t.Errorf("paths are left:\n%.2000s", p)
	}
	for _, f := range p.Function {
		if f.Filename != "" || f.Name == "" {
			t.Errorf("function %+v", f)
		}
	}
}

func TestBadArguments(t *testing.T) {
	if err := run([]string{"one"}); err == nil || !strings.Contains(err.Error(), "two files") {
		t.Errorf("got %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("no profile"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{bad, bad}); err == nil {
		t.Error("a file that is no profile was taken")
	}
}
