// Package oci makes container images of programs without a container engine: one index for all platforms of each image, with the bills of materials
// of its programs. The same programs give the same bytes.
package oci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// bin is the folder of the programs in an image.
const bin = "/usr/local/bin"

// Release is what the images are made of.
type Release struct {
	// Version is the tag of the images, like v0.1.0. Commit is what the programs were built from. Source is the URL of the repository.
	Version, Commit, Source string
	// Time is that of the commit: of every file, and of the images.
	Time time.Time
	// Programs is a folder with those of each archive and platform below it, named like windlass/linux_amd64.
	Programs string
	// Platforms are those of the images, like linux/amd64.
	Platforms []string

	// layers are those that images share, by what is in them.
	layers map[string]v1.Layer
}

// Image is one of a release's images.
type Image struct {
	Name, Description string
	// Programs are files below Release.Programs, with {platform} for one like linux_amd64. Each is a layer of its own, so that images share
	// it, and each has its bill of materials beside it, like sbom-windlassd.cdx.json. Those below a folder "examples" keep it.
	Programs []string
	// Entrypoint is the program that is started. An image without one starts Command, from PATH.
	Entrypoint string
	Command    []string
}

// Index returns the image for all platforms. Its manifests are, for each, the image and the bills of materials of its programs, which refer to it
// as their subject and have no platform.
func (r *Release) Index(i Image) (v1.ImageIndex, error) {
	if !strings.HasPrefix(r.Version, "v") || r.Commit == "" || r.Time.IsZero() {
		return nil, errors.New("a version like v0.1.0, the commit and its time are needed")
	}
	if len(r.Platforms) == 0 {
		return nil, errors.New("a platform like linux/amd64 is needed")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var manifests []mutate.IndexAddendum
	for _, name := range r.Platforms {
		os, arch, ok := strings.Cut(name, "/")
		if !ok || os != "linux" {
			return nil, fmt.Errorf("the platform %q is none like linux/amd64", name)
		}
		p := v1.Platform{OS: os, Architecture: arch}
		image, err := r.image(i, p)
		if err != nil {
			return nil, fmt.Errorf("%s for %s: %w", i.Name, p, err)
		}
		digest, err := image.Digest()
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p}})
		for _, program := range i.Programs {
			bill, err := r.bill(image, r.path(program, p))
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", i.Name, p, err)
			}
			manifests = append(manifests, mutate.IndexAddendum{Add: bill, Descriptor: v1.Descriptor{
				Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}, ArtifactType: billType,
				// Engines that know these skip the manifest when they search for a platform.
				Annotations: map[string]string{
					"vnd.docker.reference.digest": digest.String(), "vnd.docker.reference.type": "attestation-manifest",
				},
			}})
		}
	}
	index, ok := mutate.Annotations(mutate.AppendManifests(index, manifests...), r.labels(i)).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("an index is none with annotations")
	}
	return index, nil
}

// path returns the file of a program for a platform.
func (r *Release) path(program string, p v1.Platform) string {
	return filepath.Join(r.Programs, filepath.FromSlash(strings.ReplaceAll(program, "{platform}", p.OS+"_"+p.Architecture)))
}

// image returns the image for one platform.
func (r *Release) image(i Image, p v1.Platform) (v1.Image, error) {
	below, err := r.layer("base", base)
	if err != nil {
		return nil, err
	}
	stack := []mutate.Addendum{{Layer: below, History: r.history("users, authorities, /tmp and " + home)}}
	paths := bin
	for _, program := range i.Programs {
		name := inImage(program)
		if dir := path.Dir(name); !slices.Contains(strings.Split(paths, ":"), dir) {
			paths += ":" + dir
		}
		file := r.path(program, p)
		data, err := readProgram(file)
		if err != nil {
			return nil, err
		}
		l, err := r.layer(file, func() []entry { return []entry{{path: name, mode: 0o755, data: data}} })
		if err != nil {
			return nil, err
		}
		stack = append(stack, mutate.Addendum{Layer: l, History: r.history(name)})
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, stack...); err != nil {
		return nil, fmt.Errorf("append the layers: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = p.OS, p.Architecture, v1.Time{Time: r.Time}
	file.Config = v1.Config{
		User: strconv.Itoa(user) + ":" + strconv.Itoa(user), WorkingDir: home, Cmd: i.Command, Labels: r.labels(i),
		Env: []string{"PATH=" + paths},
	}
	if i.Entrypoint != "" {
		file.Config.Entrypoint = []string{bin + "/" + i.Entrypoint}
	}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	image, ok := mutate.Annotations(image, r.labels(i)).(v1.Image)
	if !ok {
		return nil, errors.New("an image is none with annotations")
	}
	return image, nil
}

// inImage returns where a program is in an image.
func inImage(program string) string {
	if path.Base(path.Dir(program)) == "examples" {
		return bin + "/examples/" + path.Base(program)
	}
	return bin + "/" + path.Base(program)
}

func readProgram(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("a program is missing: %w", err)
	}
	if info.Mode()&fs.ModePerm&0o111 == 0 {
		return nil, fmt.Errorf("%s is not executable", file)
	}
	return os.ReadFile(file)
}

// layer returns a layer that is packed once for all images that have it.
func (r *Release) layer(key string, entries func() []entry) (v1.Layer, error) {
	if l, packed := r.layers[key]; packed {
		return l, nil
	}
	l, err := newLayer(entries(), r.Time)
	if err == nil {
		if r.layers == nil {
			r.layers = map[string]v1.Layer{}
		}
		r.layers[key] = l
	}
	return l, err
}

func (r *Release) history(of string) v1.History {
	return v1.History{Created: v1.Time{Time: r.Time}, CreatedBy: "make images: " + of}
}

// labels are those that the OCI image specification names. They are the annotations too.
func (r *Release) labels(i Image) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": i.Name, prefix + "description": i.Description, prefix + "version": r.Version, prefix + "revision": r.Commit,
		prefix + "created": r.Time.Format(time.RFC3339), prefix + "source": r.Source, prefix + "url": r.Source,
		prefix + "documentation": r.Source + "/blob/" + r.Version + "/docs/README.md", prefix + "licenses": "Apache-2.0",
		prefix + "vendor": "The Windlass authors",
	}
}
