package mcpbridge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookCommand finds a program. A name without a separator is looked up in PATH, beside the running program, in its
// examples folder and in extra, in this order; any other name is taken as it is.
func lookCommand(name string, extra []string) (string, error) {
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
