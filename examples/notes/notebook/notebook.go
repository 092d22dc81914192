// Package notebook keeps notes in a directory, one JSON file each, and serves them as MCP tools.
package notebook

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxTitle = 200       // characters
	maxText  = 256 << 10 // bytes
	maxTags  = 20
)

// ErrNotFound means that there is no note with the id.
var ErrNotFound = errors.New("note not found")

var idPattern = regexp.MustCompile(`^note_[a-z0-9]{26}$`)

// Note is a stored note.
type Note struct {
	ID        string    `json:"id" jsonschema:"id of the note, for read and delete"`
	Title     string    `json:"title" jsonschema:"short title"`
	Text      string    `json:"text" jsonschema:"text of the note"`
	Tags      []string  `json:"tags" jsonschema:"lower-case labels"`
	CreatedAt time.Time `json:"created_at" jsonschema:"time of creation, UTC"`
}

// Book is a directory of notes. Several processes may use it at the same time: nothing is cached, and a note's file appears whole or not at
// all.
type Book struct {
	root *os.Root // file names cannot leave it
}

// Open creates the directory if it is missing.
func Open(dir string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create notes directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open notes directory: %w", err)
	}
	return &Book{root: root}, nil
}

// Close releases the directory.
func (b *Book) Close() error { return b.root.Close() }

// Create stores a new note. When it returns without error the note survives a crash of the machine.
func (b *Book) Create(title, text string, tags []string) (Note, error) {
	title = strings.TrimSpace(title)
	switch {
	case title == "":
		return Note{}, errors.New("a note needs a title")
	case utf8.RuneCountInString(title) > maxTitle:
		return Note{}, fmt.Errorf("the title has more than %d characters", maxTitle)
	case len(text) > maxText:
		return Note{}, fmt.Errorf("the text has more than %d bytes", maxText)
	}
	labels := normalize(tags)
	if len(labels) > maxTags {
		return Note{}, fmt.Errorf("more than %d tags", maxTags)
	}
	note := Note{
		ID:        "note_" + strings.ToLower(rand.Text()),
		Title:     title,
		Text:      text,
		Tags:      labels,
		CreatedAt: time.Now().UTC(),
	}
	if err := b.write(note); err != nil {
		return Note{}, fmt.Errorf("store note: %w", err)
	}
	return note, nil
}

// Read returns one note or ErrNotFound.
func (b *Book) Read(id string) (Note, error) {
	if !idPattern.MatchString(id) {
		return Note{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	data, err := b.root.ReadFile(id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	if err != nil {
		return Note{}, fmt.Errorf("read note: %w", err)
	}
	var note Note
	if err := json.Unmarshal(data, &note); err != nil {
		return Note{}, fmt.Errorf("read note %s: %w", id, err)
	}
	return note, nil
}

// Delete removes a note and reports whether it existed.
func (b *Book) Delete(id string) (bool, error) {
	if !idPattern.MatchString(id) {
		return false, nil
	}
	err := b.root.Remove(id + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete note: %w", err)
	}
	return true, b.sync()
}

// All returns every note, the newest first.
func (b *Book) All() ([]Note, error) {
	files, err := fs.ReadDir(b.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list notes: %w", err)
	}
	var notes []Note
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), ".json")
		if !ok || !idPattern.MatchString(id) {
			continue
		}
		note, err := b.Read(id)
		if errors.Is(err, ErrNotFound) { // deleted since the directory was read
			continue
		}
		if err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	slices.SortFunc(notes, func(x, y Note) int {
		if c := y.CreatedAt.Compare(x.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(x.ID, y.ID)
	})
	return notes, nil
}

// Search returns the notes that contain every word of the query in title, text or tags, in any case, the newest first.
func (b *Book) Search(query string) ([]Note, error) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil, errors.New("the query is empty")
	}
	notes, err := b.All()
	return slices.DeleteFunc(notes, func(n Note) bool {
		content := strings.ToLower(n.Title + "\n" + n.Text + "\n" + strings.Join(n.Tags, "\n"))
		return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(content, w) })
	}), err
}

// normalize makes tags lower-case, sorted and unique. The result is never nil, so that JSON shows a list.
func normalize(tags []string) []string {
	out := make([]string, 0, len(tags))
	for _, tag := range tags {
		if tag = strings.ToLower(strings.TrimSpace(tag)); tag != "" {
			out = append(out, tag)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
