package testpg

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a postgres process of ours with its data in a temporary folder.
type server struct {
	url  string
	dir  string
	bin  string
	cred *syscall.Credential
	port int
	// durable keeps committed data when the server is killed.
	durable bool
	// within is the command prefix that enters the server's namespace, if it has one.
	within []string
	// data is the folder of its cluster as the server sees it, if that is not in dir; it is then on a disk that writes are flushed to.
	data string
	proc *os.Process
	done chan struct{}
}

// start creates a cluster and runs it on a free loopback port, or runs the one in the folder data. It retries because another process may
// take the port in between.
func start(durable bool, within []string, data string) (*server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "windlass-pg-")
	if err != nil {
		return nil, err
	}
	cred, err := credential(dir)
	if err == nil && data == "" {
		err = cluster(bin, dir, cred)
	}
	for attempt := 0; err == nil; attempt++ {
		s := &server{bin: bin, dir: dir, cred: cred, durable: durable, within: within, data: data}
		if s.port, err = freePort(); err != nil {
			break
		}
		s.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", s.port)
		if err = s.launch(); err == nil {
			return s, nil
		}
		if attempt < 2 {
			err = nil
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// replica starts a server that follows this one, from a copy of its data.
func (s *server) replica() (*server, error) {
	dir, err := os.MkdirTemp("", "windlass-pg-")
	if err != nil {
		return nil, err
	}
	r := &server{dir: dir, bin: s.bin, durable: true}
	if r.cred, err = credential(dir); err == nil {
		cmd := exec.Command(filepath.Join(s.bin, "pg_basebackup"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-U", "postgres", "-D", "data",
			"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.cred}
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("pg_basebackup: %w: %s", err, out)
		}
	}
	if err == nil {
		r.port, err = freePort()
	}
	if err == nil {
		r.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", r.port)
		err = r.launch()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// programs returns the folder with initdb and postgres: from PATH, else the newest in Debian's location.
func programs() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errAbsent
	}
	newest := slices.MaxFunc(found, func(a, b string) int {
		return version(a) - version(b)
	})
	return filepath.Dir(newest), nil
}

func version(initdb string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb)))) // no number sorts first
	return n
}

// credential returns the user to run as, since postgres refuses to run as root, and gives it the folder. Nil means the present user.
func credential(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	uid, gid := 65534, 65534
	if u, err := user.Lookup("postgres"); err == nil {
		uid, _ = strconv.Atoi(u.Uid) // numeric on Linux
		gid, _ = strconv.Atoi(u.Gid)
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// cluster makes the folder "data" of a server: a copy of one that initdb made on this machine before, which takes an eighth of the time.
func cluster(bin, dir string, cred *syscall.Credential) error {
	uid := os.Geteuid()
	if cred != nil {
		uid = int(cred.Uid)
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("windlass-initdb-%d-%d", version(filepath.Join(bin, "initdb")), uid))
	run := func(program string, args ...string) error {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out)
		}
		return nil
	}
	if info, err := os.Lstat(kept); err == nil && info.IsDir() && info.Sys().(*syscall.Stat_t).Uid == uint32(uid) {
		return run("cp", "-a", kept, "data")
	}
	err := run(filepath.Join(bin, "initdb"), "-D", "data", "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
	if err == nil { // the first one is kept; where it cannot be, the next one runs initdb
		_ = run("sh", "-c", `cp -a data keep && mv -T keep "$0" || rm -rf keep`, kept)
	}
	return err
}

// launch runs the server and waits until it answers.
func (s *server) launch() error {
	args := []string{
		"-D", cmp.Or(s.data, filepath.Join(s.dir, "data")), "-p", strconv.Itoa(s.port), "-k", s.dir, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=300", "-c", "shared_buffers=32MB", "-c", "timezone=UTC",
		// Its files may be in memory: it recycles its log early.
		"-c", "min_wal_size=32MB", "-c", "max_wal_size=128MB",
	}
	if s.data == "" {
		args = append(args, "-c", "fsync=off")
	}
	if !s.durable { // a killed process may leave a torn page, which only a full-page image in the log repairs
		args = append(args, "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
		args = append(args, "-c", "autovacuum=off") // databases of tests are too short-lived for it
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	// Shut down at once when we die, however we die.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Pdeathsig: syscall.SIGQUIT}
	if len(s.within) > 0 {
		cmd = exec.Command(s.within[0], append(s.asUser(), cmd.Args...)...)
	}
	cmd.Dir = s.dir
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	cmd.Stdout, cmd.Stderr = log, log
	done := make(chan struct{})
	s.done = done
	started := make(chan error, 1)
	go func() {
		// The signal is sent when the thread that started the child ends, so keep this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // callers notice when they connect
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.proc = cmd.Process
	if err := s.ready(); err != nil {
		s.kill()
		text, _ := os.ReadFile(filepath.Join(s.dir, "log")) // only for the message
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// asUser returns the command prefix that switches to the server's user in a namespace that only root may enter.
func (s *server) asUser() []string {
	args := slices.Clone(s.within[1:])
	if s.cred == nil {
		return args
	}
	return append(args, "setpriv", fmt.Sprintf("--reuid=%d", s.cred.Uid), fmt.Sprintf("--regid=%d", s.cred.Gid), "--clear-groups",
		"--pdeathsig=QUIT")
}

// fill puts a cluster on the disk of a folder that this process reaches.
func fill(folder string) error {
	bin, err := programs()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "windlass-pg-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in the temporary folder is harmless
	cred, err := credential(dir)
	if err == nil {
		err = cluster(bin, dir, cred)
	}
	if err != nil {
		return err
	}
	const keep = `cp -a "$0" "$1" && sync --file-system "$1"` // as initdb leaves it
	if out, err := exec.Command("sh", "-c", keep, filepath.Join(dir, "data"), folder).CombinedOutput(); err != nil {
		return fmt.Errorf("copy a cluster: %w: %s", err, out)
	}
	return nil
}

// give makes the server's user the owner of a folder.
func (s *server) give(dir string) error {
	if s.cred == nil {
		return nil
	}
	return os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }() // it never served
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ready waits until the server answers.
func (s *server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", s.url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it was only pinged
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-s.done:
			return errors.New("postgres ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-tick.C:
		}
	}
}

func (s *server) kill() {
	_ = s.proc.Signal(syscall.SIGQUIT) // may already be gone
	<-s.done
}

// signal sends a signal to the server and its child processes.
func (s *server) signal(sig syscall.Signal) error {
	if err := s.proc.Signal(sig); err != nil {
		return err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, fields, _ := strings.Cut(string(raw), ") ") // PID (NAME) STATE PARENT …
		of := strings.Fields(fields)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(of) < 2 || of[1] != strconv.Itoa(s.proc.Pid) {
			continue
		}
		_ = syscall.Kill(pid, sig) // may already be gone
	}
	return nil
}

func (s *server) stop() {
	s.kill()
	_ = os.RemoveAll(s.dir) // a leftover in the temporary folder is harmless
}
