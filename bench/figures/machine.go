package figures

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Machine describes where the figures come from.
type Machine struct {
	// Processor, Memory, System and Go are what the machine has.
	Processor, Memory, System, Go string
	// Load is its load average, Commit that of the source.
	Load, Commit string
}

// ID names the machine in records: it is the same for all that are alike, after an update of the system too.
func (m Machine) ID() string {
	system, _, _ := strings.Cut(m.System, " ")
	return strings.Join([]string{m.Processor, m.Memory, system}, ", ")
}

// Describe collects what it can; unknown fields stay empty.
func Describe(ctx context.Context) Machine {
	m := Machine{
		Processor: fmt.Sprintf("%d processors", runtime.NumCPU()),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Go:        runtime.Version(),
	}
	if name := Field("/proc/cpuinfo", "model name"); name != "" {
		m.Processor += ", " + name
	}
	var kib int64
	if _, err := fmt.Sscanf(Field("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		m.Memory = fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(release))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// Field returns the value of "key : value" in a file, empty if there is none.
func Field(file, key string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
