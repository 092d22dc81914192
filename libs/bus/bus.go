// Package bus is the fast, lossy side of Windlass: NATS, in this process or a server elsewhere. Nothing here is the truth of anything: a
// message may be lost, so whoever reads must be able to catch up from a database. In return nothing here ever blocks a publisher.
package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Embedded is the URL of a server inside this process.
const Embedded = "embedded:"

var (
	// ErrUnavailable means that the bus is away or does not answer. The message was not, or may not have been, sent.
	ErrUnavailable = errors.New("bus is not available")
	// ErrNotKept means that no kept stream holds the subject.
	ErrNotKept = errors.New("no kept stream for this subject")
	// ErrClosed means that the bus, or the subscription, was closed by its owner.
	ErrClosed = errors.New("closed")
)

// Config says which bus to use.
type Config struct {
	// URL is Embedded, or "nats://host:port" (several separated by commas). Required.
	URL string
	// Dir is where the embedded server keeps its streams; empty means in memory. Unused for other servers.
	Dir string
	// Listen is the address at which the embedded server also serves other processes ("127.0.0.1:0" picks a port); empty means it does
	// not listen at all. Unused for other servers.
	Listen string
	// Replicas is on how many nodes of a cluster kept streams are, 1 when 0.
	Replicas int
	// Name tells connections apart in the server's monitoring. Optional.
	Name string
	// Key is a secret that all processes on the bus share; messages that were not signed with it are dropped. Required, except for an embedded
	// server that does not listen: no other process can reach it.
	Key []byte
	// Log receives connects, disconnects and the embedded server's warnings. Nil means no logging.
	Log *slog.Logger
}

// Bus is a connection. It is safe for concurrent use.
type Bus struct {
	log    *slog.Logger
	server *Server // nil unless embedded
	local  *local  // nil unless nobody outside this process can be on the bus
	signer *signer // nil where local is not
	nc     *nats.Conn
	js     jetstream.JetStream
	file   bool // kept streams are on disk
	// replicas is on how many nodes they are.
	replicas int

	mu       sync.Mutex
	subs     map[*Subscription]struct{}
	closing  bool // there are no more subscriptions
	streams  []KeptConfig
	onReconn []func()
	closed   chan struct{} // the connection is done for good
}

// Open starts the embedded server if asked to, and connects. A server elsewhere that cannot be reached is no error: the bus connects as
// soon as it is there, and until then calls fail with ErrUnavailable. Close ends it.
func Open(ctx context.Context, cfg Config) (*Bus, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	b := &Bus{log: cfg.Log, subs: map[*Subscription]struct{}{}, file: true, replicas: max(cfg.Replicas, 1), closed: make(chan struct{})}
	url, opts := cfg.URL, b.options(cfg.Name)
	switch {
	case cfg.URL == "":
		return nil, errors.New("open bus: no URL given: want embedded: or nats://host:port")
	case strings.HasPrefix(cfg.URL, Embedded):
		server, err := StartServer(ctx, ServerConfig{Dir: cfg.Dir, Listen: cfg.Listen, Log: cfg.Log})
		if err != nil {
			return nil, fmt.Errorf("open bus: %w", err)
		}
		b.server, b.file, url = server, cfg.Dir != "", ""
		if cfg.Listen == "" {
			b.local = newLocal()
		}
		opts = append(opts, nats.InProcessServer(server.ns))
	}
	var err error
	if b.local == nil {
		if b.signer, err = newSigner(cfg.Key, cfg.Log); err != nil {
			return nil, errors.Join(fmt.Errorf("open bus: %w", err), b.stopServer(ctx))
		}
	}
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open bus: %w", err), b.stopServer(ctx))
	}
	b.nc = nc
	if b.js, err = jetstream.New(nc); err != nil {
		return nil, errors.Join(fmt.Errorf("open bus: %w", err), b.Close(ctx))
	}
	return b, nil
}

// options make the connection patient in reconnecting and impatient in publishing.
func (b *Bus) options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1), // fail at once instead of collecting messages nobody waits for any more
		nats.FlusherTimeout(2 * time.Second), nats.Timeout(2 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own Close
				b.log.Warn("bus disconnected", "error", err)
			}
		}),
		nats.ConnectHandler(func(*nats.Conn) { b.log.Debug("bus connected") }),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.log.Warn("bus error", "error", err)
		}),
	}
}

