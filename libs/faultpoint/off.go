//go:build !faults

package faultpoint

// Enabled reports whether points can be armed in this build.
const Enabled = false

// Hit does nothing in this build.
func Hit(Point) {}

// Fail does nothing in this build.
func Fail(Point) error { return nil }

// Variables returns the environment variables that arm points: none in this build.
func Variables() []string { return nil }
