package property

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/test/harness"
)

// disk is what a machine's databases are on.
type disk interface {
	engine() engine
	// flush stands for fsync of the write-ahead log of a service whose database is a file.
	flush(service string) error
	// cut keeps what would be found after a power cut now.
	cut() error
	// remains returns a disk with what was kept.
	remains(t *testing.T) disk
}

// files are SQLite databases. After a power cut, each file is what it was at its last flush.
type files struct {
	dir  string
	kept map[string]string // by service: a folder with its files
	made int
}

func newFiles(t *testing.T) disk { return &files{dir: t.TempDir(), kept: map[string]string{}} }

func (f *files) engine() engine {
	return engine{
		name: "sqlite", replicas: 1,
		url: func(service string) string { return "sqlite:" + filepath.Join(f.dir, service+".db") },
	}
}

func (f *files) flush(service string) error {
	f.made++
	kept := filepath.Join(f.dir, "disk", fmt.Sprint(f.made))
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return err
	}
	f.kept[service] = kept
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(filepath.Join(f.dir, service+".db"+end))
		if err == nil {
			err = os.WriteFile(filepath.Join(kept, service+".db"+end), raw, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (*files) cut() error { return nil }

func (f *files) remains(t *testing.T) disk {
	next := &files{dir: t.TempDir(), kept: map[string]string{}}
	for service, kept := range f.kept {
		for _, end := range []string{"", "-wal"} {
			raw, err := os.ReadFile(filepath.Join(kept, service+".db"+end))
			if !errors.Is(err, fs.ErrNotExist) {
				harness.Must(t, err)
				harness.Must(t, os.WriteFile(filepath.Join(next.dir, service+".db"+end), raw, 0o600))
			}
		}
	}
	return next
}

// volumeSize is the size of a PostgreSQL server's disk in megabytes. An image of it takes what is written to it.
const volumeSize = 512

// volume is a file system with a PostgreSQL server. After a power cut it is what had reached the device: neither what the server had not
// written, nor what the file system had not flushed.
type volume struct {
	image  string
	server *testpg.Server
}

// newVolume starts a server on a copy of an image.
func newVolume(t *testing.T, image string) *volume {
	v := &volume{image: filepath.Join(t.TempDir(), "image")}
	harness.Must(t, command("cp", "--sparse=always", image, v.image))
	mounted := harness.NewVolume(t, v.image)
	v.server = testpg.OwnWithin(t, mounted.Within(), mounted.Dir, mounted.Outside())
	return v
}

func (v *volume) engine() engine {
	return engine{name: "postgres", replicas: 2, url: func(string) string { return v.server.URL() }, maxConns: 1}
}

func (*volume) flush(string) error { return nil }

// cut copies the image between two writes to it.
func (v *volume) cut() error {
	v.server.Freeze()
	defer v.server.Thaw()
	for {
		before, err := v.writes()
		if err != nil {
			return err
		}
		if err := command("cp", "--sparse=always", v.image, v.image+".cut"); err != nil {
			return err
		}
		if after, err := v.writes(); err != nil || after == before {
			return err
		}
	}
}

// writes returns a number that changes with each write to the image, begun or ended.
func (v *volume) writes() (string, error) {
	out, err := exec.Command("losetup", "--associated", v.image, "--noheadings", "--output", "NAME").Output()
	if err != nil {
		return "", err
	}
	stat, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(strings.TrimSpace(string(out))), "stat"))
	if err != nil {
		return "", err
	}
	// Documentation/block/stat.rst of Linux: writes are the fifth, I/Os in flight the ninth number.
	if fields := strings.Fields(string(stat)); len(fields) > 8 {
		return fields[4] + " " + fields[8], nil
	}
	return "", fmt.Errorf("cannot read %q", stat)
}

func (v *volume) remains(t *testing.T) disk { return newVolume(t, v.image+".cut") }

func command(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}
