package harness

import (
	"crypto/tls"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/internal/devserver"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/secret"
)

// certificates are the files with which the processes of the mesh and its Temporal server know each other.
func (m *Mesh) certificates() devserver.Certificates {
	return devserver.InDir(filepath.Join(m.dir, "temporal"))
}

// issueCertificates writes them.
func (m *Mesh) issueCertificates() {
	m.t.Helper()
	if _, err := devserver.Issue(filepath.Join(m.dir, "temporal"), secret.New(meshKey)); err != nil {
		m.t.Fatal(err)
	}
}

// temporalTLS is the section of the configuration with them.
func (m *Mesh) temporalTLS() JSON {
	files := m.certificates()
	return JSON{"ca": files.CA, "cert": files.Client, "key": files.Client, "server_name": devserver.ServerName}
}

// uiProxy is the section that has a gateway serve the Temporal UI.
func (m *Mesh) uiProxy(n int) JSON {
	return JSON{"addr": m.addr(8234 + n), "target": "https://" + m.addr(8233)}
}

// temporalTLS is what a client of a Temporal server needs.
func temporalTLS(t testing.TB, files devserver.Certificates) *tls.Config {
	t.Helper()
	source, err := meshtls.ClientFiles(files.Client, files.Client, files.CA, devserver.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := meshtls.Client(source)
	if err != nil {
		t.Fatal(err)
	}
	return secure
}
