package gitrepo

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/gitwire"
)

// someIDs are n ids, from the one of that number on.
func someIDs(from, n int) (ids []gitwire.ObjectID) {
	for i := range n {
		var sum [20]byte
		binary.BigEndian.PutUint64(sum[:], uint64(from+i+1))
		ids = append(ids, gitwire.ObjectIDOf(sum))
	}
	return ids
}

// TestOneRepositoryTakesNotAllPromises: nor do all of one owner. What goes over the bound costs the repositories that have most.
func TestOneRepositoryTakesNotAllPromises(t *testing.T) {
	t.Parallel()
	var c recentlyConfirmed
	at := time.Unix(1_700_000_000, 0)
	numbered := func(n int) (repo ID) {
		binary.BigEndian.PutUint64(repo[:8], uint64(n)+1)
		return repo
	}
	of := func(repo ID, wantAll bool, want int) {
		t.Helper()
		if ids, all := c.of(repo); all != wantAll || len(ids) != want {
			t.Fatalf("%d objects, all: %v; want %d, %v", len(ids), all, want, wantAll)
		}
	}
	honest := numbered(1 << 30)
	c.note(honest, someIDs(0, 500), at)
	c.note(numbered(0), someIDs(0, maxPromisesEach), at)
	of(numbered(0), true, maxPromisesEach)
	c.note(numbered(0), someIDs(maxPromisesEach, 1), at)
	of(numbered(0), false, 0)
	of(honest, true, 500)
	for n := range 300 {
		c.note(numbered(n), someIDs(n, maxPromisesEach-n), at)
		if c.now.n > maxPromises {
			t.Fatalf("%d are remembered", c.now.n)
		}
	}
	of(honest, true, 500)
	of(numbered(1<<29), true, 0)
	c.note(honest, someIDs(0, 500), at.Add(promisedFor))
	of(numbered(0), false, 0)
	at = at.Add(2 * promisedFor)
	c.note(honest, someIDs(500, 1), at)
	of(numbered(0), true, 0)
	of(honest, true, 501)
	for n := range maxPromises + 10 {
		c.note(numbered(n), someIDs(0, 2), at)
	}
	if c.now.n > maxPromises {
		t.Fatalf("%d are remembered", c.now.n)
	}
	of(numbered(1<<29), false, 0)
}

// PromiseTooMuch promises more of a repository than is remembered.
func (d *Disk) PromiseTooMuch(repo ID) {
	d.confirmed.note(repo, someIDs(0, maxPromisesEach+1), d.now())
}
