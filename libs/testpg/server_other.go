//go:build !linux

package testpg

import "syscall"

// server is never started on this system.
type server struct{ url string }

func start(bool, []string, string) (*server, error) { return nil, errAbsent }

func fill(string) error { return errAbsent }

func (*server) replica() (*server, error) { return nil, errAbsent }

func (*server) stop() {}

func (*server) kill() {}

func (*server) launch() error { return errAbsent }

func (*server) signal(syscall.Signal) error { return errAbsent }

func (*server) give(string) error { return errAbsent }
