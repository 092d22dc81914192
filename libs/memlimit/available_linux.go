package memlimit

import (
	"os"
	"strconv"
	"strings"
)

// available returns the bytes of memory of the container, or else of the machine; 0 if that is not known.
func available() int64 {
	machine := int64(0)
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		first, _, _ := strings.Cut(string(raw), "\n") // MemTotal:       16314480 kB
		if words := strings.Fields(first); len(words) >= 2 {
			if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
				machine = n << 10
			}
		}
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil && n > 0 && (machine == 0 || n < machine) {
			return n
		}
	}
	return machine
}
