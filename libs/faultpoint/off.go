//go:build !faults

package faultpoint

import "time"

// Enabled reports whether points can be armed in this build.
const Enabled = false

// Hit does nothing in this build.
func Hit(Point) {}

// Fail does nothing in this build.
func Fail(Point) error { return nil }

// Variables returns the environment variables that arm points: none in this build.
func Variables() []string { return nil }

// Clock returns nil in this build: time.Now is the clock.
func Clock() func() time.Time { return nil }
