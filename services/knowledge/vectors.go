package knowledge

import (
	"errors"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/knowledge/dense"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/search"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// vectors are the parts that work with models. Without models they do nothing.
type vectors struct {
	filler *embed.Filler
	hybrid search.Hybrid
}

// newVectors builds the parts that the configuration has.
func newVectors(cfg Config, deps Deps, st *store.Store) (v vectors, err error) {
	if !cfg.Models() {
		return v, nil
	}
	if deps.Models == nil {
		return v, errors.New("knowledge needs Models for embedding_model and rerank_model")
	}
	models := embed.NewModels(deps.Models, embed.Options{
		Model: cfg.EmbeddingModel, Dimensions: cfg.EmbeddingDimensions, Reranker: cfg.RerankModel, Timeout: cfg.ModelTimeout, Now: st.Now,
	})
	v.hybrid = search.Hybrid{
		Models: models, Reranks: cfg.RerankModel != "", Codes: dense.NewCache(int(cfg.VectorMemory)), Log: deps.Log,
	}
	if cfg.EmbeddingModel == "" {
		return v, nil
	}
	v.hybrid.Spaces = st.LiveSpaces
	v.filler, err = embed.NewFiller(embed.Config{Owner: ids.New(ids.Filler), Interval: cfg.SweepInterval}, st, models, deps.Log)
	return v, err
}

// trigger has vectors made of what was ingested.
func (v vectors) trigger() {
	if v.filler != nil {
		v.filler.Trigger()
	}
}
