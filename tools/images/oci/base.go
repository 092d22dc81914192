package oci

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is the number of the user that the programs run as, and of its group: distroless images call it nonroot.
const user = 65532

// home is the working directory of the programs: an empty folder that their user may write to. Mount a volume there for what is to stay.
const home = "/var/lib/windlass"

const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nwindlass:x:65532:65532:windlass:" + home + ":/sbin/nologin\n"
	groups = "root:x:0:\nwindlass:x:65532:\n"
)

// base is what every image has below its programs: no shell, no packages, nothing of another image.
func base() []entry {
	return []entry{
		{path: "/etc/group", mode: 0o644, data: []byte(groups)},
		{path: "/etc/passwd", mode: 0o644, data: []byte(passwd)},
		{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{path: "/tmp", mode: 0o1777, folder: true},
		{path: home, mode: 0o700, owner: user, folder: true},
	}
}

// authorities are the certificates that Mozilla trusts, as of the version in go.mod: a build machine's own would differ from machine to machine.
// Those that are trusted for a time only are left out, since a file cannot say so.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}
