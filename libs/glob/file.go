package glob

import (
	"fmt"
	"path"
)

// AnyFile reports whether name fits at least one of the patterns as the shell matches file names: "*" and "?" do not stand for a
// slash, "[a-z]" stands for one of several characters, and a backslash takes the meaning from the next one. It is for what
// configuration documents so: paths of programs, where "/opt/agents/*" must not reach the folders below, and names of variables.
// No patterns fit nothing.
func AnyFile(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// CheckFile finds a pattern that AnyFile cannot read.
func CheckFile(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
	}
	return nil
}
