// Package bus is a lossy publish-subscribe bus over NATS, embedded or external. It is never the source of truth: messages may be lost, so
// every reader must be able to catch up from a database. In return, publishing never blocks.
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

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// ackTimeout is how long the server may take to confirm a value of a bucket.
const ackTimeout = 5 * time.Second

// Embedded is the URL of a server inside this process.
const Embedded = "embedded:"

var (
	// ErrUnavailable means that the bus is unreachable or does not answer. The message may or may not have been sent.
	ErrUnavailable = errors.New("bus is not available")
	// ErrNotKept means that no kept stream holds the subject.
	ErrNotKept = errors.New("no kept stream for this subject")
	// ErrClosed means that the bus or the subscription was closed by its owner.
	ErrClosed = errors.New("closed")
)

// Config describes the bus to use.
type Config struct {
	// URL is Embedded, or "nats://host:port" (several separated by commas). Required.
	URL string
	// Dir is where the embedded server stores its streams; empty means in memory. Ignored for external servers.
	Dir string
	// Listen is the address at which the embedded server accepts other processes ("127.0.0.1:0" picks a port); empty means that it does not
	// listen. Ignored for external servers.
	Listen string
	// Replicas is the number of cluster nodes that store each kept stream; 0 means 1.
	Replicas int
	// Name identifies the connection in the server's monitoring. Optional.
	Name string
	// Key is a secret that all processes on the bus share. Messages that are not signed with it are dropped. Required, except for an embedded
	// server that does not listen, which no other process can reach.
	Key []byte
	// Credentials say how an external server knows us: MeshCredentials, NoCredentials, or the path of a .creds file. Empty means
	// MeshCredentials, which a Server expects.
	Credentials string
	// TLS protects connections to an external server. Nil means certificates derived from Key with MeshCredentials, else what the URL says.
	TLS meshtls.Source
	// Log receives connects, disconnects and the embedded server's warnings. Nil means no logging.
	Log *slog.Logger
}

// Bus is a connection to the bus. It is safe for concurrent use.
type Bus struct {
	log    *slog.Logger
	server *Server // nil unless embedded
	local  *local  // nil unless the bus is confined to this process
	signer *signer // nil if local is set
	nc     *nats.Conn
	js     jetstream.JetStream
	file   bool // kept streams are on disk
	// replicas is the number of nodes that store a kept stream.
	replicas int

	mu      sync.Mutex
	subs    map[*Subscription]struct{}
	closing bool // no new subscriptions
	streams []KeptConfig
	keys    map[string]*keys // by bucket; none unless local is set
	closed  chan struct{}    // the connection is closed for good
}

// Open starts the embedded server if the URL asks for one, and connects. An external server that is unreachable is not an error: the bus
// connects when the server comes up, and until then calls fail with ErrUnavailable. The caller must call Close.
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
		server, err := StartServer(ctx, ServerConfig{Dir: cfg.Dir, Listen: cfg.Listen, Key: cfg.Key, Log: cfg.Log})
		if err != nil {
			return nil, fmt.Errorf("open bus: %w", err)
		}
		b.server, b.file, url = server, cfg.Dir != "", ""
		if cfg.Listen == "" {
			b.local = newLocal()
		} else {
			identity, err := identity(cfg.Key)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("open bus: %w", err), server.Close(ctx))
			}
			opts = append(opts, identity)
		}
		opts = append(opts, nats.InProcessServer(server.ns))
	default:
		access, err := cfg.access()
		if err != nil {
			return nil, fmt.Errorf("open bus: %w", err)
		}
		opts = append(opts, access...)
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
	if b.js, err = jetstream.New(nc, jetstream.WithPublishAsyncTimeout(ackTimeout)); err != nil {
		return nil, errors.Join(fmt.Errorf("open bus: %w", err), b.Close(ctx))
	}
	return b, nil
}

