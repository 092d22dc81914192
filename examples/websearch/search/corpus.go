package search

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"

	_ "modernc.org/sqlite" // the driver, which has full-text search
)

//go:embed corpus/*.md
var builtIn embed.FS

// scheme begins the addresses of the corpus, which are none of the web.
const scheme = "corpus:///"

// maxPage limits a page of the corpus in bytes.
const maxPage = 1 << 20

// Corpus searches files with the full-text index of SQLite, ranked by BM25. It is in memory.
type Corpus struct {
	db    *sql.DB
	name  string
	pages int
}

// OpenCorpus reads the .md and .txt files of a folder, or the pages that come with the program if dir is empty.
func OpenCorpus(ctx context.Context, dir string) (*Corpus, error) {
	c := &Corpus{name: "a small corpus on this machine (offline, not the web)"}
	files, err := fs.Sub(builtIn, "corpus")
	if err != nil {
		return nil, err
	}
	if dir != "" {
		c.name = fmt.Sprintf("the files in %s (offline, not the web)", path.Base(dir))
		files = os.DirFS(dir)
	}
	if c.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, fmt.Errorf("open the index: %w", err)
	}
	c.db.SetMaxOpenConns(1) // each connection has a memory of its own
	if err := c.fill(ctx, files); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Corpus) fill(ctx context.Context, files fs.FS) error {
	if _, err := c.db.ExecContext(ctx, `CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text, tokenize = 'porter unicode61')`); err != nil {
		return fmt.Errorf("make the index: %w", err)
	}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" && path.Ext(name) != ".txt" {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxPage {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		title, rest, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		c.pages++
		_, err = c.db.ExecContext(ctx, `INSERT INTO pages (url, title, text) VALUES (?, ?, ?)`, scheme+name,
			strings.TrimLeft(title, "# "), strings.TrimSpace(rest))
		return err
	})
	if err != nil {
		return fmt.Errorf("read the corpus: %w", err)
	}
	if c.pages == 0 {
		return errors.New("the corpus has no .md or .txt file")
	}
	return nil
}

// Name implements Engine.
func (c *Corpus) Name() string { return c.name }

// Close implements Engine.
func (c *Corpus) Close() { _ = c.db.Close() } // in memory

// Search implements Engine. A page need not have all words; words in titles count three times.
func (c *Corpus) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	words := strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	if len(words) == 0 {
		return nil, errors.New("the query has no word")
	}
	for i, w := range words {
		words[i] = `"` + w + `"` // a word, not an operator
	}
	rows, err := c.db.QueryContext(ctx, `SELECT url, title, snippet(pages, 2, '', '', ' … ', 24) FROM pages WHERE pages MATCH ?
		ORDER BY bm25(pages, 0, 3, 1) LIMIT ?`, strings.Join(words, " OR "), limit)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	var found []Hit
	for rows.Next() {
		var h Hit
		if err := rows.Scan(&h.URL, &h.Title, &h.Snippet); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		found = append(found, h)
	}
	return found, rows.Err()
}

// Read implements Engine.
func (c *Corpus) Read(ctx context.Context, url string) (Page, error) {
	p := Page{URL: url}
	err := c.db.QueryRowContext(ctx, `SELECT title, text FROM pages WHERE url = ?`, url).Scan(&p.Title, &p.Text)
	if errors.Is(err, sql.ErrNoRows) {
		return p, fmt.Errorf("there is no page %q; search finds those that there are", url)
	}
	return p, err
}

// Check implements Engine.
func (c *Corpus) Check(ctx context.Context) (string, error) {
	var pages int
	err := c.db.QueryRowContext(ctx, `SELECT count(*) FROM pages`).Scan(&pages)
	return fmt.Sprintf("%d pages in %s", pages, c.name), err
}
