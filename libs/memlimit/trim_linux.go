package memlimit

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
)

// Trim returns the memory that only the start needed: garbage, and the pages of the program's own code and constants. Starting touches most
// of them once; those in use are mapped again from the kernel's file cache. Mappings with pages that were written, such as relocated
// constants, stay: the file has other contents.
func Trim() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // no /proc: leave them
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was only read
	var from, to uintptr                // the mapping that is described, 0 for one that stays
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		line := lines.Text()
		var begin, end uintptr
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &begin, &end, &mode); n == 3 && len(mode) == 4 {
			if from, to = 0, 0; strings.HasSuffix(line, self) && mode[1] != 'w' {
				from, to = begin, end
			}
			continue
		}
		if written, ok := strings.CutPrefix(line, "Anonymous:"); ok && from != 0 && strings.TrimSpace(written) == "0 kB" {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED) // best effort
		}
	}
}
