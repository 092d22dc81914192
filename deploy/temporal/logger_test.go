package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/log/tag"
)

func TestACallerWhoHangsUpIsNoFault(t *testing.T) {
	t.Parallel()
	const trailer = "unable to add metrics baggage to gRPC trailer"
	for name, test := range map[string]struct {
		msg   string
		err   error
		level slog.Level
		lines int
	}{
		"trailer of an ended call":  {trailer, errors.New("SendHeader called multiple times"), slog.LevelError, 0},
		"poll of one who left":      {"poll", fmt.Errorf("poll: %w", context.Canceled), slog.LevelError, 0},
		"a call that was canceled":  {"poll", serviceerror.NewCanceled("by its caller"), slog.LevelError, 0},
		"a fault":                   {"poll", errors.New("disk full"), slog.LevelError, 1},
		"a poll that took too long": {"poll", context.DeadlineExceeded, slog.LevelError, 1},
		"asked for everything":      {trailer, errors.New("x"), slog.LevelDebug, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := &serverLogger{log: newLogger(&out, test.level, false)}
			log.Error(test.msg, tag.NewStringTag("service", "frontend"), tag.Error(test.err))
			if got := bytes.Count(out.Bytes(), []byte("\n")); got != test.lines {
				t.Errorf("%d lines, not %d: %s", got, test.lines, out.String())
			}
		})
	}
}
