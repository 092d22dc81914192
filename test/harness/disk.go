package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// DiskEnv names the variable that, set to 1, turns a system on which tests may not mount into a failure.
const DiskEnv = "WINDLASS_REQUIRE_MOUNT"

// Disk is a small file system that can be filled. Only the processes that are started on it see it.
type Disk struct {
	t      testing.TB
	holder *Process
	// Dir is where it is mounted, for the processes on it.
	Dir string
}

// NewDisk mounts one for a test. It needs root on Linux; elsewhere the test is skipped, or fails if WINDLASS_REQUIRE_MOUNT=1.
func NewDisk(t testing.TB, megabytes int) *Disk {
	t.Helper()
	return mounted(t, "-t", "tmpfs", "-o", "size="+strconv.Itoa(megabytes)+"m,mode=0777", "none")
}

// NewVolume mounts the file system in an image for a test. What is not flushed stays out of the image
// until the kernel writes it back: data after half a minute, metadata after an hour.
func NewVolume(t testing.TB, image string) *Disk {
	t.Helper()
	return mounted(t, "-o", "loop,commit=3600,noatime", image)
}

// Image makes an image of an ext4 file system. The test is skipped where none can be mounted: that needs root and loop devices.
func Image(t testing.TB, path string, megabytes int) {
	t.Helper()
	if out, err := exec.Command("losetup", "--find").CombinedOutput(); err != nil {
		t.Skipf("there are no loop devices here: %v: %s", err, out)
	}
	for _, command := range [][]string{
		{"truncate", "--size", strconv.Itoa(megabytes) + "M", path},
		{"mkfs.ext4", "-q", "-F", "-E", "root_owner=0:0", path},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			absent(t, fmt.Errorf("%s: %w: %s", command[0], err, out))
		}
	}
}

// mounted mounts something by mount's arguments.
func mounted(t testing.TB, mount ...string) *Disk {
	t.Helper()
	for _, program := range []string{"unshare", "nsenter", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			absent(t, err)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		absent(t, fmt.Errorf("%w: %s", err, out))
	}
	d := &Disk{t: t, Dir: publicDir(t)}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	// The mount lives for as long as the shell, which waits for its input to end.
	d.holder = Start(t, "disk", nil, unshare, append([]string{
		"--mount", "--propagation", "private", "sh", "-c",
		`mount "$@" "$0" && chmod 0777 "$0" && echo '{"ready":true}' && read -r _`, d.Dir,
	}, mount...)...)
	return d
}

// publicDir is a folder that other users may enter too: PostgreSQL runs as one.
func publicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "windlass-disk-") //nolint:usetesting // t.TempDir is for this user only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover in the temporary folder harms nobody
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func absent(t testing.TB, err error) {
	t.Helper()
	if os.Getenv(DiskEnv) == "1" {
		t.Fatalf("no file system of its own for this test: %v", err)
	}
	t.Skipf("tests may not mount here (root on Linux may): %v", err)
}

// Outside is the path at which everybody else reaches a path on the disk.
func (d *Disk) Outside(path ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(d.holder.PID()), "root", d.Dir}, path...)...)
}

// Within is the beginning of a command that runs on the disk.
func (d *Disk) Within() []string {
	return []string{"nsenter", "--target", strconv.Itoa(d.holder.PID()), "--mount"}
}

// Up starts `windlass up` with its data on the disk.
func (d *Disk) Up(env []string, args ...string) *Embedded {
	d.t.Helper()
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		d.t.Fatal(err)
	}
	dir := filepath.Join(d.Dir, "data")
	command := append(d.Within()[1:], "--", Bin(d.t, "windlass"))
	p := Launch(d.t, "windlass up", env, nsenter, append(append(command, upArgs(dir)...), args...)...)
	p.Await()
	url, _ := p.Ready["url"].(string)
	return &Embedded{Process: p, Client: NewClient(d.t, url), DataDir: dir}
}

// Fill leaves no room on the disk.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.Create(d.Outside("filler"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); ; {
		n, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC) && len(block) == 1:
			return
		case errors.Is(err, syscall.ENOSPC):
			block = block[:max(1, (len(block)-n)/16)]
		case err != nil:
			d.t.Fatal(err)
		}
	}
}

// Free takes away what Fill wrote.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.Outside("filler")); err != nil {
		d.t.Fatal(err)
	}
}
