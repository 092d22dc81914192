// Command images makes container images of the programs of a release, for Linux on amd64 and arm64, without a container engine. `make images` runs it.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/tools/images/oci"
)

// repository is where the source is, and registry where the images are, unless another one is named.
const (
	repository = "https://github.com/windlass-dev/windlass"
	registry   = "ghcr.io/windlass-dev"
)

// images are those of a release.
func images() []oci.Image {
	const one, tools = "windlass/{platform}/", "windlass/{platform}/examples/"
	return []oci.Image{
		{
			Name: "windlassd", Entrypoint: "windlassd", Programs: []string{"windlassd/{platform}/windlassd"},
			Description: "Runs any roles of a Windlass mesh: durable agents, their tools, and who may do what",
		},
		{
			Name: "windlass", Entrypoint: "windlass",
			Programs:    []string{one + "windlass-temporal", tools + "calculator", tools + "notes", one + "windlass"},
			Description: "The command line of Windlass, and a whole mesh in one process with its Temporal server and two tool servers",
		},
		{
			Name: "windlass-temporal", Entrypoint: "windlass-temporal", Programs: []string{one + "windlass-temporal"},
			Description: "A Temporal server for one machine, with its web UI and SQLite",
		},
		{
			Name: "windlass-examples", Command: []string{"calculator", "--http", ":8080"},
			Programs:    []string{tools + "calculator", tools + "notes"},
			Description: "The example MCP tool servers calculator and notes",
		},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// maker makes the images of a release.
type maker struct {
	oci.Release
	// dir is where the archives go, prefix the registry and path that the images are pushed to; "" = none.
	dir, prefix string
	// key signs what is pushed; nil = none.
	key *oci.Key
	out io.Writer
	// sums are lines of SHA256SUMS.
	sums strings.Builder
}

func run(ctx context.Context, args []string, out io.Writer) error {
	m := maker{Release: oci.Release{Source: repository}, out: out}
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	date := flags.String("date", "", "the `time` of the commit in RFC 3339: that of every file in the images")
	flags.StringVar(&m.Version, "version", "", "the `version` that is the tag of the images, like v0.1.0")
	flags.StringVar(&m.Commit, "commit", "", "the `commit` that the programs were built from")
	flags.StringVar(&m.Programs, "programs", "bin/dist", "`folder` with the programs, in folders like windlassd/linux_amd64")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64", "the `platforms` of the images; those of other systems than Linux are left out")
	flags.StringVar(&m.dir, "out", "dist/images", "`folder` for the archives")
	flags.StringVar(&m.prefix, "push", "", "registry and `prefix` to push the images to, like "+registry+"; empty: to none")
	key := flags.String("key", "", "`file` with an ECDSA key on P-256 (PEM) that signs what is pushed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return fmt.Errorf("-date %q is no time in RFC 3339: %w", *date, err)
	}
	m.Time = at.UTC()
	m.Platforms = slices.DeleteFunc(strings.Fields(*platforms), func(p string) bool { return !strings.HasPrefix(p, "linux/") })
	if *key != "" {
		text, err := os.ReadFile(*key)
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		if m.key, err = oci.ParseKey(text); err != nil {
			return fmt.Errorf("%s: %w", *key, err)
		}
	}
	if err := os.MkdirAll(m.dir, 0o755); err != nil { //nolint:gosec // what is released is for everybody
		return fmt.Errorf("make %s: %w", m.dir, err)
	}
	for _, i := range images() {
		if err := m.make(ctx, i); err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
	}
	return os.WriteFile(filepath.Join(m.dir, "SHA256SUMS"), []byte(m.sums.String()), 0o644) //nolint:gosec // the same
}

// make writes the archive of an image, and pushes the image where that is asked for.
func (m *maker) make(ctx context.Context, i oci.Image) error {
	index, err := m.Index(i)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	file := filepath.Join(m.dir, i.Name+"_"+m.Version+".tar")
	if err := oci.Archive(file, index, registry+"/"+i.Name+":"+m.Version, m.Time); err != nil {
		return err
	}
	sum, size, err := checksum(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(&m.sums, "%s  %s\n", sum, filepath.Base(file))
	if _, err := fmt.Fprintf(m.out, "images: %8.1f MB  %s  %s\n", float64(size)/1e6, filepath.Base(file), digest); err != nil {
		return err
	}
	if m.prefix == "" {
		return nil
	}
	pushed, err := oci.Push(ctx, index, strings.TrimSuffix(m.prefix, "/")+"/"+i.Name+":"+m.Version, m.key)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(m.out, "images: pushed %s\n", pushed)
	return err
}

// checksum returns the SHA-256 and the size of a file.
func checksum(file string) (sum string, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}
