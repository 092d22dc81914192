package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine describes where the figures come from.
type machine struct {
	processor, memory, system, load, golang, commit string
}

// describeMachine collects what it can; unknown fields stay empty.
func describeMachine(ctx context.Context) machine {
	m := machine{
		processor: fmt.Sprintf("%d processors", runtime.NumCPU()),
		system:    runtime.GOOS + "/" + runtime.GOARCH,
		golang:    runtime.Version(),
	}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		m.processor += ", " + name
	}
	var kib int64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &kib); err == nil {
		m.memory = fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.system += " " + strings.TrimSpace(string(release))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(load), " ")
	}
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.commit = strings.TrimSpace(string(out))
	}
	return m
}

// field returns the value of "key : value" in a file, empty if there is none.
func field(file, key string) string {
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
