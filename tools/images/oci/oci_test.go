package oci_test

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/windlass-dev/windlass/tools/images/oci"
)

// at is the time of the commit.
var at = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// built is a release whose programs are as `make dist` leaves them.
func built(t *testing.T) *oci.Release {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"windlassd/{p}/windlassd", "windlass/{p}/examples/calculator", "windlass/{p}/examples/notes"} {
		for _, platform := range []string{"linux_amd64", "linux_arm64"} {
			file := filepath.Join(dir, strings.ReplaceAll(name, "{p}", platform))
			bill := filepath.Join(filepath.Dir(file), "sbom-"+filepath.Base(file)+".cdx.json")
			if err := errors.Join(
				os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(name+" for "+platform), 0o755),
				os.WriteFile(bill, []byte(`{"bomFormat":"CycloneDX","of":"`+filepath.Base(file)+" for "+platform+`"}`), 0o644),
			); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &oci.Release{
		Version: "v1.2.3", Commit: "4be1d1cd", Source: "https://example.com/windlass", Time: at, Programs: dir,
		Platforms: []string{"linux/amd64", "linux/arm64"},
	}
}

func daemon() oci.Image {
	return oci.Image{
		Name: "windlassd", Description: "Runs roles", Entrypoint: "windlassd", Programs: []string{"windlassd/{platform}/windlassd"},
	}
}

func examples() oci.Image {
	return oci.Image{
		Name: "windlass-examples", Description: "Tools", Command: []string{"calculator", "--http", ":8080"},
		Programs: []string{"windlass/{platform}/examples/calculator", "windlass/{platform}/examples/notes"},
	}
}

func indexOf(t *testing.T, r *oci.Release, i oci.Image) (v1.ImageIndex, *v1.IndexManifest) {
	t.Helper()
	index, err := r.Index(i)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return index, manifest
}

// TestAnImageOfEachPlatform: user, labels, files and bill of materials of an image are those of its platform.
func TestAnImageOfEachPlatform(t *testing.T) {
	t.Parallel()
	index, manifest := indexOf(t, built(t), daemon())
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if len(manifest.Manifests) != 4 || manifest.Annotations["org.opencontainers.image.version"] != "v1.2.3" {
		t.Fatalf("the index is %+v", manifest)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		of, bill := manifest.Manifests[2*i], manifest.Manifests[2*i+1]
		if of.Platform.String() != "linux/"+arch {
			t.Errorf("image %d is for %s", i, of.Platform)
		}
		image, err := index.Image(of.Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c.Config.User != "65532:65532" || !slices.Equal(c.Config.Entrypoint, []string{"/usr/local/bin/windlassd"}) ||
			c.Config.WorkingDir != "/var/lib/windlass" || !c.Created.Equal(at) || c.Architecture != arch {
			t.Errorf("the configuration is %+v", c)
		}
		for label, want := range map[string]string{
			"source": "https://example.com/windlass", "revision": "4be1d1cd", "version": "v1.2.3", "created": "2026-11-28T12:00:00Z",
			"licenses": "Apache-2.0", "title": "windlassd", "description": "Runs roles",
		} {
			if got := c.Config.Labels["org.opencontainers.image."+label]; got != want {
				t.Errorf("label %s is %q, want %q", label, got, want)
			}
		}
		files := content(t, image)
		if got := string(files["usr/local/bin/windlassd"].data); got != "windlassd/{p}/windlassd for linux_"+arch {
			t.Errorf("the program is %q", got)
		}
		checkBill(t, index, bill, of.Digest, arch)
		if i == 0 {
			checkFiles(t, files)
		}
	}
}

type file struct {
	tar.Header
	data []byte
}

// content returns the files of an image by their names.
func content(t *testing.T, image v1.Image) map[string]file {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]file{}
	for _, l := range layers {
		z, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if !h.ModTime.Equal(at) {
				t.Errorf("%s has time %v", h.Name, h.ModTime)
			}
			out[h.Name] = file{*h, data}
		}
	}
	return out
}

