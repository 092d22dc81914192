// Package temporal connects to Temporal the way all of Windlass does: one trace from the request through workflow and activities,
// our log, encrypted payloads.
package temporal

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// Config says which Temporal.
type Config struct {
	// Address is "host:port" of the frontend. Required.
	Address string
	// Namespace to work in; default "default".
	Namespace string
	// Identity names this process in the Temporal UI. Optional.
	Identity string
	// TLS is for servers that want it; nil means plain text.
	TLS *tls.Config
	// APIKey returns the key for servers that take one, for each call; nil means none. It needs TLS.
	APIKey func(context.Context) (string, error)
	// Codec encrypts payloads; nil means payloads in clear.
	Codec *Codec
	// Log takes the SDK's messages. Required.
	Log *slog.Logger
	// Tracer makes the spans of workflows and activities; nil means that no spans are made.
	Tracer trace.Tracer
	// Metrics takes the SDK's metrics; nil means none.
	Metrics client.MetricsHandler
}

// silence is how long Temporal may not answer before the log says why, and how often it does.
const silence = 5 * time.Second

// Dial connects and waits until Temporal answers, or until ctx ends. The caller closes the client.
func Dial(ctx context.Context, cfg Config) (client.Client, error) {
	c, err := Lazy(cfg)
	if err != nil {
		return nil, err
	}
	said := time.Now()
	for pauses := (backoff.Policy{First: 25 * time.Millisecond, Max: time.Second}).Start(); ; {
		if err = healthy(ctx, c); err == nil {
			return c, nil
		}
		if time.Since(said) > silence && ctx.Err() == nil {
			cfg.Log.WarnContext(ctx, "temporal does not answer; trying again", "address", cfg.Address, "error", err)
			said = time.Now()
		}
		if pauses.Wait(ctx) != nil {
			c.Close()
			return nil, fmt.Errorf("wait for temporal at %s: %w (%w)", cfg.Address, err, context.Cause(ctx))
		}
	}
}

// Lazy returns a client that connects with its first call.
func Lazy(cfg Config) (client.Client, error) {
	opts, err := options(cfg)
	if err != nil {
		return nil, err
	}
	c, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, fmt.Errorf("connect to temporal at %s: %w", cfg.Address, err)
	}
	return c, nil
}

// healthy bounds a single question, so that a server which accepts and stays silent is asked again.
func healthy(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

func options(cfg Config) (client.Options, error) {
	switch {
	case cfg.Address == "":
		return client.Options{}, errors.New("temporal: Address is required")
	case cfg.Log == nil:
		return client.Options{}, errors.New("temporal: Log is required")
	case cfg.APIKey != nil && cfg.TLS == nil:
		return client.Options{}, errors.New("temporal: an API key is sent over TLS only")
	}
	opts := client.Options{
		HostPort: cfg.Address, Namespace: cfg.Namespace, Identity: cfg.Identity,
		Logger: sdklog.NewStructuredLogger(cfg.Log.With("component", "temporal")), MetricsHandler: cfg.Metrics,
		ConnectionOptions: connection(cfg), DataConverter: cfg.Codec.DataConverter(),
	}
	if cfg.Codec != nil {
		opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: opts.DataConverter, EncodeCommonAttributes: true, // messages and stack traces
		})
	}
	if cfg.APIKey != nil {
		opts.Credentials = client.NewAPIKeyDynamicCredentials(cfg.APIKey)
	}
	if cfg.Tracer != nil {
		var err error
		if opts.Interceptors, err = tracing(cfg.Tracer); err != nil {
			return client.Options{}, fmt.Errorf("temporal: trace workflows: %w", err)
		}
	}
	return opts, nil
}

// connection leaves out the SDK's compression where the server is near: on this machine, or where plain text is enough. There it costs more
// time than it saves.
func connection(cfg Config) client.ConnectionOptions {
	opts := client.ConnectionOptions{TLS: cfg.TLS}
	if cfg.TLS == nil || onThisMachine(cfg.Address) {
		opts.GrpcCompression = &client.GrpcCompressionNone{}
	}
	return opts
}

func onThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
