// Package pdftest finds the program with which tests read PDFs.
package pdftest

import (
	"os"
	"os/exec"
	"testing"
)

// EnvRequire names the variable that, set to 1, turns a missing program into a failure.
const EnvRequire = "WINDLASS_REQUIRE_PDFTOTEXT"

// Program returns the path of pdftotext. Without it the test is skipped, or fails if WINDLASS_REQUIRE_PDFTOTEXT=1.
func Program(t testing.TB) string {
	t.Helper()
	program, err := exec.LookPath("pdftotext")
	switch {
	case err == nil:
	case os.Getenv(EnvRequire) == "1":
		t.Fatalf("%s=1, and pdftotext is not on PATH: install poppler-utils", EnvRequire)
	default:
		t.Skip("pdftotext is not on PATH: install poppler-utils")
	}
	return program
}
