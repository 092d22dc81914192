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
// of them once; those in use are mapped again from the kernel's file cache.
func Trim() {
	debug.FreeOSMemory()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return // no /proc: leave them
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }() // it was only read
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		var mode string
		if !strings.HasSuffix(lines.Text(), self) {
			continue
		}
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); n != 3 || mode[1] == 'w' {
			continue // written pages have no copy in the file
		}
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED) // best effort
	}
}
