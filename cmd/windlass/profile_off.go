//go:build !profile

package main

// profiled does nothing; see profile.go.
func profiled() (end func()) { return func() {} }
