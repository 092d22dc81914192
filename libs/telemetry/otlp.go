package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/credentials"

	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/secret"
)

// OTLPConfig says what else is sent to telemetry.otlp_endpoint, and how. Nothing waits for the collector: while it is away, a few thousand
// spans and log lines are kept and the others are dropped.
type OTLPConfig struct {
	Metrics  bool          `yaml:"metrics" doc:"Whether metrics are sent to telemetry.otlp_endpoint too; /metrics has them in any case."`
	Logs     bool          `yaml:"logs" doc:"Whether log lines are sent to telemetry.otlp_endpoint too; standard error has them in any case."`
	Interval time.Duration `yaml:"interval" default:"30s" doc:"Time between two exports of metrics."`
	Headers  secret.Value  `yaml:"headers" doc:"Headers of each export, such as keys of the collector: NAME=VALUE,NAME=VALUE."`
	Resource string        `yaml:"resource" doc:"Attributes of all telemetry of the process: NAME=VALUE,NAME=VALUE, such as deployment.environment.name=production. OTEL_RESOURCE_ATTRIBUTES adds others. service.instance.id is random unless one of them sets it."`
	CA       string        `yaml:"ca" doc:"PEM file with the authorities that the collector's certificate is checked against. Empty: those of the system."`
	Cert     string        `yaml:"cert" doc:"PEM file with a certificate for the collector, for mutual TLS."`
	Key      string        `yaml:"key" doc:"PEM file with the certificate's private key."`
}

// pairs reads NAME=VALUE,NAME=VALUE. Values may be escaped as in URLs.
func pairs(key, text string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%s: want NAME=VALUE,NAME=VALUE, with values escaped as in URLs", key) // values may be secrets
		}
		out[name] = plain
	}
	return out, nil
}

// described returns what telemetry says about the process. Its random id keeps the metrics of replicas apart; a configured one
// overrides it.
func described(ctx context.Context, service, version, more string) (*resource.Resource, error) {
	attributes := []attribute.KeyValue{attribute.String("service.name", service), attribute.String("service.version", version)}
	given, err := pairs("telemetry.otlp.resource", more)
	if err != nil {
		return nil, err
	}
	for name, value := range given {
		attributes = append(attributes, attribute.String(name, value))
	}
	env, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	res := resource.NewSchemaless(attribute.String("service.instance.id", uuid.NewString()))
	for _, over := range []*resource.Resource{env, resource.NewSchemaless(attributes...)} {
		if res, err = resource.Merge(res, over); err != nil {
			return nil, fmt.Errorf("describe this process: %w", err)
		}
	}
	return res, nil
}

// target is a collector. Nil means none.
type target struct {
	cfg      OTLPConfig
	endpoint string
	headers  map[string]string
	secure   credentials.TransportCredentials // nil for the URL's own
}

// target returns the configured collector, nil for none.
func (c Config) target() (*target, error) {
	if c.OTLPEndpoint == "" {
		if c.OTLP.Metrics || c.OTLP.Logs {
			return nil, errors.New("telemetry.otlp: metrics and logs need telemetry.otlp_endpoint")
		}
		return nil, nil
	}
	u, err := url.Parse(c.OTLPEndpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("telemetry.otlp_endpoint %q: want http://host:port or https://host:port", c.OTLPEndpoint)
	}
	headers, err := pairs("telemetry.otlp.headers", c.OTLP.Headers.Reveal())
	if err != nil {
		return nil, err
	}
	t := &target{cfg: c.OTLP, endpoint: c.OTLPEndpoint, headers: headers}
	if c.OTLP.CA == "" && c.OTLP.Cert == "" && c.OTLP.Key == "" {
		return t, nil
	}
	if u.Scheme != "https" {
		return nil, errors.New("telemetry.otlp: ca, cert and key need an endpoint with https")
	}
	files, err := meshtls.ClientFiles(c.OTLP.Cert, c.OTLP.Key, c.OTLP.CA, u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("telemetry.otlp: %w", err)
	}
	secure, err := meshtls.Client(files)
	if err != nil {
		return nil, fmt.Errorf("telemetry.otlp: %w", err)
	}
	secure.MinVersion = tls.VersionTLS12
	t.secure = credentials.NewTLS(secure)
	return t, nil
}

