package objects_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "log/00000000000000000001", "packs/0f-3-9a.idx", "a.b/c_d/e-f", "..a", strings.Repeat("a", objects.MaxName)} {
		if err := objects.CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a//b", "a/", ".", "a/../b", "A", "a b", "ä", strings.Repeat("a", objects.MaxName+1)} {
		if err := objects.CheckName(name); !errors.Is(err, objects.ErrName) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// whole is a store that does not know parts of objects.
type whole struct{ objects.Store }

// Get implements objects.Store.
func (w whole) Get(ctx context.Context, name string, from int64, n int) ([]byte, error) {
	return w.Store.Get(ctx, name, 0, n)
}

// liar is a store that tells every writer no, or yes.
type liar struct {
	objects.Store
	says objects.Outcome
}

// Put implements objects.Store.
func (l liar) Put(ctx context.Context, name string, body objects.Body) (objects.Outcome, error) {
	_, err := l.Store.Put(ctx, name, body)
	return l.says, err
}

// forgets is a store that says done, and has nothing of it.
type forgets struct{ objects.Store }

// Put implements objects.Store.
func (forgets) Put(context.Context, string, objects.Body) (objects.Outcome, error) {
	return objects.Done, nil
}

// blind is a store whose lists are empty, but for one of another name.
type blind struct{ objects.Store }

// List implements objects.Store.
func (b blind) List(ctx context.Context, prefix, after string, most int) ([]objects.Info, error) {
	page, err := b.Store.List(ctx, prefix, after, most)
	if len(page) > 1 {
		page[1].Name = prefix + "x"
	}
	return page, err
}

func TestTryNamesThePromise(t *testing.T) {
	sound := func() *objecttest.Memory { return new(objecttest.Memory) }
	for name, c := range map[string]struct {
		s    objects.Store
		says string
	}{
		"sound":                    {sound(), ""},
		"it replaces":              {&objecttest.Memory{Replaces: true}, "another one was told that it wrote it"},
		"everybody writes":         {liar{sound(), objects.Done}, "another one was told that it wrote it"},
		"it forgets":               {forgets{sound()}, "a read does not see at once what was written"},
		"reads are late":           {&objecttest.Memory{ReadsBehind: 30}, "a read does not see at once what was written"},
		"lists are late":           {&objecttest.Memory{ListsLate: 10}, "a list does not see at once what was written"},
		"lists are wrong":          {blind{sound()}, "a list does not see at once what was written"},
		"it knows no ranges":       {whole{sound()}, "a read of a part"},
		"it replaces, and says no": {liar{&objecttest.Memory{Replaces: true}, objects.Exists}, "is replaced, although its writer heard no"},
	} {
		err := objects.Try(t.Context(), c.s, "trial/1")
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, objects.ErrPromise) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTryLeavesNothing: a trial removes what it wrote, also where it fails or its context ends; what others have stays.
func TestTryLeavesNothing(t *testing.T) {
	for _, s := range []*objecttest.Memory{{}, {Replaces: true}, {Fault: func(q objecttest.Request) objecttest.Fault {
		return objecttest.Fault{Lost: q.Op == "get"}
	}}} {
		for _, name := range []string{"trial", "trial/2"} {
			if _, err := s.Put(t.Context(), name, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		err := objects.Try(t.Context(), s, "trial/1")
		page, err2 := s.List(t.Context(), "", "", 10)
		if err2 != nil || len(page) != 2 || errors.Is(err, objects.ErrPromise) != s.Replaces {
			t.Errorf("%v, and then: %v, %v", err, page, err2)
		}
		if err := objects.Try(t.Context(), s, "trial/2"); err == nil || errors.Is(err, objects.ErrPromise) {
			t.Errorf("it uses names of somebody else: %v", err)
		}
	}
}

// TestTryInBadWeather: a sound store that is hard to reach is never said to break a promise.
func TestTryInBadWeather(t *testing.T) {
	through := 0
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			s := &objecttest.Memory{Fault: objecttest.Random(seed, time.Second)}
			err := objects.Try(t.Context(), s, fmt.Sprintf("trial/%d-", seed))
			if errors.Is(err, objects.ErrPromise) {
				t.Errorf("seed %d: %v", seed, err)
			}
			if err == nil {
				through++
			}
		})
	}
	if through < 5 {
		t.Errorf("only %d trials were through", through)
	}
}
