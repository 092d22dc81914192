package oci

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// signatureType is the type of what cosign signs: a "simple signing" payload.
const signatureType = "application/vnd.dev.cosign.simplesigning.v1+json"

// Key signs images.
type Key struct{ private *ecdsa.PrivateKey }

// ParseKey reads an ECDSA key on P-256 from PEM: what `openssl ecparam -genkey -name prime256v1 -noout` and `openssl genpkey` write.
func ParseKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return checked(key)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the key in the PEM block %q cannot be read: want an unencrypted EC key", block.Type)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T, want ECDSA", parsed)
	}
	return checked(key)
}

func checked(key *ecdsa.PrivateKey) (*Key, error) {
	if size := key.Params().BitSize; size != 256 {
		return nil, fmt.Errorf("the key has %d bits, want those of P-256", size)
	}
	return &Key{private: key}, nil
}

// Push pushes an image to a registry under a name with a tag, such as ghcr.io/windlass-dev/windlassd:v0.1.0, and returns its name with its digest.
// Who it is follows from the user's Docker configuration. With a key it also pushes signatures of the index and of the image for each platform.
func Push(ctx context.Context, index v1.ImageIndex, to string, key *Key) (string, error) {
	tag, err := name.NewTag(to, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("the name of the image: %w", err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	if err := remote.WriteIndex(tag, index, options...); err != nil {
		return "", fmt.Errorf("push %s: %w", to, err)
	}
	if key != nil {
		manifest, err := index.IndexManifest()
		if err != nil {
			return "", err
		}
		signed := []v1.Hash{digest}
		for _, m := range manifest.Manifests {
			if m.ArtifactType != billType {
				signed = append(signed, m.Digest)
			}
		}
		for _, of := range signed {
			if err := key.sign(tag.Context(), of, options); err != nil {
				return "", fmt.Errorf("sign %s: %w", of, err)
			}
		}
	}
	return tag.Context().Digest(digest.String()).String(), nil
}

// payload is what is signed.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

// sign pushes the signature of a manifest where cosign expects it: under the tag sha256-DIGEST.sig of the same repository.
func (k *Key) sign(repository name.Repository, of v1.Hash, options []remote.Option) error {
	var p payload
	p.Critical.Identity.Reference = repository.Name()
	p.Critical.Image.Digest = of.String()
	p.Critical.Type = "cosign container image signature"
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, sum[:])
	if err != nil {
		return err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:       static.NewLayer(text, signatureType),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	})
	if err != nil {
		return err
	}
	return remote.Write(repository.Tag(of.Algorithm+"-"+of.Hex+".sig"), image, options...)
}
