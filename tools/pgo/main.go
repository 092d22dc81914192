// Command pgo makes a profile fit to be kept with the code: it takes out what tells of the machine it was made on, and what the
// compiler does not read.
//
//	pgo cpu.pprof profile.pgo
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pgo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("want two files: the profile, and where to write it")
	}
	in, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	p, err := profile.Parse(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", args[0], err)
	}
	strip(p)
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	return errors.Join(p.Write(out), out.Close())
}

// strip leaves the functions' names and lines, and how often they called each other.
func strip(p *profile.Profile) {
	p.Comments, p.TimeNanos, p.DurationNanos = nil, 0, 0
	for _, m := range p.Mapping {
		m.File, m.BuildID = "", ""
	}
	for _, f := range p.Function {
		f.Filename = ""
	}
}