// options reconnect forever, but fail publishing at once while disconnected.
func (b *Bus) options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 200*time.Millisecond),
		nats.ReconnectBufSize(-1),        // fail at once instead of buffering messages that no subscriber waits for any more
		nats.SyncQueueLen(keptBatch + 1), // the client makes a queue of this length for each response
		nats.FlusherTimeout(2 * time.Second), nats.Timeout(2 * time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil { // nil is our own Close
				b.log.Warn("bus disconnected", "error", err)
			}
		}),
		nats.ReconnectErrHandler(refusals(b.log)),
		nats.ConnectHandler(func(*nats.Conn) { b.log.Debug("bus connected") }),
		nats.ReconnectHandler(func(*nats.Conn) { b.reconnected() }),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.log.Warn("bus error", "error", err)
		}),
	}
}

// Connected reports whether the bus is reachable now.
func (b *Bus) Connected() bool { return b.nc.IsConnected() }

// Connection returns the number of the present connection to the server, which rises with each reconnect; false while disconnected. A
// subscriber that finds another number than before its subscription may have missed messages, even if it was not notified yet.
func (b *Bus) Connection() (uint64, bool) { return b.nc.Stats().Reconnects, b.nc.IsConnected() }

// clusterSpread is a generous bound on how long a subscription takes to reach all servers of a cluster; it is below a millisecond on idle
// ones.
const clusterSpread = 100 * time.Millisecond

// Spread returns how long after Flush a subscription may still miss messages published at another server of the cluster; 0 for a single
// server. A watcher that must miss nothing catches up once more after that time.
func (b *Bus) Spread() time.Duration {
	if b.nc.ConnectedClusterName() == "" {
		return 0
	}
	return clusterSpread
}

// reconnected ends all subscriptions, since each may have missed messages.
func (b *Bus) reconnected() {
	b.log.Info("bus reconnected")
	b.mu.Lock()
	subs := make([]*Subscription, 0, len(b.subs))
	for s := range b.subs {
		subs = append(subs, s)
	}
	b.mu.Unlock()
	for _, s := range subs {
		s.end(ErrGap)
	}
}

// Publish sends data to the current subscribers, and to the subject's kept stream if there is one. It does not wait: nil means that the
// message was sent, not that it arrived. While the bus is unreachable it returns ErrUnavailable at once. The data must not be modified
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

// send passes a message to the server.
func (b *Bus) send(subject string, data []byte) error {
	if b.signer == nil {
		return b.nc.Publish(subject, data)
	}
	return b.nc.PublishMsg(b.signer.sign(subject, data))
}

// genuine reports whether a message from the server was sent by a process with our key.
func (b *Bus) genuine(subject string, m *nats.Msg) bool {
	return b.signer == nil || b.signer.genuine(subject, m)
}

// Flush waits until the server has received everything published before, for at most 5 s or until ctx ends. It returns at once if the bus
// is confined to this process.
func (b *Bus) Flush(ctx context.Context) error {
	if b.local != nil && !b.nc.IsClosed() {
		return nil
	}
	return b.flush(ctx)
}

// flush waits for the server, even if the server only stores what local subscribers already have.
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

// Close flushes pending messages, ends all subscriptions with ErrClosed, disconnects, and stops the embedded server. It gives up when ctx
// ends. It is safe to call more than once.
func (b *Bus) Close(ctx context.Context) error {
	if !b.nc.IsClosed() && b.nc.IsConnected() {
		_ = b.flush(ctx) // best effort: messages may be lost
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

// classify wraps the client library's errors with our sentinels.
func classify(err error) error {
	switch {
	case errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("%w: %w", ErrClosed, err)
	case errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionReconnecting), errors.Is(err, nats.ErrDisconnected),
		errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrNoServers),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrStaleConnection),
		errors.Is(err, jetstream.ErrAsyncPublishTimeout),
		errors.Is(err, nats.ErrHeadersNotSupported): // before the first connect the server's features are unknown
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
