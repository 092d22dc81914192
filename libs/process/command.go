package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Look finds a program. A name without a separator is looked up in PATH, beside the running program, in its examples folder and in extra,
// in this order; any other name is returned unchanged.
func Look(name string, extra []string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	if found, err := exec.LookPath(name); err == nil {
		return found, nil
	}
	dirs := make([]string, 0, len(extra)+2)
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self), filepath.Join(filepath.Dir(self), "examples"))
	}
	dirs = append(dirs, extra...)
	for _, dir := range dirs {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return filepath.Abs(found)
		}
	}
	return "", fmt.Errorf("no program %q in PATH, nor in %s", name, strings.Join(dirs, ", "))
}

// passed lists the variables that a child inherits from us.
func passed() []string { return []string{"PATH", "HOME", "LANG", "TMPDIR"} }

// Environment returns a child's environment: a few of our variables, and its own.
func Environment(own map[string]string) []string {
	env := make([]string, 0, len(own)+4)
	for _, name := range passed() {
		if _, set := own[name]; set {
			continue
		}
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
