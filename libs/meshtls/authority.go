package meshtls

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

// skew is how far the clocks of two processes may be apart.
const skew = time.Hour

// Authority is a certificate authority whose key is derived from a secret: all holders of the secret have the same one.
type Authority struct {
	cert   *x509.Certificate
	signer ed25519.PrivateKey
}

// NewAuthority returns the authority of a secret for a purpose. Authorities of different purposes do not accept each other's certificates.
func NewAuthority(secret []byte, purpose, name string) (*Authority, error) {
	if len(secret) < 16 {
		return nil, fmt.Errorf("the secret has %d bytes; at least 16 are needed", len(secret))
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, purpose, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the authority: %w", err)
	}
	a := &Authority{signer: ed25519.NewKeyFromSeed(seed)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, a.signer.Public(), a.signer)
	if err == nil {
		a.cert, err = x509.ParseCertificate(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	return a, nil
}

// Pool returns the authority as a pool.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// PEM returns the authority's certificate for a file.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Issue signs a certificate for a new key, valid from an hour before now. The template has the names and uses.
func (a *Authority) Issue(template x509.Certificate, now time.Time, validity time.Duration) (*tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.NotBefore, template.NotAfter = now.Add(-skew), now.Add(validity)
	raw, err := x509.CreateCertificate(rand.Reader, &template, a.cert, public, a.signer)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, nil
}

// PEM returns a certificate and its key for one file, which can be replaced in one step.
func PEM(cert *tls.Certificate) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	var b bytes.Buffer
	for _, raw := range cert.Certificate {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	}
	b.Write(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return b.Bytes(), nil
}
