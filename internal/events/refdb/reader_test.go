package refdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/refdb"
	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// A Reader sees who maintains a repository as the writer does: without what the operator's lists bar, and without what has expired.
func TestAReaderGoesByTheRules(t *testing.T) {
	d := newDesk(t)
	sourced := func(by, other byte, more ...nostr.Tag) *nostr.Event {
		pk := author(other)
		e := d.cloned(by, "d", fmt.Sprintf("https://s%d.example.org/d.git", by))
		e.Tags = append(append(e.Tags, nostr.Tag{"maintainers", pk.String()}), more...)
		e.ID = e.ComputeID()
		return e
	}
	mine, theirs := sourced(1, 2), sourced(2, 1, nostr.Tag{"expiration", "4000000000"})
	d.must(d.turn(func(turn refdb.Turn) error {
		d.add(turn, mine)
		d.add(turn, theirs)
		return nil
	}))
	for _, c := range []struct {
		name string
		bar  policy.PubKeys
		at   time.Time
		want string
	}{
		{"both", nil, d.now, "[https://s1.example.org/d.git https://s2.example.org/d.git]"},
		{"one is barred", policy.PubKeys{author(2): {}}, d.now, "[https://s1.example.org/d.git]"},
		{"both again", nil, d.now, "[https://s1.example.org/d.git https://s2.example.org/d.git]"},
		{"one has expired", nil, time.Unix(4_000_000_000, 0), "[https://s1.example.org/d.git]"},
	} {
		rules := d.rules
		rules.Lists.DenyPubKeys = c.bar
		v := d.store.View()
		l, err := d.ledger.Reader(v, rules, c.at).Lacks(t.Context(), addressOf(mine))
		v.Close()
		if err != nil || fmt.Sprint(l.Sources) != c.want {
			t.Errorf("%s: %v, %v", c.name, l.Sources, err)
		}
	}
}

// What a Reader reads is durable: it sees an event from the commit on at which the event begins to wait, though the writer has not heard of that
// commit yet.
func TestAReaderMissesNoWait(t *testing.T) {
	d := newDesk(t)
	repo := d.announcement(1, "d")
	d.wants(refs.Wait, repo)
	d.lacking(repo, "")
	pr := d.pullRequest(3, 5, repo)
	b, err := d.store.Begin()
	d.must(err)
	turn := refdb.Turn{Batch: b, Now: d.now, Announced: func(string) (*policy.Announced, error) { return d.rules.Gather(nil), nil }, Serves: d.rules.Serves}
	_, err = b.Wait(pr, store.Wait{Came: d.now.Unix(), Until: d.now.Add(refdb.WaitFor).Unix()})
	d.must(err)
	d.must(d.ledger.Waits(turn, pr, ""))
	d.lacking(repo, "")
	_, err = b.Commit()
	d.must(err)
	d.lacking(repo, "tip 5")
	d.ledger.Committed(d.now)
	d.lacking(repo, "tip 5")
}
