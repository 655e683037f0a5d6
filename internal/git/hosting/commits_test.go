package hosting_test

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/git/gitrepo"
	"github.com/graspd/graspd/internal/protocol/gitwire"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// TestCommitsOfAPush: a push takes one, and one for all repositories follows within seconds. What is refused takes none, and a commit that waits for its
// event neither.
func TestCommitsOfAPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		s := newStory(m)
		m.failing = true
		m.start()
		defer m.end()
		for _, e := range []*nostr.Event{s.announced[0], s.states[0]} {
			m.publish(e)
		}
		var before uint64
		took := func(what string, commits uint64) {
			t.Helper()
			if n := m.door.Stats().Commits - before; n != commits {
				t.Errorf("%s takes %d commits, want %d", what, n, commits)
			}
			before = m.door.Stats().Commits
		}
		before = m.door.Stats().Commits
		if m.push(s.first, s.wants[1]) {
			t.Error("a push of what no state says is taken")
		}
		took("a refused push", 0)
		if !m.push(s.first, s.wants[0]) {
			t.Error("a push is refused")
		}
		took("a push", 1)
		s.rest()
		took("what follows", 1)
		if !m.push(s.first, map[string]gitwire.ObjectID{refs.TipName(s.pulls[0].ID): s.tips[0]}) {
			t.Error("a commit before its event is refused")
		}
		s.rest()
		took("a commit before its event", 0)
	})
}

// TestPacksLandOnce: however often the writer does the work of a push, its packs are admitted once, and counted once. Where another push has begun the
// repository meanwhile, they come to that one's directory.
func TestPacksLandOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMortal(t)
		s := newStory(m)
		m.start()
		defer m.end()
		tip := s.tips[0]
		q := ok(m.disk.Begin(gitrepo.ID{}))
		defer q.Close()
		ok(q.Receive(t.Context(), bytes.NewReader(m.Pack(m.All([]gitwire.ObjectID{tip}, nil))), gitrepo.Receiving{MaxBytes: 1 << 20, MaxObjects: 1 << 10}))
		proof := ok(q.Prove(t.Context(), gitrepo.Proving{Commits: []gitwire.ObjectID{tip}}))
		mine, theirs := refdb.Dir{1}, refdb.Dir{2}
		admit, undo := m.host.Landing(refdb.Arrival{Of: s.first, Dir: mine, Bytes: proof.Bytes}, q)
		lands := func(dir refdb.Dir, admits, repositories int) {
			t.Helper()
			if err := admit(dir); err != nil {
				t.Fatal(err)
			}
			missing := ok(m.disk.Missing(gitrepo.ID(dir), []gitwire.ObjectID{tip}))
			n, kept, err := m.host.Kept()
			if len(missing) > 0 || m.disk.Calls("Admit") != admits || n != repositories || kept != proof.Bytes || err != nil {
				t.Errorf("%d missing, %d times admitted, %d repositories with %d bytes (%v)", len(missing), m.disk.Calls("Admit"), n, kept, err)
			}
		}
		lands(mine, 1, 1)
		lands(mine, 1, 1)
		lands(theirs, 2, 0)
		lands(theirs, 2, 0)
		undo()
		if n, kept, err := m.host.Kept(); n != 0 || kept != 0 || err != nil {
			t.Errorf("%d repositories with %d bytes are counted (%v)", n, kept, err)
		}
	})
}
