//go:build profile

package main

import (
	"fmt"
	"os"
	"runtime/pprof"
)

// profiled writes a CPU profile to the file that CPU_PROFILE names until end is called. Only `make profile` compiles it in.
func profiled() (end func()) {
	f, err := os.Create(os.Getenv("CPU_PROFILE"))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no profile:", err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "no profile:", err)
		}
	}
}
