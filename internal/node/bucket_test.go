package node

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/objects"
	"github.com/graspd/graspd/internal/base/objects/objecttest"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestWhichDirectoryFitsWhichBucket has all cases.
func TestWhichDirectoryFitsWhichBucket(t *testing.T) {
	for _, c := range []struct {
		h        here
		s        seen
		restores bool
		err      error
	}{
		{nothing, seen{}, false, nil},
		{nothing, seen{log: true}, false, nil},
		{nothing, seen{log: true, snapshots: true}, true, nil},
		{nothing, seen{snapshots: true}, false, ErrCut},
		{alone, seen{}, false, ErrEnlist},
		{alone, seen{log: true}, false, ErrOthers},
		{alone, seen{log: true, snapshots: true}, false, ErrOthers},
		{alone, seen{snapshots: true}, false, ErrCut},
		{enlisted, seen{}, false, ErrOthers},
		{enlisted, seen{log: true}, false, nil},
		{enlisted, seen{log: true, snapshots: true}, false, nil},
		{enlisted, seen{snapshots: true}, false, ErrCut},
	} {
		if restores, err := fits(c.h, c.s); restores != c.restores || !errors.Is(err, c.err) {
			t.Errorf("%d beside %+v: %v, %v", c.h, c.s, restores, err)
		}
	}
}

// TestWhoLeadsIsSaidOnce: no two terms have the same, and it can be read.
func TestWhoLeadsIsSaidOnce(t *testing.T) {
	b := &Bucket{Host: "a"}
	now := time.Unix(1_700_000_000, 5)
	one, other := newLeader(b, "git.example.org", now), newLeader(b, "git.example.org", now)
	if slices.Equal(one, other) {
		t.Errorf("%s twice", one)
	}
	var l Leader
	if err := json.Unmarshal(one, &l); err != nil || l.String() != "a, for git.example.org, since 2023-11-14T22:13:20Z" {
		t.Errorf("%s, %v", l, err)
	}
	if l.Domain = ""; l.String() != "a, since 2023-11-14T22:13:20Z" {
		t.Error(l)
	}
}

// overtaken is a bucket into which another node puts something before the first put.
type overtaken struct {
	objects.Store
	once  sync.Once
	first func()
}

func (o *overtaken) Put(ctx context.Context, name string, body objects.Body) (objects.Outcome, error) {
	o.once.Do(o.first)
	return o.Store.Put(ctx, name, body)
}

// TestNodesThatStartTogether: of several that begin with nothing beside an empty bucket, all have the key of the first. Who brings one of their own is
// refused where another came first, and keeps it.
func TestNodesThatStartTogether(t *testing.T) {
	for _, brings := range []bool{false, true} {
		memory := new(objecttest.Memory)
		first, second := t.TempDir(), t.TempDir()
		var own nostr.SecretKey
		if brings {
			var err error
			if own, err = LoadKey(second); err != nil {
				t.Fatal(err)
			}
		}
		b := &Bucket{Objects: objects.Watch(&overtaken{Store: memory, first: func() {
			if err := (&Bucket{Objects: objects.Watch(memory)}).shareKey(t.Context(), first); err != nil {
				t.Error(err)
			}
		}})}
		err := b.shareKey(t.Context(), second)
		one, wrong := ReadKey(first)
		two, wrong2 := ReadKey(second)
		if wrong != nil || wrong2 != nil {
			t.Fatal(wrong, wrong2)
		}
		if !brings && (err != nil || one != two) || brings && (!errors.Is(err, ErrOtherKey) || two != own) {
			t.Errorf("brings %v: %v, the same key %v", brings, err, one == two)
		}
	}
}

// TestTheKeyIsInTheBucket: it comes from where it is to where it lacks, and two different ones are refused.
func TestTheKeyIsInTheBucket(t *testing.T) {
	b := &Bucket{Objects: objects.Watch(new(objecttest.Memory))}
	first, empty, other := t.TempDir(), t.TempDir(), t.TempDir()
	want, err := LoadKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{first, empty, first} {
		if err := b.shareKey(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	one, err := ReadKey(first)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := ReadKey(empty); err != nil || one != two || one == want {
		t.Error("the key is not in the other directory", err)
	}
	if err := b.shareKey(t.Context(), other); !errors.Is(err, ErrOtherKey) {
		t.Error(err)
	}
	if kept, err := ReadKey(other); err != nil || kept != want {
		t.Error("the key is replaced", err)
	}
}
