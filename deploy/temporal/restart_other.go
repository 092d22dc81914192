//go:build !unix

package main

import "errors"

func reexec() error { return errors.New("this system cannot start over in place") }
