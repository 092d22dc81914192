package meshtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// recheck is how often files are looked at, at most.
const recheck = time.Second

// Files is a source that reads PEM files, again when they have changed. While a change cannot be read, for example because certificate and
// key are replaced one after the other, it keeps what it had.
type Files struct {
	cert, key, ca, name string
	// system accepts the operating system's authorities: no pool.
	system bool

	mu      sync.Mutex
	checked time.Time
	seen    [3]stamp
	pair    *tls.Certificate
	pool    *x509.CertPool
}

type stamp struct {
	changed time.Time
	size    int64
}

// KeyPair is FromFiles for a server whose clients need no certificate.
func KeyPair(cert, key string) (*Files, error) {
	if cert == "" || key == "" {
		return nil, errors.New("cert and key go together: set both")
	}
	f := &Files{cert: cert, key: key}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// FromFiles reads the files once, so that a wrong one is an error at the start. serverName may be empty, see Source.
func FromFiles(cert, key, ca, serverName string) (*Files, error) {
	if cert == "" || key == "" || ca == "" {
		return nil, errors.New("cert, key and ca go together: set all of them")
	}
	f := &Files{cert: cert, key: key, ca: ca, name: serverName}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// ClientFiles is FromFiles for a client of servers that are not of the mesh: without a certificate it shows none, and without authorities
// it accepts those of the operating system.
func ClientFiles(cert, key, ca, serverName string) (*Files, error) {
	if (cert == "") != (key == "") {
		return nil, errors.New("cert and key go together: set both or neither")
	}
	f := &Files{cert: cert, key: key, ca: ca, name: serverName, system: ca == ""}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// Certificate implements Source. It is empty for a client without one.
func (f *Files) Certificate() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.pair, nil
}

// Authorities implements Source.
func (f *Files) Authorities() (*x509.CertPool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f.pool, nil
}

// ServerName implements Source.
func (f *Files) ServerName() string { return f.name }

// refresh reads the files again if one has changed.
func (f *Files) refresh() {
	if time.Since(f.checked) < recheck {
		return
	}
	f.checked = time.Now()
	if now, err := f.stamps(); err != nil || now == f.seen {
		return
	}
	_ = f.read() // it keeps what it had, and tries again
}

func (f *Files) stamps() (out [3]stamp, err error) {
	for i, name := range []string{f.cert, f.key, f.ca} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return out, fmt.Errorf("read certificates: %w", err)
		}
		out[i] = stamp{info.ModTime(), info.Size()}
	}
	return out, nil
}

func (f *Files) read() error {
	seen, err := f.stamps() // before reading: a change in between is seen the next time
	if err != nil {
		return err
	}
	var pair tls.Certificate
	if f.cert != "" {
		if pair, err = tls.LoadX509KeyPair(f.cert, f.key); err != nil {
			return fmt.Errorf("read certificate %s and key %s: %w", f.cert, f.key, err)
		}
	}
	pool, err := f.authorities()
	if err != nil {
		return err
	}
	f.pair, f.pool, f.seen = &pair, pool, seen
	return nil
}

func (f *Files) authorities() (*x509.CertPool, error) {
	if f.system {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if f.ca == "" {
		return pool, nil
	}
	raw, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, fmt.Errorf("read authorities: %w", err)
	}
	if !pool.AppendCertsFromPEM(raw) {
		return nil, fmt.Errorf("%s holds no certificate", f.ca)
	}
	return pool, nil
}
