package oci

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// billType is the type of a bill of materials, as an artifact and as a file.
	billType = "application/vnd.cyclonedx+json"
	// emptyType is the type of the empty configuration of an artifact, "{}".
	emptyType = "application/vnd.oci.empty.v1+json"
)

// artifact is a manifest that is no image: it has one file, and refers to its subject. Registries list it as a referrer of that.
type artifact struct {
	manifest []byte
	file     v1.Layer
}

// bill returns the bill of materials of a program, which is beside it, as a referrer of an image.
func (r *Release) bill(subject v1.Image, program string) (v1.Image, error) {
	name := filepath.Base(program)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(program), "sbom-"+name+".cdx.json"))
	if err != nil {
		return nil, fmt.Errorf("the bill of materials of %s is missing: %w", name, err)
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("the bill of materials of %s is not JSON", name)
	}
	of, err := partial.Descriptor(subject)
	if err != nil {
		return nil, fmt.Errorf("describe the image: %w", err)
	}
	of.Annotations, of.Platform, of.ArtifactType = nil, nil, "" // a subject is a digest, a size and a type
	manifest, err := json.Marshal(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: billType, Subject: of,
		Config: v1.Descriptor{MediaType: emptyType, Size: int64(len(noConfig)), Digest: hashOf([]byte(noConfig))},
		Layers: []v1.Descriptor{{
			MediaType: billType, Size: int64(len(data)), Digest: hashOf(data),
			Annotations: map[string]string{"org.opencontainers.image.title": name + ".cdx.json"},
		}},
		Annotations: map[string]string{"org.opencontainers.image.created": r.Time.Format("2006-01-02T15:04:05Z07:00")},
	})
	if err != nil {
		return nil, fmt.Errorf("describe the bill of materials of %s: %w", name, err)
	}
	return partial.CompressedToImage(artifact{manifest: manifest, file: static.NewLayer(data, billType)})
}

// noConfig is the configuration of an artifact.
const noConfig = "{}"

// MediaType implements partial.CompressedImageCore.
func (artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// RawManifest implements partial.CompressedImageCore.
func (a artifact) RawManifest() ([]byte, error) { return a.manifest, nil }

// RawConfigFile implements partial.CompressedImageCore.
func (artifact) RawConfigFile() ([]byte, error) { return []byte(noConfig), nil }

// LayerByDigest implements partial.CompressedImageCore.
func (a artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if own, err := a.file.Digest(); err != nil || own != h {
		return nil, errors.New("the artifact has no layer " + h.String())
	}
	return a.file, nil
}
