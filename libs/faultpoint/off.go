//go:build !faults

package faultpoint

// Enabled tells whether points can be armed in this program.
const Enabled = false

// Hit passes a point. It does nothing in this build.
func Hit(Point) {}

// Fail passes a point that may fail. It does nothing in this build.
func Fail(Point) error { return nil }

// Variables names the environment variables that arm points. There are none in this build.
func Variables() []string { return nil }
