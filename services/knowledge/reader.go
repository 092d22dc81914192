package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/chunk"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
	"github.com/windlass-dev/windlass/services/knowledge/parse/markdown"
	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// reader implements ingest.Reader.
type reader struct{ parser *parse.Parser }

// Read implements ingest.Reader.
func (r reader) Read(ctx context.Context, c ingest.Content) (store.Ingested, error) {
	d, err := r.parser.Parse(ctx, parse.Input{Name: c.Name, MediaType: c.MediaType, Data: c.Data})
	if refused, ok := errors.AsType[*parse.Error](err); ok {
		return store.Ingested{}, &ingest.RefusedError{Reason: fmt.Sprintf("%s %s", c.Name, refused.Text)}
	}
	if err != nil {
		return store.Ingested{}, err
	}
	out := store.Ingested{Title: d.Title, Text: d.Text}
	for _, part := range chunk.Split(d) {
		counts, length := rank.Count(part.Heading, d.Text[part.Start:part.End])
		out.Chunks = append(out.Chunks, store.Chunk{
			Start: part.Start, End: part.End, Heading: part.Heading, Page: part.Page, Counts: counts, Length: length,
			Hash: embed.Hash(embed.Text(part.Heading, d.Text[part.Start:part.End])),
		})
	}
	return out, nil
}

// labels implements syncs.Deps.Labels.
func labels(mediaType string, data []byte) ([]string, error) {
	if base, _, _ := strings.Cut(mediaType, ";"); !(markdown.Format{}).Reads(base) {
		return nil, nil
	}
	out, err := markdown.Labels(parse.Input{MediaType: mediaType, Data: data})
	if refused, ok := errors.AsType[*parse.Error](err); ok {
		return nil, fault.Invalid("labels", "it %s", refused.Text)
	}
	return out, err
}

// mediaType implements document.Deps.MediaType.
func mediaType(name, declared string, data []byte) (string, error) {
	out, err := parse.MediaType(name, declared, data)
	if refused, ok := errors.AsType[*parse.Error](err); ok {
		return "", fault.Invalid("media_type", "the document %s", refused.Text)
	}
	return out, err
}
