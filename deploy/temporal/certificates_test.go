package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const testName = "temporal.test"

// authority signs certificates for tests.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return authority{key, cert}
}

// issue returns a certificate with its key as PEM.
func (a authority) issue(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{testName}, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

// write writes a certificate of the authority and the authority itself, for the flags.
func (a authority) write(t *testing.T, dir string) []string {
	t.Helper()
	own, ca := filepath.Join(dir, "own.pem"), filepath.Join(dir, "ca.pem")
	for name, text := range map[string][]byte{own: a.issue(t), ca: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--tls-cert", own, "--tls-key", own, "--tls-ca", ca, "--tls-server-name", testName}
}

// client is the configuration of a client that trusts the authority; shows is its certificate, which may be nil.
func (a authority) client(t *testing.T, shows []byte) *tls.Config {
	t.Helper()
	c := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: x509.NewCertPool(), ServerName: testName}
	c.RootCAs.AddCert(a.cert)
	if shows != nil {
		pair, err := tls.X509KeyPair(shows, shows)
		if err != nil {
			t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// list asks the frontend for workflows.
func list(t *testing.T, address string, as credentials.TransportCredentials) codes.Code {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(as))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = workflowservice.NewWorkflowServiceClient(conn).ListWorkflowExecutions(ctx,
		&workflowservice.ListWorkflowExecutionsRequest{Namespace: defaultNamespace})
	return status.Code(err)
}

// read gets a page of the UI, 0 if there is no answer.
func read(t *testing.T, url string, as *tls.Config) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: as}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/namespaces/default/workflows", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

func TestOnlyClientsWithACertificateAreServed(t *testing.T) {
	t.Parallel()
	dir, ours, theirs := t.TempDir(), newAuthority(t), newAuthority(t)
	c := start(t, append(ours.write(t, dir), "--db-filename", dbFile(t))...)
	for _, row := range []struct {
		name string
		as   *tls.Config
		want codes.Code
		page int
	}{
		{"a client with a certificate", ours.client(t, ours.issue(t)), codes.OK, http.StatusOK},
		{"a client without one", ours.client(t, nil), codes.Unavailable, 0},
		{"a client with one of another authority", ours.client(t, theirs.issue(t)), codes.Unavailable, 0},
		{"a client that expects another authority", theirs.client(t, ours.issue(t)), codes.Unavailable, 0},
	} {
		if got := list(t, c.ready.Address, credentials.NewTLS(row.as)); got != row.want {
			t.Errorf("%s lists workflows: %s, want %s", row.name, got, row.want)
		}
		if got := read(t, c.ready.UI, row.as); got != row.page {
			t.Errorf("%s reads the UI: %d, want %d", row.name, got, row.page)
		}
	}
	if got := list(t, c.ready.Address, insecure.NewCredentials()); got != codes.Unavailable {
		t.Errorf("in clear text: %s", got)
	}
	if text := c.stderr.String(); text != "" {
		t.Errorf("strangers fill the log:\n%s", text)
	}

	theirs.write(t, dir) // the operator changes authority and certificate
	if got := list(t, c.ready.Address, credentials.NewTLS(theirs.client(t, theirs.issue(t)))); got != codes.OK {
		t.Errorf("after the files have changed: %s", got)
	}
	if got := list(t, c.ready.Address, credentials.NewTLS(ours.client(t, ours.issue(t)))); got != codes.Unavailable {
		t.Errorf("with the authority of before: %s", got)
	}
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := newAuthority(t).write(t, dir)
	wantAll(t, fails(t, "--headless", "--tls-cert", filepath.Join(dir, "none.pem"), "--tls-key", "x", "--tls-ca", flags[5]), "none.pem")
	wantAll(t, fails(t, "--headless", "--tls-cert", flags[5], "--tls-key", flags[5], "--tls-ca", flags[5]), flags[5])
	for _, args := range [][]string{{"--tls-cert", "x"}, {"--tls-server-name", "x"}, {"--tls-ca", "x", "--tls-key", "x"}} {
		if _, err := parseOptions(args, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
