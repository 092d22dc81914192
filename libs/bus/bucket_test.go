package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/bus/bustest"
)

func bucket(t testing.TB, b *bus.Bus, maxBytes int64) *bus.Bucket {
	t.Helper()
	k, err := b.Bucket(t.Context(), bus.BucketConfig{Name: "things", MaxAge: time.Hour, MaxBytes: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func get(t testing.TB, k *bus.Bucket, key string) string {
	t.Helper()
	v, ok, err := k.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if ok != (v.Revision > 0) {
		t.Errorf("%s: found %v, revision %d", key, ok, v.Revision)
	}
	return string(v.Data)
}

func TestBucket(t *testing.T) {
	b := embedded(t)
	k := bucket(t, b, 1<<20)
	if got := get(t, k, "a.b"); got != "" {
		t.Errorf("before: %q", got)
	}
	first, err := k.Put(t.Context(), "a.b", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, k, "a.b"); got != "1" {
		t.Errorf("after Put: %q", got)
	}
	second, err := k.Put(t.Context(), "a.b", []byte("2"))
	if err != nil || second <= first {
		t.Errorf("revision %d after %d, %v", second, first, err)
	}
	if v, _, err := k.Get(t.Context(), "a.b"); err != nil || string(v.Data) != "2" || v.Revision != second {
		t.Errorf("got %q, revision %d, %v; want revision %d", v.Data, v.Revision, err, second)
	}
	for _, key := range []string{"a.c", "x.b"} {
		if _, err := k.Put(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	if n, size, err := k.Size(t.Context()); n != 3 || size == 0 || err != nil {
		t.Errorf("size: %d values, %d bytes, %v", n, size, err)
	}
	if n, err := k.Count(t.Context(), "a.*"); n != 2 || err != nil {
		t.Errorf("%d keys match a.*, %v", n, err)
	}
	if err := k.Delete(t.Context(), "a.>"); err != nil {
		t.Fatal(err)
	}
	if got := get(t, k, "a.b") + get(t, k, "a.c") + get(t, k, "x.b"); got != "x.b" {
		t.Errorf("after Delete: %q", got)
	}
}

// TestReplace: of those who replace a revision, one does.
func TestReplace(t *testing.T) {
	k := bucket(t, embedded(t), 1<<20)
	replace := func(data string, revision uint64) bool {
		t.Helper()
		ok, err := k.Replace(t.Context(), "a.b", []byte(data), revision)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !replace("1", 0) || replace("2", 0) {
		t.Error("a key without a value gets one once")
	}
	v, _, err := k.Get(t.Context(), "a.b")
	if err != nil {
		t.Fatal(err)
	}
	if !replace("3", v.Revision) || replace("4", v.Revision) || get(t, k, "a.b") != "3" {
		t.Error("a revision is replaced once")
	}
	if keys, err := k.Keys(t.Context(), "a.*"); err != nil || !slices.Equal(keys, []string{"a.b"}) {
		t.Errorf("keys %q, %v", keys, err)
	}
}

// TestManyValuesAtOnce: each has its own revision, in the order in which they were started, also if nobody waits for some of them.
func TestManyValuesAtOnce(t *testing.T) {
	k := bucket(t, embedded(t), 1<<20)
	var waits []func(context.Context) (uint64, error)
	for i := range 100 {
		wait := k.Start(fmt.Sprintf("k.%d", i), []byte(strconv.Itoa(i)))
		if i%10 != 0 {
			waits = append(waits, wait)
		}
	}
	last := uint64(0)
	for _, wait := range waits {
		revision, err := wait(t.Context())
		if err != nil || revision <= last {
			t.Fatalf("revision %d after %d, %v", revision, last, err)
		}
		last = revision
	}
	for i := range 100 {
		if got := get(t, k, fmt.Sprintf("k.%d", i)); got != strconv.Itoa(i) {
			t.Errorf("k.%d is %q", i, got)
		}
	}
}

// TestBucketRemovesTheOldest has a full bucket go on.
func TestBucketRemovesTheOldest(t *testing.T) {
	k := bucket(t, embedded(t), 64<<10)
	value := make([]byte, 1<<10)
	for i := range 200 {
		if _, err := k.Put(t.Context(), fmt.Sprintf("k.%d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	if get(t, k, "k.0") != "" || get(t, k, "k.199") == "" {
		t.Error("the oldest value is there, or the last is not")
	}
}

// TestBucketOfAnEarlierProcess: what is known of the keys of a bucket includes those on disk, and all users of the bucket share it.
func TestBucketOfAnEarlierProcess(t *testing.T) {
	dir := t.TempDir()
	open := func() (*bus.Bus, *bus.Bucket) {
		b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return b, bucket(t, b, 0)
	}
	b, k := open()
	if _, err := k.Put(t.Context(), "old", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b, k = open()
	defer func() {
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	other := bucket(t, b, 0)
	if _, err := other.Put(t.Context(), "new", []byte("2")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, k, "old") + get(t, k, "new") + get(t, k, "none"); got != "12" {
		t.Errorf("got %q", got)
	}
}

func TestBucketAway(t *testing.T) {
	b := embedded(t)
	k := bucket(t, b, 0)
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, getErr := k.Get(t.Context(), "a")
	_, putErr := k.Put(t.Context(), "a", nil)
	_, _, sizeErr := k.Size(t.Context())
	_, countErr := k.Count(t.Context(), "*")
	_, keysErr := k.Keys(t.Context(), "*")
	_, replaceErr := k.Replace(t.Context(), "a", nil, 0)
	for what, err := range map[string]error{
		"Get": getErr, "Put": putErr, "Size": sizeErr, "Count": countErr, "Keys": keysErr, "Replace": replaceErr,
		"Delete": k.Delete(t.Context(), ">"),
	} {
		if !errors.Is(err, bus.ErrClosed) && !errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestBucketRefusesForeignValues has a client without the mesh's key write a value.
func TestBucketRefusesForeignValues(t *testing.T) {
	url := bustest.Foreign(t)
	ours := onForeign(t, url, []byte("the key of this mesh"))
	other := onForeign(t, url, []byte("the key of another mesh"))
	k, foreign := bucket(t, ours, 0), bucket(t, other, 0)
	if _, err := foreign.Put(t.Context(), "a", []byte("poison")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, k, "a"); got != "" {
		t.Errorf("got %q", got)
	}
	if _, err := k.Put(t.Context(), "a", []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, k, "a"); got != "ours" {
		t.Errorf("got %q", got)
	}
}
