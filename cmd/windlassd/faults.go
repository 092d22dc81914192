//go:build faults

package main

import "github.com/windlass-dev/windlass/libs/faultpoint/armed"

func init() { armed.Install() }
