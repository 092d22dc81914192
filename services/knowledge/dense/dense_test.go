package dense_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/dense"
)

func all(string) bool { return true }

// corpus is a set of unit vectors with queries.
type corpus struct {
	name             string
	vectors, queries [][]float32
}

// clustered are vectors around topics, as those of texts are. Zero is the share of their numbers that are zero, mean what all have in
// common.
func clustered(seed uint64, name string, n, size int, zero, mean float64) corpus {
	random := rand.New(rand.NewPCG(seed, 1))
	centers := make([][]float64, 2)
	for i := range centers {
		centers[i] = make([]float64, size)
		for j := range centers[i] {
			centers[i][j] = random.NormFloat64() + mean
		}
	}
	draw := func() []float32 {
		center, v := centers[random.IntN(len(centers))], make([]float32, size)
		for j := range v {
			if random.Float64() >= zero {
				v[j] = float32(center[j] + random.NormFloat64())
			}
		}
		unit, _ := dense.Unit(v)
		return unit
	}
	c := corpus{name: name}
	for range n {
		c.vectors = append(c.vectors, draw())
	}
	for range 10 {
		c.queries = append(c.queries, draw())
	}
	return c
}

// TestCodesKeepTheNearest: of the ten nearest vectors, at least 95 % are among those that are found by codes and ordered by vectors.
func TestCodesKeepTheNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []corpus{
		clustered(1, "384 numbers", 800, 384, 0, 0),
		clustered(2, "with a common mean", 800, 256, 0, 1),
		clustered(3, "half of them zero", 800, 256, 0.5, 0),
		clustered(4, "1,536 numbers", 500, 1536, 0, 0.2),
	} {
		index, stored := dense.NewIndex(), map[int64][]byte{}
		for i, v := range c.vectors {
			index.Add(dense.Entry{Seq: int64(i + 1), Chunk: int64(i), Document: fmt.Sprint(i / 10), Ordinal: i, Code: dense.Code(v)})
			stored[int64(i)] = dense.Bytes(v)
		}
		order := func(query []float32, ids []int64) []int64 {
			cosines := map[int64]float64{}
			for _, id := range ids {
				cosines[id], _ = dense.Cosine(query, stored[id])
			}
			slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(cosines[b], cosines[a]) })
			return ids[:10]
		}
		kept := 0
		for _, q := range c.queries {
			every := make([]int64, len(c.vectors))
			for i := range every {
				every[i] = int64(i)
			}
			exact := order(q, every)
			for _, id := range order(q, index.Nearest(dense.Code(q), 200, all)) {
				if slices.Contains(exact, id) {
					kept++
				}
			}
		}
		recall := float64(kept) / float64(10*len(c.queries))
		t.Logf("%s: %.3f of the exact ten nearest", c.name, recall)
		if recall < 0.95 {
			t.Errorf("%s: recall %.3f, want 0.95", c.name, recall)
		}
	}
}

func TestUnitsAndStoredVectors(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	for _, row := range []struct {
		name string
		in   []float32
		want []float32
	}{
		{name: "any length", in: []float32{3, 4}, want: []float32{0.6, 0.8}},
		{name: "zero", in: []float32{0, 0}},
		{name: "no numbers"},
		{name: "not a number", in: []float32{1, float32(math.NaN())}},
		{name: "infinite", in: []float32{1, inf}},
		{name: "large", in: []float32{math.MaxFloat32, 0}, want: []float32{1, 0}},
	} {
		got, ok := dense.Unit(row.in)
		if ok != (row.want != nil) || !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, %v", row.name, got, ok)
		}
	}
	if cosine, ok := dense.Cosine([]float32{0.6, 0.8}, dense.Bytes([]float32{1, 0})); !ok || math.Abs(cosine-0.6) > 1e-6 {
		t.Error(cosine, ok)
	}
	for _, stored := range [][]byte{nil, {1, 2, 3}, dense.Bytes([]float32{1})} {
		if _, ok := dense.Cosine([]float32{0.6, 0.8}, stored); ok {
			t.Errorf("compared with %v", stored)
		}
	}
}

func TestNearestIsTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	v, _ := dense.Unit([]float32{1, 2, 3})
	w, _ := dense.Unit([]float32{-1, 2, -3})
	entries := []dense.Entry{
		{Chunk: 1, Document: "b", Ordinal: 1, Code: dense.Code(v)},
		{Chunk: 2, Document: "a", Ordinal: 2, Code: dense.Code(v)},
		{Chunk: 3, Document: "a", Ordinal: 1, Code: dense.Code(v)},
		{Chunk: 4, Document: "c", Ordinal: 0, Code: dense.Code(w)},
		{Chunk: 5, Document: "d", Ordinal: 0},
		{Chunk: 6, Document: "e", Ordinal: 0, Code: []byte("12345678")},
	}
	for range 5 {
		index := dense.NewIndex()
		for i, e := range entries {
			e.Seq = int64(i + 1)
			index.Add(e)
		}
		if got := index.Nearest(dense.Code(v), 2, all); !slices.Equal(got, []int64{3, 2}) {
			t.Errorf("%v", got)
		}
		if got := index.Nearest(dense.Code(v), 9, func(d string) bool { return d != "a" }); !slices.Equal(got, []int64{1, 4}) {
			t.Errorf("without a document: %v", got)
		}
		if got := index.Nearest(dense.Code(make([]float32, 2048)), 9, all); got != nil {
			t.Errorf("by a code of another length: %v", got)
		}
		if index.Len() != 6 || index.Last() != 6 {
			t.Errorf("%d entries up to %d", index.Len(), index.Last())
		}
		first := entries[0] // the first code decides the length
		entries = append(append([]dense.Entry{}, entries[1:4]...), append([]dense.Entry{first}, entries[4:]...)...)
	}
}

func TestACacheKeepsWhatFits(t *testing.T) {
	t.Parallel()
	v, _ := dense.Unit([]float32{1, 2, 3})
	fill := func(n int) func(*dense.Index) (*dense.Index, error) {
		return func(x *dense.Index) (*dense.Index, error) {
			for i := x.Len(); i < n; i++ {
				x.Add(dense.Entry{Seq: int64(i + 1), Chunk: int64(i), Document: "d", Code: dense.Code(v)})
			}
			return x, nil
		}
	}
	c := dense.NewCache(60_000)
	length := func(key dense.Key) (n int) {
		_ = c.Use(key, func(x *dense.Index) (*dense.Index, error) { n = x.Len(); return x, nil })
		return n
	}
	a, b, large := dense.Key{Bank: "a"}, dense.Key{Bank: "b"}, dense.Key{Bank: "large"}
	for _, key := range []dense.Key{a, b} {
		if err := c.Use(key, fill(200)); err != nil {
			t.Fatal(err)
		}
	}
	if length(b) != 200 || length(a) != 0 {
		t.Error("the bank used least recently was not dropped")
	}
	if err := c.Use(b, fill(200)); err != nil {
		t.Fatal(err)
	}
	if err := c.Use(large, fill(2000)); !errors.Is(err, dense.ErrTooLarge) || length(large) != 0 || length(b) != 200 {
		t.Errorf("a bank that does not fit: %v, and %d codes of another", err, length(b))
	}
	stopped := errors.New("stopped")
	if err := c.Use(large, func(x *dense.Index) (*dense.Index, error) {
		if x, _ := fill(2000)(x); c.Holds(x) {
			t.Error("2,000 codes count as small")
		}
		return x, stopped
	}); !errors.Is(err, stopped) || length(large) != 0 || length(b) != 200 {
		t.Errorf("a bank that was found too large: %v, and %d codes of another", err, length(b))
	}
	if code := dense.Code(v); c.Fits(2000, code) || !c.Fits(200, code) {
		t.Error("2,000 codes may fit, or 200 may not")
	}
	failed := errors.New("failed")
	if err := c.Use(a, func(*dense.Index) (*dense.Index, error) { return nil, failed }); !errors.Is(err, failed) || length(a) != 0 {
		t.Errorf("after an error: %v", err)
	}
}

// BenchmarkNearest searches 100,000 codes of vectors of 1,536 numbers.
func BenchmarkNearest(b *testing.B) {
	random, index := rand.New(rand.NewPCG(1, 2)), dense.NewIndex()
	code := func() []byte {
		out := make([]byte, 0, 256)
		for range 32 {
			out = binary.LittleEndian.AppendUint64(out, random.Uint64())
		}
		return out
	}
	for i := range 100_000 {
		index.Add(dense.Entry{Seq: int64(i + 1), Chunk: int64(i), Document: fmt.Sprint(i / 50), Ordinal: i % 50, Code: code()})
	}
	for b.Loop() {
		index.Nearest(code(), 200, all)
	}
	b.ReportMetric(float64(index.Bytes())/(1<<20), "MiB")
}