// Connected tells whether the bus is reachable now.
func (b *Bus) Connected() bool { return b.nc.IsConnected() }

// clusterSpread is how soon the servers of a cluster know of a subscription, generously: less than a millisecond when they are not busy.
const clusterSpread = 100 * time.Millisecond

// Spread is for how long after Flush a subscription may still miss what is published at another server of a cluster; 0 for a single server. A watcher that
// must miss nothing catches up once more after that time.
func (b *Bus) Spread() time.Duration {
	if b.nc.ConnectedClusterName() == "" {
		return 0
	}
	return clusterSpread
}

// OnReconnect has f called after each time the connection came back, from a goroutine of the bus; f must not block for long.
// The first connect is not a reconnect.
func (b *Bus) OnReconnect(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onReconn = append(b.onReconn, f)
}

// reconnected ends all subscriptions, since each may have missed something, and tells whoever wants to know.
func (b *Bus) reconnected() {
	b.log.Info("bus reconnected")
	b.mu.Lock()
	subs := make([]*Subscription, 0, len(b.subs))
	for s := range b.subs {
		subs = append(subs, s)
	}
	hooks := append([]func(){}, b.onReconn...)
	b.mu.Unlock()
	for _, s := range subs {
		s.end(ErrGap)
	}
	for _, f := range hooks {
		f()
	}
}

// Publish sends data to whoever listens now, and to the kept stream of the subject if there is one. It does not wait for anybody: nil means
// that the message is on its way, not that it arrived. While the bus is away it is ErrUnavailable, at once. The data must not be changed
// afterwards.
func (b *Bus) Publish(subject string, data []byte) error {
	if b.local != nil && !b.nc.IsClosed() {
		b.local.publish(Msg{Subject: subject, Data: data})
		if !b.local.kept.HasInterest(subject) {
			return nil
		}
	}
	if err := b.send(subject, data); err != nil {
		return fmt.Errorf("publish %s: %w", subject, classify(err))
	}
	return nil
}

// send gives a message to the server.
func (b *Bus) send(subject string, data []byte) error {
	if b.signer == nil {
		return b.nc.Publish(subject, data)
	}
	return b.nc.PublishMsg(b.signer.sign(subject, data))
}

// genuine reports whether a message of the server comes from a process with our key.
func (b *Bus) genuine(subject string, m *nats.Msg) bool {
	return b.signer == nil || b.signer.genuine(subject, m)
}

// Flush waits until the server has received everything published before, for 5 s at most, or until ctx ends. Where the bus is within this
// process there is nothing to wait for.
func (b *Bus) Flush(ctx context.Context) error {
	if b.local != nil && !b.nc.IsClosed() {
		return nil
	}
	return b.flush(ctx)
}

// flush waits for the server, also where it only keeps what subscribers have already.
func (b *Bus) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := b.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush bus: %w", classify(err))
	}
	return nil
}

// Addr returns the address at which the embedded server listens; empty if there is none or it does not listen.
func (b *Bus) Addr() string {
	if b.server == nil {
		return ""
	}
	return b.server.Addr()
}

// Close sends what is still on its way, ends all subscriptions with ErrClosed, disconnects, and stops the embedded server. It gives up
// when ctx ends. It is safe to call more than once.
func (b *Bus) Close(ctx context.Context) error {
	if !b.nc.IsClosed() && b.nc.IsConnected() {
		_ = b.flush(ctx) // what cannot be delivered now is lost, as messages may be
	}
	b.mu.Lock()
	subs := b.subs
	b.subs, b.closing = map[*Subscription]struct{}{}, true
	b.mu.Unlock()
	for s := range subs {
		s.end(ErrClosed)
	}
	if b.local != nil {
		b.local.close()
	}
	b.nc.Close()
	select {
	case <-b.closed:
	case <-ctx.Done():
	}
	return b.stopServer(ctx)
}

func (b *Bus) stopServer(ctx context.Context) error {
	if b.server == nil {
		return nil
	}
	return b.server.Close(ctx)
}

// classify adds our sentinel to the client library's errors.
func classify(err error) error {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("%w: %w", ErrClosed, err)
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrNoServers),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrStaleConnection),
		errors.Is(err, nats.ErrHeadersNotSupported): // before the first connect: what the server supports is not known
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
