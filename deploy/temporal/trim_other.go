//go:build !linux

package main

func trimStartPages() {}
