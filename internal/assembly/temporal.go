package assembly

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"

	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

// TemporalTLSConfig secures the connection to Temporal.
type TemporalTLSConfig struct {
	Enabled    bool   `yaml:"enabled" doc:"Connect to Temporal with TLS. The other settings of temporal.tls and an API key imply it."`
	CA         string `yaml:"ca" doc:"PEM file with the authorities whose certificates are accepted from Temporal. Empty: those of the operating system. windlass up makes its own files, in the folder temporal of the data directory."`
	Cert       string `yaml:"cert" doc:"PEM file with the certificate that Temporal requires from clients (mutual TLS). Empty: none. The files are read again when they change."`
	Key        string `yaml:"key" doc:"PEM file with the certificate's private key."`
	ServerName string `yaml:"server_name" doc:"Name that Temporal's certificate must have. Empty: the host in temporal.address; a changed temporal.tls.ca then needs a restart."`
}

// TemporalUIConfig has the gateway serve the UI of Temporal, which has no login of its own.
type TemporalUIConfig struct {
	Addr   string `yaml:"addr" doc:"Address at which the gateway serves the Temporal UI to callers with the permission temporal.ui.use; temporal.ui is its URL for browsers. Empty: it does not. windlass up takes --temporal-ui-addr."`
	Target string `yaml:"target" doc:"URL of the UI that is served at temporal.ui_proxy.addr, such as https://127.0.0.1:8234. With https it is called with the certificate in temporal.tls, as windlass-temporal requires it."`
}

// check reports settings that go together.
func (c TemporalUIConfig) check() error {
	if (c.Addr == "") != (c.Target == "") {
		return errors.New("temporal.ui_proxy.addr and temporal.ui_proxy.target go together: set both or neither")
	}
	return nil
}

// source returns the certificates, nil for a connection in clear text.
func (c TemporalConfig) source() (meshtls.Source, error) {
	if c.TLS == (TemporalTLSConfig{}) && c.APIKey.IsZero() && c.APIKeyFile == "" {
		return nil, nil
	}
	files, err := meshtls.ClientFiles(c.TLS.Cert, c.TLS.Key, c.TLS.CA, c.TLS.ServerName)
	if err != nil {
		return nil, fmt.Errorf("temporal.tls: %w", err)
	}
	return files, nil
}

// clientTLS returns how to connect with TLS, nil for clear text.
func (c TemporalConfig) clientTLS() (*tls.Config, error) {
	source, err := c.source()
	if err != nil || source == nil {
		return nil, err
	}
	secure, err := meshtls.Client(source)
	if err != nil {
		return nil, fmt.Errorf("temporal.tls: %w", err)
	}
	secure.MinVersion = tls.VersionTLS12 // what is between us and the server may not be ours
	return secure, nil
}

// apiKey returns what supplies the API key, nil if there is none.
func (c TemporalConfig) apiKey() (func(context.Context) (string, error), error) {
	switch {
	case !c.APIKey.IsZero() && c.APIKeyFile != "":
		return nil, errors.New("temporal: set api_key or api_key_file, not both")
	case !c.APIKey.IsZero():
		return func(context.Context) (string, error) { return c.APIKey.Reveal(), nil }, nil
	case c.APIKeyFile == "":
		return nil, nil
	}
	read := func(context.Context) (string, error) {
		v, err := secret.ReadFile(c.APIKeyFile)
		if err == nil && v.IsZero() {
			err = fmt.Errorf("%s is empty", c.APIKeyFile)
		}
		if err != nil {
			return "", fmt.Errorf("temporal.api_key_file: %w", err)
		}
		return v.Reveal(), nil
	}
	_, err := read(context.Background())
	return read, err
}

// Client returns how to connect to the configured Temporal.
func (c TemporalConfig) Client(log *slog.Logger) (temporal.Config, error) {
	out := temporal.Config{Address: c.Address, Namespace: c.Namespace, Log: log}
	var errs [2]error
	out.TLS, errs[0] = c.clientTLS()
	out.APIKey, errs[1] = c.apiKey()
	return out, errors.Join(errs[:]...)
}