func checkFiles(t *testing.T, files map[string]file) {
	t.Helper()
	for name, want := range map[string]struct {
		mode  int64
		owner int
	}{
		"etc/": {0o755, 0}, "etc/passwd": {0o644, 0}, "etc/group": {0o644, 0}, "tmp/": {0o1777, 0}, "var/lib/windlass/": {0o700, 65532},
		"usr/local/bin/windlassd": {0o755, 0}, "etc/ssl/certs/ca-certificates.crt": {0o644, 0},
	} {
		if got, there := files[name]; !there || got.Mode != want.mode || got.Uid != want.owner || got.Gid != want.owner {
			t.Errorf("%s is there: %v, with mode %o of %d:%d", name, there, got.Mode, got.Uid, got.Gid)
		}
	}
	if len(files) != 14 {
		t.Errorf("there are %d files and folders", len(files))
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"].data) || len(roots.Subjects()) < 100 {
		t.Error("the authorities are not certificates, or few")
	}
}

// checkBill checks that a manifest is the bill of materials of an image.
func checkBill(t *testing.T, index v1.ImageIndex, d v1.Descriptor, of v1.Hash, arch string) {
	t.Helper()
	bill, err := index.Image(d.Digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err := bill.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := bill.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if m.ArtifactType != "application/vnd.cyclonedx+json" || d.ArtifactType != m.ArtifactType || m.Subject == nil || m.Subject.Digest != of ||
		!strings.Contains(string(text), "windlassd for linux_"+arch) {
		t.Errorf("the bill of materials is %+v with %s", m, text)
	}
}

// TestTheSameProgramsGiveTheSameBytes: also in another folder and at another time.
func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	var archives [][]byte
	for range 2 {
		index, _ := indexOf(t, built(t), examples())
		path := filepath.Join(t.TempDir(), "x.tar")
		if err := oci.Archive(path, index, "example.com/x:v1.2.3", at); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, data)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two runs gave different archives")
	}
}

