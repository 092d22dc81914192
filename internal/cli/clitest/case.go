package clitest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/windlass-dev/windlass/internal/cli/app"
)

// Case is one command and what is expected of it.
type Case struct {
	// Args are the arguments, with spaces between; Words are used instead where an argument has spaces.
	Args  string
	Words []string
	Stdin string
	// Code is the exit code.
	Code int
	// Out is what is printed, unless it is empty.
	Out string
	// Err are parts of what is written to standard error.
	Err []string
	// Sent is a request that must have been made, unless it is empty.
	Sent string
}

// Run runs each case against a server of its own.
func Run(t *testing.T, root func(*app.App) *cobra.Command, answers Answers, cases []Case) {
	t.Helper()
	for _, tc := range cases {
		args := tc.Words
		if args == nil {
			args = strings.Fields(tc.Args)
		}
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			s := New(t, root, answers)
			r := s.Run(tc.Stdin, args...)
			if r.Code != tc.Code {
				t.Errorf("exit code %d, want %d; stderr: %s", r.Code, tc.Code, r.Err)
			}
			if tc.Out != "" && r.Out != tc.Out {
				t.Errorf("printed\n%s\nwant\n%s", r.Out, tc.Out)
			}
			for _, part := range tc.Err {
				if !strings.Contains(r.Err, part) {
					t.Errorf("stderr %q lacks %q", r.Err, part)
				}
			}
			if tc.Sent != "" && !s.Seen(tc.Sent) {
				t.Errorf("requests %q lack %q", s.Requests(), tc.Sent)
			}
		})
	}
}