func (t *target) traceOptions() []otlptracegrpc.Option {
	opts := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(t.endpoint), otlptracegrpc.WithHeaders(t.headers)}
	if t.secure != nil {
		opts = append(opts, otlptracegrpc.WithTLSCredentials(t.secure))
	}
	return opts
}

// metricReader sends metrics from time to time; nil if they are not sent.
func (t *Telemetry) metricReader(ctx context.Context, to *target) (sdkmetric.Reader, error) {
	if to == nil || !to.cfg.Metrics {
		return nil, nil
	}
	opts := []otlpmetricgrpc.Option{otlpmetricgrpc.WithEndpointURL(to.endpoint), otlpmetricgrpc.WithHeaders(to.headers)}
	if to.secure != nil {
		opts = append(opts, otlpmetricgrpc.WithTLSCredentials(to.secure))
	}
	exp, err := otlpmetricgrpc.New(ctx, opts...)
	if err != nil {
		return nil, fmt.Errorf("telemetry.otlp.metrics: %w", err)
	}
	t.close = append(t.close, exp.Shutdown)
	return sdkmetric.NewPeriodicReader(exp, sdkmetric.WithInterval(to.cfg.Interval), sdkmetric.WithProducer(&process)), nil
}

// logs sends log lines to the collector as well, if they are sent. own writes them.
func (t *Telemetry) logs(ctx context.Context, to *target, own slog.Handler, res *resource.Resource) error {
	if to == nil || !to.cfg.Logs {
		return nil
	}
	opts := []otlploggrpc.Option{otlploggrpc.WithEndpointURL(to.endpoint), otlploggrpc.WithHeaders(to.headers)}
	if to.secure != nil {
		opts = append(opts, otlploggrpc.WithTLSCredentials(to.secure))
	}
	exp, err := otlploggrpc.New(ctx, opts...)
	if err != nil {
		return fmt.Errorf("telemetry.otlp.logs: %w", err)
	}
	lp := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exp)), sdklog.WithResource(res))
	t.stop, t.close = append(t.stop, lp.Shutdown), append(t.close, exp.Shutdown)
	sent := otelslog.NewHandler("github.com/windlass-dev/windlass", otelslog.WithLoggerProvider(lp))
	t.Log = slog.New(traced{both{own, sent}})
	return nil
}

// both writes log lines of the first handler's levels to two handlers.
type both struct{ first, second slog.Handler }

// Enabled implements slog.Handler.
func (b both) Enabled(ctx context.Context, level slog.Level) bool { return b.first.Enabled(ctx, level) }

// Handle implements slog.Handler.
func (b both) Handle(ctx context.Context, r slog.Record) error {
	return errors.Join(b.first.Handle(ctx, r.Clone()), b.second.Handle(ctx, r))
}

// WithAttrs implements slog.Handler.
func (b both) WithAttrs(a []slog.Attr) slog.Handler {
	return both{b.first.WithAttrs(a), b.second.WithAttrs(a)}
}

// WithGroup implements slog.Handler.
func (b both) WithGroup(name string) slog.Handler {
	return both{b.first.WithGroup(name), b.second.WithGroup(name)}
}

// failurePause is the time between two log lines about telemetry that fails: each export fails while the collector is away.
const failurePause = time.Minute

// failures logs that telemetry fails, now and then. It implements otel.ErrorHandler.
type failures struct {
	log *slog.Logger

	mu   sync.Mutex
	next time.Time
	more int
}

// Handle implements otel.ErrorHandler.
func (f *failures) Handle(err error) {
	f.mu.Lock()
	now, more := time.Now(), f.more
	quiet := now.Before(f.next)
	if quiet {
		f.more++
	} else {
		f.next, f.more = now.Add(failurePause), 0
	}
	f.mu.Unlock()
	if !quiet {
		f.log.WarnContext(context.Background(), "telemetry failed", "error", err, "failures_not_logged", more)
	}
}