// TestTheArchiveIsALayout: it has one index with the name of the image, as engines want, and all that this names.
func TestTheArchiveIsALayout(t *testing.T) {
	t.Parallel()
	index, _ := indexOf(t, built(t), examples())
	dir := t.TempDir()
	path := filepath.Join(dir, "x.tar")
	if err := oci.Archive(path, index, "example.com/x:v1.2.3", at); err != nil {
		t.Fatal(err)
	}
	unpack(t, path, filepath.Join(dir, "x"))
	p, err := layout.ImageIndexFromPath(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.IndexManifest()
	if err != nil || len(m.Manifests) != 1 || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "example.com/x:v1.2.3" {
		t.Fatalf("the layout is %+v, %v", m, err)
	}
	inside, err := p.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(inside); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".image-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func unpack(t *testing.T, path, dir string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		data, err := io.ReadAll(r)
		if err = errors.Join(err, os.WriteFile(to, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImagesShareTheirLayers: a registry keeps what two images have once.
func TestImagesShareTheirLayers(t *testing.T) {
	t.Parallel()
	r := built(t)
	all := daemon()
	all.Programs = append(all.Programs, examples().Programs...)
	count := map[v1.Hash]bool{}
	for _, i := range []oci.Image{all, examples()} {
		index, manifest := indexOf(t, r, i)
		image, err := index.Image(manifest.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := image.Layers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			digest, err := l.Digest()
			if err != nil {
				t.Fatal(err)
			}
			count[digest] = true
		}
	}
	if len(count) != 4 {
		t.Errorf("there are %d layers, want those of three programs and what is below them", len(count))
	}
}

// TestPush pushes to a registry with and without its own list of referrers, and pulls the same.
func TestPush(t *testing.T) {
	t.Parallel()
	for title, referrers := range map[string]bool{"a registry of today": true, "one without referrers": false} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(registry.New(registry.WithReferrersSupport(referrers), registry.Logger(log.New(io.Discard, "", 0))))
			t.Cleanup(server.Close)
			private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			to := strings.TrimPrefix(server.URL, "http://") + "/some/windlassd:v1.2.3"
			index, manifest := indexOf(t, built(t), daemon())
			pushed, err := oci.Push(t.Context(), index, to, parsed(t, private))
			if err != nil {
				t.Fatal(err)
			}
			want, err := index.Digest()
			if err != nil {
				t.Fatal(err)
			}
			tag, err := name.NewTag(to)
			if err != nil {
				t.Fatal(err)
			}
			got, err := remote.Index(tag)
			if err != nil {
				t.Fatal(err)
			}
			if digest, err := got.Digest(); err != nil || digest != want || !strings.HasSuffix(pushed, "/some/windlassd@"+want.String()) {
				t.Errorf("pulled %s, %v; pushed %s as %s", digest, err, want, pushed)
			}
			if err := validate.Index(got); err != nil {
				t.Error(err)
			}
			for _, of := range []v1.Hash{want, manifest.Manifests[0].Digest, manifest.Manifests[2].Digest} {
				verify(t, tag.Context(), of, &private.PublicKey)
			}
			checkReferrers(t, tag.Context(), manifest, referrers)
		})
	}
}

// parsed is a key that went through PEM.
func parsed(t *testing.T, private *ecdsa.PrivateKey) *oci.Key {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := oci.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// verify checks a signature as cosign does.
func verify(t *testing.T, repository name.Repository, of v1.Hash, public *ecdsa.PublicKey) {
	t.Helper()
	image, err := remote.Image(repository.Tag("sha256-" + of.Hex + ".sig"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := image.Manifest()
	if err != nil || len(m.Layers) != 1 || m.Layers[0].MediaType != "application/vnd.dev.cosign.simplesigning.v1+json" {
		t.Fatalf("the signature is %+v, %v", m, err)
	}
	l, err := image.LayerByDigest(m.Layers[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(m.Layers[0].Annotations["dev.cosignproject.cosign/signature"])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if !ecdsa.VerifyASN1(public, sum[:], signature) {
		t.Error("the signature is wrong")
	}
	var p struct {
		Critical struct {
			Identity map[string]string
			Image    map[string]string
			Type     string
		}
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Critical.Image["docker-manifest-digest"] != of.String() ||
		p.Critical.Identity["docker-reference"] != repository.Name() || p.Critical.Type != "cosign container image signature" {
		t.Errorf("it signs %s, %v", text, err)
	}
}

// checkReferrers checks that a registry lists the bill of materials of each platform's image. The registry of these tests lists artifacts with the type
// of their configuration.
func checkReferrers(t *testing.T, repository name.Repository, m *v1.IndexManifest, listed bool) {
	t.Helper()
	for i := 0; i < len(m.Manifests); i += 2 {
		found, err := remote.Referrers(repository.Digest(m.Manifests[i].Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		list, err := found.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Manifests) != 1 || list.Manifests[0].Digest != m.Manifests[i+1].Digest ||
			!listed && list.Manifests[0].ArtifactType != "application/vnd.cyclonedx+json" {
			t.Errorf("the image for %s has the referrers %+v", m.Manifests[i].Platform, list.Manifests)
		}
	}
}

func TestWhatCannotBeAnImageIsRefused(t *testing.T) {
	t.Parallel()
	for title, change := range map[string]func(r *oci.Release, i *oci.Image){
		"no version":              func(r *oci.Release, _ *oci.Image) { r.Version = "" },
		"no platform":             func(r *oci.Release, _ *oci.Image) { r.Platforms = nil },
		"a platform of a desktop": func(r *oci.Release, _ *oci.Image) { r.Platforms = []string{"darwin/arm64"} },
		"no commit":               func(r *oci.Release, _ *oci.Image) { r.Commit = "" },
		"a program that is lost":  func(_ *oci.Release, i *oci.Image) { i.Programs = []string{"windlassd/{platform}/nothing"} },
		"a bill that is no JSON":  func(r *oci.Release, _ *oci.Image) { spoil(t, r, "sbom-windlassd.cdx.json", "x", 0o644) },
		"a file that is not run":  func(r *oci.Release, _ *oci.Image) { spoil(t, r, "windlassd", "x", 0o644) },
		"a bill that is not made": func(r *oci.Release, _ *oci.Image) { spoil(t, r, "sbom-windlassd.cdx.json", "", 0) },
	} {
		r, i := built(t), daemon()
		change(r, &i)
		if _, err := r.Index(i); err == nil {
			t.Errorf("%s: there is an image", title)
		}
	}
	for title, text := range map[string]string{
		"not PEM": "x", "a certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
	} {
		if _, err := oci.ParseKey([]byte(text)); err == nil {
			t.Errorf("%s is a key", title)
		}
	}
}

// spoil replaces a file beside windlassd for arm64; with mode 0 it removes it.
func spoil(t *testing.T, r *oci.Release, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(r.Programs, "windlassd", "linux_arm64", name)
	err := os.Remove(path)
	if mode != 0 {
		err = errors.Join(err, os.WriteFile(path, []byte(text), mode))
	}
	if err != nil {
		t.Fatal(err)
	}
}
