package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// keptBatch is the number of messages per request.
	keptBatch = 256
	// keptBytes bounds one response, so that concurrent ones do not fill the connection.
	keptBytes = 1 << 20
	// keptTimeout is the longest pause within a response.
	keptTimeout = 5 * time.Second
)

// KeptConfig describes a stream that keeps recent messages for late readers.
type KeptConfig struct {
	// Name of the stream: letters, digits, - and _.
	Name string
	// Subjects to keep; wildcards allowed. No two streams may share a subject.
	Subjects []string
	// MaxAge after which a message is removed; 0 means never.
	MaxAge time.Duration
	// MaxBytes above which the oldest messages are removed; 0 means no limit.
	MaxBytes int64
}

// KeptMsg is a message that was kept.
type KeptMsg struct {
	Msg
	// Seq is the number in the kept stream, increasing but not contiguous per subject.
	Seq uint64
	// Time is when the message was kept.
	Time time.Time
}

// EnsureKept creates or updates the stream. Messages are on disk, except in an embedded server without a folder. Every process that calls
// Kept should call this first; it is idempotent.
func (b *Bus) EnsureKept(ctx context.Context, cfg KeptConfig) error {
	storage := jetstream.MemoryStorage
	if b.file {
		storage = jetstream.FileStorage
	}
	maxBytes := cfg.MaxBytes
	if maxBytes <= 0 {
		maxBytes = -1
	}
	asking := ctx
	if b.server != nil { // the embedded server answers at once; stopping it in the middle would leak its goroutines
		asking = context.WithoutCancel(ctx)
	}
	_, err := b.js.CreateOrUpdateStream(asking, jetstream.StreamConfig{
		Name: cfg.Name, Subjects: cfg.Subjects, MaxAge: cfg.MaxAge, MaxBytes: maxBytes, Storage: storage,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, AllowDirect: true, NoAck: true,
		Duplicates: dedup(cfg.MaxAge), Replicas: b.replicas,
	})
	if err != nil {
		return fmt.Errorf("keep stream %s: %w", cfg.Name, classify(err))
	}
	if b.local != nil {
		for _, subject := range cfg.Subjects {
			if err := b.local.keep(subject); err != nil {
				return err
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.streams {
		if b.streams[i].Name == cfg.Name {
			b.streams[i] = cfg
			return nil
		}
	}
	b.streams = append(b.streams, cfg)
	return nil
}

// dedup returns the shortest deduplication window that the server accepts. We send no message ids.
func dedup(maxAge time.Duration) time.Duration {
	if maxAge > 0 {
		return min(maxAge, time.Second)
	}
	return time.Second
}

// Kept returns all messages kept for one subject (no wildcards), oldest first; none is not an error. Messages published a moment ago may be
// missing: the server stores them a little later than it delivers them. It creates no state on the server. Errors: ErrNotKept,
// ErrUnavailable.
func (b *Bus) Kept(ctx context.Context, subject string) ([]KeptMsg, error) {
	return b.KeptSince(ctx, subject, time.Time{})
}

// KeptSince is Kept for the messages that the bus received at the given time or later, by the bus's clock.
func (b *Bus) KeptSince(ctx context.Context, subject string, since time.Time) ([]KeptMsg, error) {
	stream, err := b.streamOf(ctx, subject)
	if err != nil {
		return nil, fmt.Errorf("kept %s: %w", subject, err)
	}
	request := map[string]any{"seq": 1, "next_by_subj": subject, "batch": keptBatch, "max_bytes": keptBytes}
	if !since.IsZero() {
		delete(request, "seq") // the server accepts only one of the two
		request["start_time"] = since.UTC()
	}
	var out []KeptMsg
	for {
		batch, err := b.keptBatch(ctx, stream, subject, request)
		if err != nil {
			return nil, fmt.Errorf("kept %s: %w", subject, classify(err))
		}
		out = append(out, batch.genuine...)
		if !batch.more {
			return out, nil
		}
		delete(request, "start_time")
		request["seq"] = batch.last + 1
	}
}

// streamOf returns the stream of a subject: a known one, else the server's answer, which is remembered.
func (b *Bus) streamOf(ctx context.Context, subject string) (string, error) {
	if name, ok := b.knownStream(subject); ok {
		return name, nil
	}
	name, err := b.js.StreamNameBySubject(ctx, subject)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return "", ErrNotKept
	}
	if err != nil {
		return "", classify(err)
	}
	stream, err := b.js.Stream(ctx, name)
	if err != nil {
		return "", classify(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams = append(b.streams, KeptConfig{Name: name, Subjects: stream.CachedInfo().Config.Subjects})
	return name, nil
}

func (b *Bus) knownStream(subject string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.streams {
		for _, pattern := range s.Subjects {
			if matches(pattern, subject) {
				return s.Name, true
			}
		}
	}
	return "", false
}

// matches reports whether a subject matches a NATS pattern.
func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		if token == ">" {
			return len(s) > i
		}
		if i >= len(s) || token != "*" && token != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

// batch is one response of the server.
type batch struct {
	genuine []KeptMsg
	last    uint64 // the sequence of its last message
	more    bool
}

// keptBatch requests the messages of a subject from a sequence or time on. Servers before 2.11 answer with a single message and no end
// mark; the loop in KeptSince then reads one at a time.
func (b *Bus) keptBatch(ctx context.Context, stream, subject string, fields map[string]any) (batch, error) {
	var out batch
	request, err := json.Marshal(fields)
	if err != nil {
		return out, err
	}
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return out, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is gone
	if err := b.nc.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, request); err != nil {
		return out, err
	}
	for {
		m, err := nextMsg(ctx, sub)
		if err != nil {
			return out, err
		}
		if stamp(m, "Nats-Sequence") == "" {
			return out.finish(m.Header)
		}
		kept, err := keptMsg(subject, m)
		switch {
		case err != nil:
			return out, err
		case kept.Seq <= out.last:
			return out, fmt.Errorf("message %d comes after message %d", kept.Seq, out.last)
		}
		out.last = kept.Seq
		if b.genuine(subject, m) {
			out.genuine = append(out.genuine, kept)
		}
		if stamp(m, "Nats-Num-Pending") == "" {
			out.more = true
			return out, nil
		}
	}
}

// stamp reads a header that the server adds. It comes after the publisher's headers, which may use the same name.
func stamp(m *nats.Msg, name string) string {
	values := m.Header.Values(name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

func nextMsg(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, keptTimeout)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}

// finish reads the message that ends a response.
func (b batch) finish(h nats.Header) (batch, error) {
	switch status := h.Get("Status"); status {
	case "204":
		b.more = b.last > 0 && h.Get("Nats-Num-Pending") != "0"
	case "404":
	case "503":
		return b, nats.ErrNoResponders
	default:
		return b, fmt.Errorf("server answered %s %s", status, h.Get("Description"))
	}
	return b, nil
}

func keptMsg(subject string, m *nats.Msg) (KeptMsg, error) {
	seq, err := strconv.ParseUint(stamp(m, "Nats-Sequence"), 10, 64)
	if err != nil {
		return KeptMsg{}, fmt.Errorf("sequence of a kept message: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, stamp(m, "Nats-Time-Stamp"))
	if err != nil {
		return KeptMsg{}, fmt.Errorf("time of a kept message: %w", err)
	}
	return KeptMsg{Msg: Msg{Subject: subject, Data: m.Data}, Seq: seq, Time: at}, nil
}
