package objecttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graspd/graspd/internal/base/objects"
)

// Contract is what every object store promises. fresh makes an empty one.
func Contract(t *testing.T, fresh func(testing.TB) objects.Store) {
	for _, c := range []struct {
		name string
		run  func(testing.TB, objects.Store)
	}{
		{"what is not there", nothing},
		{"an object is read as it was written", written},
		{"an object is read in parts", parts},
		{"an object never changes", once},
		{"of many writers of a name one is done", race},
		{"lists are in order and in pages", lists},
		{"what is deleted is gone", deleted},
		{"bytes belong to whoever gave them", owned},
		{"nothing is known once the context has ended", ended},
		{"bounds", bounds},
		{"the trial", tried},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}

func put(t testing.TB, s objects.Store, name string, b []byte, want objects.Outcome) {
	t.Helper()
	if o, err := s.Put(t.Context(), name, bytes.NewReader(b)); o != want || err != nil {
		t.Fatalf("put %s: %v, %v; want %v", name, o, err, want)
	}
}

func wantObject(t testing.TB, s objects.Store, name string, want []byte) {
	t.Helper()
	if b, err := s.Get(t.Context(), name, 0, objects.MaxPart); err != nil || !bytes.Equal(b, want) {
		t.Errorf("%s: %d bytes, %v; want %d", name, len(b), err, len(want))
	}
	if i, err := s.Head(t.Context(), name); err != nil || i != (objects.Info{Name: name, Size: int64(len(want))}) {
		t.Errorf("%s: %+v, %v; want %d bytes", name, i, err, len(want))
	}
}

func wantNone(t testing.TB, s objects.Store, name string) {
	t.Helper()
	if b, err := s.Get(t.Context(), name, 0, 10); !errors.Is(err, objects.ErrNone) {
		t.Errorf("%s: %q, %v", name, b, err)
	}
	if i, err := s.Head(t.Context(), name); !errors.Is(err, objects.ErrNone) {
		t.Errorf("%s: %+v, %v", name, i, err)
	}
}

func wantList(t testing.TB, s objects.Store, prefix, after string, most int, want ...string) {
	t.Helper()
	page, err := s.List(t.Context(), prefix, after, most)
	var got []string
	for _, o := range page {
		got = append(got, o.Name)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("list %q after %q: %q, %v; want %q", prefix, after, got, err, want)
	}
}

func nothing(t testing.TB, s objects.Store) {
	put(t, s, "a/b", []byte("b"), objects.Done)
	for _, name := range []string{"a", "b", "a/", "a/a", "a/c", "a/b/c", "z"} {
		if objects.CheckName(name) == nil {
			wantNone(t, s, name)
		}
	}
	wantList(t, s, "b", "", 10)
	wantList(t, s, "", "a/b", 10)
	if err := s.Delete(t.Context(), "a/a"); err != nil {
		t.Error(err)
	}
	wantObject(t, s, "a/b", []byte("b"))
}

func written(t testing.TB, s objects.Store) {
	bodies := [][]byte{{0}, []byte("body\n\x00\xff"), {}, bytes.Repeat([]byte{7, 0}, 10<<20)}
	for i, b := range bodies {
		put(t, s, fmt.Sprint("some/object-", i), b, objects.Done)
	}
	for i, b := range bodies {
		wantObject(t, s, fmt.Sprint("some/object-", i), b)
	}
}

func parts(t testing.TB, s objects.Store) {
	put(t, s, "digits", []byte("0123456789"), objects.Done)
	put(t, s, "empty", nil, objects.Done)
	for _, c := range []struct {
		from int64
		n    int
		want string
	}{{0, 1, "0"}, {0, 10, "0123456789"}, {0, 11, "0123456789"}, {3, 4, "3456"}, {9, 1, "9"}, {9, 5, "9"}, {10, 1, ""}, {1000, 5, ""}} {
		if b, err := s.Get(t.Context(), "digits", c.from, c.n); err != nil || string(b) != c.want {
			t.Errorf("%d from %d on: %q, %v", c.n, c.from, b, err)
		}
	}
	for _, from := range []int64{0, 1} {
		if b, err := s.Get(t.Context(), "empty", from, 5); err != nil || len(b) != 0 {
			t.Errorf("of nothing: %q, %v", b, err)
		}
	}
}

func once(t testing.TB, s objects.Store) {
	first := []byte("first")
	put(t, s, "name", first, objects.Done)
	for _, b := range [][]byte{[]byte("other"), first, {}, bytes.Repeat(first, 1<<12)} {
		put(t, s, "name", b, objects.Exists)
	}
	wantObject(t, s, "name", first)
}

func race(t testing.TB, s objects.Store) {
	const writers, names = 8, 6
	done := make([][]byte, names)
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range names {
				o, err := s.Put(t.Context(), fmt.Sprint("race/", i), bytes.NewReader([]byte{'a' + byte(w)}))
				mu.Lock()
				if err != nil {
					t.Error(err)
				}
				if o == objects.Done {
					done[i] = append(done[i], 'a'+byte(w))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for i, who := range done {
		if len(who) != 1 {
			t.Fatalf("name %d: %q were done", i, who)
		}
		wantObject(t, s, fmt.Sprint("race/", i), who)
	}
}

func lists(t testing.TB, s objects.Store) {
	names := []string{"log/09", "log/10", "log/100", "log/11", "log/a.b", "log/a_b", "trash/1"}
	for i, name := range []int{3, 0, 6, 2, 5, 1, 4} {
		put(t, s, names[name], make([]byte, i), objects.Done)
	}
	log := names[:6]
	wantList(t, s, "", "", 1000, names...)
	wantList(t, s, "log/", "", 1000, log...)
	wantList(t, s, "log/", "", 6, log...)
	wantList(t, s, "log/", "log/10", 2, log[2:4]...)
	wantList(t, s, "log/", "log/105", 2, log[3:5]...)
	wantList(t, s, "log/1", "log/0", 1000, log[1:4]...)
	wantList(t, s, "log/", "log/a_b", 1000)
	wantList(t, s, "trash/", "log/a_b", 1000, "trash/1")
	if page, err := s.List(t.Context(), "log/", "", 1); err != nil || len(page) != 1 || page[0].Size != 1 {
		t.Errorf("%+v, %v", page, err)
	}
	last := ""
	for i := range 30 {
		name := fmt.Sprintf("many/%020d", i)
		put(t, s, name, nil, objects.Done)
		wantList(t, s, "many/", last, 1000, name)
		last = name
	}
}

func deleted(t testing.TB, s objects.Store) {
	put(t, s, "a/one", []byte("one"), objects.Done)
	put(t, s, "a/two", []byte("two"), objects.Done)
	for range 2 {
		if err := s.Delete(t.Context(), "a/one"); err != nil {
			t.Fatal(err)
		}
		wantNone(t, s, "a/one")
		wantList(t, s, "", "", 10, "a/two")
	}
	put(t, s, "a/one", []byte("again"), objects.Done)
	wantObject(t, s, "a/one", []byte("again"))
	wantObject(t, s, "a/two", []byte("two"))
}

func owned(t testing.TB, s objects.Store) {
	b := []byte("body")
	put(t, s, "name", b, objects.Done)
	b[0] = 'x'
	got, err := s.Get(t.Context(), "name", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'y'
	wantObject(t, s, "name", []byte("body"))
}

func ended(t testing.TB, s objects.Store) {
	ctx, end := context.WithCancel(t.Context())
	end()
	o, err := s.Put(ctx, "name", strings.NewReader("body"))
	if o != objects.Unknown || err == nil {
		t.Errorf("put: %v, %v", o, err)
	}
	_, err1 := s.Get(ctx, "name", 0, 1)
	_, err2 := s.Head(ctx, "name")
	_, err3 := s.List(ctx, "", "", 1)
	for i, err := range []error{err1, err2, err3, s.Delete(ctx, "name")} {
		if err == nil || errors.Is(err, objects.ErrNone) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// huge is a body larger than an object may be.
type huge struct{ *bytes.Reader }

// Size implements objects.Body.
func (huge) Size() int64 { return objects.MaxSize + 1 }

func bounds(t testing.TB, s objects.Store) {
	for _, name := range badNames {
		o, err := s.Put(t.Context(), name, strings.NewReader("x"))
		_, err1 := s.Get(t.Context(), name, 0, 1)
		_, err2 := s.Head(t.Context(), name)
		for _, err := range []error{err, err1, err2, s.Delete(t.Context(), name)} {
			if o != objects.Unknown || !errors.Is(err, objects.ErrName) {
				t.Errorf("%.20q: %v, %v", name, o, err)
			}
		}
	}
	if o, err := s.Put(t.Context(), "a", huge{}); o != objects.Unknown || !errors.Is(err, objects.ErrSize) {
		t.Errorf("too large: %v, %v", o, err)
	}
	for _, c := range []struct {
		from int64
		n    int
	}{{-1, 1}, {0, 0}, {0, -1}, {0, objects.MaxPart + 1}} {
		if _, err := s.Get(t.Context(), "a", c.from, c.n); !errors.Is(err, objects.ErrSize) {
			t.Errorf("%d from %d on: %v", c.n, c.from, err)
		}
	}
	wantList(t, s, "", "", 10)
}

// badNames are no names of objects.
var badNames = []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "A", "a b", "ä", "a\x00", "a?b", "a%20", strings.Repeat("a", objects.MaxName+1)}

func tried(t testing.TB, s objects.Store) {
	put(t, s, "before", []byte("before"), objects.Done)
	put(t, s, "zz", []byte("after"), objects.Done)
	for range 2 {
		if err := objects.Try(t.Context(), s, "trial/5e"); err != nil {
			t.Error(err)
		}
		wantList(t, s, "", "", 10, "before", "zz")
	}
}
