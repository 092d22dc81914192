//go:build !linux

package testpg

// server is never started on this system.
type server struct{ url string }

func start() (*server, error) { return nil, errAbsent }

func (*server) stop() {}
