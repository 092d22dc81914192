package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// newLogger logs to w from level on; the level may change later.
func newLogger(w io.Writer, level slog.Leveler, asJSON bool) *slog.Logger {
	handlerOptions := &slog.HandlerOptions{Level: level}
	if asJSON {
		return slog.New(slog.NewJSONHandler(w, handlerOptions))
	}
	return slog.New(slog.NewTextHandler(w, handlerOptions))
}

// serverLogger makes the Temporal server log through slog.
type serverLogger struct {
	log  *slog.Logger
	tags []tag.Tag
	// fatal is called instead of exiting and must not return: the server relies on that.
	fatal func(message string, details map[string]any)
}

var (
	_ log.Logger      = (*serverLogger)(nil)
	_ log.WithLogger  = (*serverLogger)(nil)
	_ log.SLogWrapper = (*serverLogger)(nil)
)

func (l *serverLogger) Debug(msg string, tags ...tag.Tag)  { l.write(slog.LevelDebug, msg, tags) }
func (l *serverLogger) Info(msg string, tags ...tag.Tag)   { l.write(slog.LevelInfo, msg, tags) }
func (l *serverLogger) Warn(msg string, tags ...tag.Tag)   { l.write(slog.LevelWarn, msg, tags) }
func (l *serverLogger) Error(msg string, tags ...tag.Tag)  { l.write(slog.LevelError, msg, tags) }
func (l *serverLogger) DPanic(msg string, tags ...tag.Tag) { l.write(slog.LevelError, msg, tags) }

func (l *serverLogger) Panic(msg string, tags ...tag.Tag) {
	l.write(slog.LevelError, msg, tags)
	panic(msg)
}

func (l *serverLogger) Fatal(msg string, tags ...tag.Tag) {
	details := map[string]any{}
	for _, t := range slices.Concat(l.tags, tags) {
		details[t.Key()] = t.Value()
	}
	l.fatal(msg, details)
}

// With keeps the tags unread: reading a tag's value is slow, and most lines are never written.
func (l *serverLogger) With(tags ...tag.Tag) log.Logger {
	return &serverLogger{log: l.log, tags: slices.Concat(l.tags, tags), fatal: l.fatal}
}

// SLog returns the logger for the Temporal SDK inside the server.
func (l *serverLogger) SLog() *slog.Logger { return l.log }

func (l *serverLogger) write(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background() // Temporal's logger has no context
	if level == slog.LevelError && callerLeft(msg, tags) || strings.HasPrefix(msg, noHTTP) {
		level = slog.LevelDebug
	}
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, len(l.tags)+len(tags))
	for _, t := range slices.Concat(l.tags, tags) {
		attrs = append(attrs, slog.Any(t.Key(), t.Value()))
	}
	l.log.LogAttrs(ctx, level, msg, attrs...) //nolint:sloglint // the text is Temporal's
}

// noHTTP begins a warning about the frontend's HTTP API, which is off on purpose.
const noHTTP = "HTTP API port has not been set."

// callerLeft reports whether an error only means that a caller hung up: the server tells these apart only before the call, so a caller that
// hangs up at the same moment, as all do at a stop, looks like a failure.
func callerLeft(msg string, tags []tag.Tag) bool {
	if msg == "unable to add metrics baggage to gRPC trailer" { // grpc-go refuses a trailer only for a call that has ended
		return true
	}
	return slices.ContainsFunc(tags, func(t tag.Tag) bool {
		z, ok := t.(tag.ZapTag)
		if !ok {
			return false
		}
		err, ok := z.Field().Interface.(error)
		var canceled *serviceerror.Canceled
		return ok && (errors.Is(err, context.Canceled) || errors.As(err, &canceled))
	})
}
