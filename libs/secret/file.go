package secret

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is the largest file of a secret, in bytes.
const maxFile = 64 << 10

// ReadFile reads a secret from a file that only its owner may read. A line break at its end is not part of the secret.
func ReadFile(path string) (Value, error) {
	f, err := os.Open(path)
	if err != nil {
		return Value{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return Value{}, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return Value{}, fmt.Errorf("%s has mode %#o: other accounts may read the secret; run chmod 600 %s", path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Value{}, fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > maxFile {
		return Value{}, fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return New(strings.TrimRight(string(text), "\r\n")), nil
}
