// Package parse reads the text of documents in child processes with limits. A kind of documents is a package below this one and a row of
// formats.
package parse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// MaxData limits the content of a document in bytes.
const MaxData = 64 << 20

// Input is a file: its name, the media type that is declared for it or "", and its content.
type Input = document.Input

// Document is the text of a file and its structure. Text is valid UTF-8 without NUL, with "\n" as line end.
type Document = document.Document

// Block is a part of a document. Blocks are in order and do not overlap.
type Block = document.Block

// Kind is what a block is.
type Kind = document.Kind

// Kinds of blocks.
const (
	Paragraph = document.Paragraph
	Heading   = document.Heading
	List      = document.List
	Code      = document.Code
	Table     = document.Table
	Quote     = document.Quote
)

// Error is why a document is refused. Its text continues the name of the document, says what can be done, and has nothing of its content.
type Error = document.Error

// Limits of a child.
const (
	memory, softMemory = 1 << 30, 768 << 20
	maxCPU, maxTime    = 60 * time.Second, 5 * time.Minute
	maxAnswer          = 128 << 20
	// atATime is how many documents are read at a time.
	atATime = 2
)

// Work is what the children of a program that uses a Parser do: child.Main has it.
func Work() child.Work {
	return child.Work{
		Name: "parse", Do: serve, Memory: memory, SoftMemory: softMemory, CPU: maxCPU, Time: maxTime, MaxAnswer: maxAnswer,
	}
}

// Parser reads documents. It is safe for concurrent use.
type Parser struct{ children *child.Runner }

// New returns a parser. The program must have called child.Main with Work.
func New() *Parser { return &Parser{children: child.New(Work(), atATime)} }

// request is what a child does: it reads a file that follows.
type request struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
}

// head is its answer; the text follows.
type head struct {
	Title string `json:"title"`
	// Blocks are five numbers each.
	Blocks []int `json:"blocks"`
}

// numbers is how many numbers a block has in a head.
const numbers = 5

// Parse reads a document in a child process. The error of a document that is refused is an *Error; any other error is transient, such as
// UNAVAILABLE if too many documents are being read.
func (p *Parser) Parse(ctx context.Context, in Input) (Document, error) {
	mediaType, err := MediaType(in.Name, in.MediaType, in.Data)
	if err != nil {
		return Document{}, err
	}
	release, err := p.children.Acquire(ctx)
	if err != nil {
		return Document{}, err
	}
	defer release()
	var got head
	text, err := p.children.Do(ctx, request{Name: in.Name, MediaType: mediaType}, in.Data, &got)
	if refused, ok := errors.AsType[*child.Error](err); ok {
		if refused.Exhausted {
			return Document{}, &Error{
				Text:      fmt.Sprintf("cannot be read with %d MiB of memory and %s of processor time: split or simplify it", memory>>20, maxCPU),
				Exhausted: true,
			}
		}
		return Document{}, &Error{Text: refused.Text}
	}
	if err != nil {
		return Document{}, fmt.Errorf("parse a document: %w", err)
	}
	d := Document{MediaType: mediaType, Title: got.Title, Text: string(text)}
	if d.Blocks, err = blocks(got.Blocks, d.Text); err != nil {
		return Document{}, fmt.Errorf("parse a document: %w", err)
	}
	return d, nil
}

// blocks decodes blocks. It checks them, since the child has met a file that may have been made to attack it.
func blocks(all []int, text string) ([]Block, error) {
	if !utf8.ValidString(text) || len(all)%numbers != 0 {
		return nil, errors.New("the child's answer is damaged")
	}
	out := make([]Block, 0, len(all)/numbers)
	at := 0
	for n := all; len(n) > 0; n = n[numbers:] {
		b := Block{Kind: Kind(n[0]), Start: n[1], End: n[2], Level: n[3], Page: n[4]}
		if b.Start < at || b.End <= b.Start || b.End > len(text) || b.Kind < Paragraph || b.Kind > Quote || b.Level < 0 || b.Page < 0 ||
			!utf8.RuneStart(text[b.Start]) || b.End < len(text) && !utf8.RuneStart(text[b.End]) {
			return nil, errors.New("the child's answer has blocks that are out of order")
		}
		at = b.End
		out = append(out, b)
	}
	return out, nil
}

// serve reads a document in a child.
func serve(line json.RawMessage, data []byte) (child.Answer, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return child.Answer{}, err
	}
	d, err := Read(Input{Name: r.Name, MediaType: r.MediaType, Data: data})
	if refused, ok := errors.AsType[*Error](err); ok {
		return child.Answer{}, child.Refuse("%s", refused.Text)
	}
	got := head{Title: d.Title, Blocks: make([]int, 0, numbers*len(d.Blocks))}
	for _, b := range d.Blocks {
		got.Blocks = append(got.Blocks, int(b.Kind), b.Start, b.End, b.Level, b.Page)
	}
	return child.Answer{Head: got, Body: []byte(d.Text)}, err
}

// Read reads a document in this process, without limits of memory and time: tests and tools call it with documents that they trust.
func Read(in Input) (Document, error) {
	mediaType, err := MediaType(in.Name, in.MediaType, in.Data)
	if err != nil {
		return Document{}, err
	}
	in.MediaType = mediaType
	base := baseType(mediaType)
	for _, f := range formats() {
		if f.Reads(base) {
			d, err := f.Parse(in)
			d.MediaType = mediaType
			return d, err
		}
	}
	return Document{}, document.Refuse("is of the type %s, which cannot be read", base)
}
