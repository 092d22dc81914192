package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// loopback is the address of the services inside the process.
const loopback = "127.0.0.1"

// ports are the TCP ports of one start. The Temporal server requires port numbers and does not accept listeners.
type ports struct {
	frontend, history, matching, worker int
}

// reservePorts finds free ports. A port given for the frontend must be free; 0 picks one.
//
// Another process can take a port before the server listens. All ports are held until every one is known, so that they differ, and a later
// conflict restarts the program (see restart.go).
func reservePorts(host string, port int) (ports, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close() // held only to keep the number
		}
	}()
	hold := func(host string, port int, flag string) (int, error) {
		l, err := listen(host, port, flag)
		if err != nil {
			return 0, err
		}
		held = append(held, l)
		return l.Addr().(*net.TCPAddr).Port, nil
	}
	var p ports
	var errs [4]error
	p.frontend, errs[0] = hold(host, port, "--port")
	p.history, errs[1] = hold(loopback, 0, "")
	p.matching, errs[2] = hold(loopback, 0, "")
	p.worker, errs[3] = hold(loopback, 0, "")
	for _, err := range errs {
		if err != nil {
			return ports{}, err
		}
	}
	return p, nil
}

// listen opens a TCP listener; its errors name the flag to change.
func listen(host string, port int, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, portInUse(host, port, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is no address of this machine: use 127.0.0.1, or 0.0.0.0 for all", host)
	default:
		return nil, fmt.Errorf("listen on %s port %d: %w", host, port, err)
	}
}

func portInUse(host string, port int, flag string) error {
	return fmt.Errorf("port %d on %s is in use: stop the program that has it, or choose another with %s (0 picks a free one)",
		port, host, flag)
}

// dialable converts a listen address to one to connect to.
func dialable(host string, port int) string {
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = loopback
		if ip.To4() == nil {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
