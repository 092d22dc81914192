//go:build unix

package backup

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ownAs gives all files below a folder the owner of a directory, if this process runs as root and that is another user: the service that
// runs on the directory could not read them.
func ownAs(dir, below string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || owner.Uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	return errors.Join(err, root.Close())
}
