package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// write writes the note under a temporary name, syncs it and then renames it.
func (b *Book) write(note Note) error {
	data, err := json.MarshalIndent(note, "", "  ")
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	temporary := note.ID + ".tmp"
	if err := b.writeSynced(temporary, data); err != nil {
		return errors.Join(err, b.root.Remove(temporary))
	}
	if err := b.root.Rename(temporary, note.ID+".json"); err != nil {
		return errors.Join(err, b.root.Remove(temporary))
	}
	return b.sync()
}

func (b *Book) writeSynced(name string, data []byte) error {
	file, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// sync makes renames and removals in the directory durable.
func (b *Book) sync() error {
	dir, err := b.root.Open(".")
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Check verifies that notes can be stored.
func (b *Book) Check() error {
	const probe = "health.tmp"
	// Another process may be checking too, so a probe that exists or is gone already is fine.
	err := b.root.WriteFile(probe, nil, 0o600)
	if err != nil {
		return fmt.Errorf("write to notes directory: %w", err)
	}
	if err := b.root.Remove(probe); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write to notes directory: %w", err)
	}
	return nil
}
