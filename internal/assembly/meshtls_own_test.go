package assembly

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/secret"
)

// ownAuthority writes a certificate of an authority of the operator's for a role, and returns the configuration that names the files.
func ownAuthority(t *testing.T, key, role string) MeshConfig {
	t.Helper()
	dir := t.TempDir()
	ca, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Operator"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), URIs: []*url.URL{meshtls.Identity(role)}, DNSNames: []string{"mesh.example"},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	write := func(name, kind string, raw []byte, err error) string {
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := MeshConfig{Key: secret.New(key), TLS: MeshTLSConfig{Mode: TLSRequired, ServerName: "mesh.example"}}
	raw, err := x509.CreateCertificate(rand.Reader, root, root, ca.Public(), ca)
	c.TLS.CA = write("ca.crt", "CERTIFICATE", raw, err)
	raw, err = x509.CreateCertificate(rand.Reader, leaf, root, ca.Public(), ca)
	c.TLS.Cert = write("tls.crt", "CERTIFICATE", raw, err)
	raw, err = x509.MarshalPKCS8PrivateKey(ca)
	c.TLS.Key = write("tls.key", "PRIVATE KEY", raw, err)
	return c
}

// With certificates of the operator, one that follows from mesh.key is worth nothing, and a process has only the roles of its file.
func TestS19OwnCertificatesReplaceDerivedOnes(t *testing.T) {
	const key = "the key of the mesh under test, long enough"
	own := ownAuthority(t, key, "worker")
	source, err := own.certificates([]string{Gateway, Policy})
	if err != nil {
		t.Fatal(err)
	}
	derived, err := MeshConfig{Key: own.Key, TLS: MeshTLSConfig{Mode: TLSRequired}}.certificates([]string{Gateway})
	if err != nil {
		t.Fatal(err)
	}
	state := func(s meshtls.Source) tls.ConnectionState {
		cert, err := s.Certificate()
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(cert.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	}
	if roles, err := meshtls.VerifyClient(source, state(source)); err != nil || len(roles) != 1 || roles[0] != Worker {
		t.Errorf("roles %v, %v", roles, err)
	}
	if roles, err := meshtls.VerifyClient(source, state(derived)); err == nil {
		t.Errorf("who has mesh.key is %v", roles)
	}
	if roles, err := meshtls.VerifyClient(derived, state(source)); err == nil {
		t.Errorf("the operator's certificate is %v at a process without it", roles)
	}
	for _, drop := range []func(*MeshTLSConfig){
		func(c *MeshTLSConfig) { c.Cert = "" },
		func(c *MeshTLSConfig) { c.Key = "" },
		func(c *MeshTLSConfig) { c.CA = "" },
	} {
		half := own
		drop(&half.TLS)
		if _, err := half.certificates(nil); err == nil || !strings.Contains(err.Error(), "set all of them") {
			t.Errorf("with a part of the files: %v", err)
		}
	}
	lost := own
	lost.TLS = MeshTLSConfig{Mode: TLSRequired, ServerName: "mesh.example"}
	if _, err := lost.certificates(nil); err == nil || !strings.Contains(err.Error(), "mesh.tls.server_name") {
		t.Errorf("with a name and no files: %v", err)
	}
}
