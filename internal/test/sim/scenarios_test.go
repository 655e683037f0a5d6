package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/peer"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/sim"
	"github.com/graspd/graspd/internal/test/testkit"
)

// stage is one graspd and one relay that works as it should, with everything
// that they say to each other.
type stage struct {
	*transcript
	relay *testkit.FakeRelay
	here  *sim.Graspd
	proj  *nostr.Event // the announcement of a repository
	now   func() int64
	n     int
}

// onStage runs a scenario and compares its transcript.
func onStage(t *testing.T, name, title string, engine func(*relaysync.Config), play func(s *stage)) {
	t.Helper()
	bubble(t, func(t *testing.T, w *sim.World) {
		// Every frame takes 20 ms, so that the times can be read.
		w.Fakes.Delay = func(string) func() time.Duration { return func() time.Duration { return 20 * time.Millisecond } }
		f := w.Fake("relay.example.net")
		f.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: 20}}
		f.MaxSubs = 20
		s := &stage{transcript: newTranscript(t, w, f), relay: f, now: w.Unix}
		s.here = w.Graspd("here.example.org", sim.Options{Bootstrap: []grasp.RelayURL{f.URL}, Engine: engine})
		for i, who := range []string{"alice", "bob", "carol"} {
			s.call(testkit.Someone(i).String(), who)
		}
		s.proj = s.name("proj", announce(w, 0, "proj", s.here.URL, f.URL))
		play(s)
		s.compare(name, title)
	})
}

// issue makes one of a repository, and gives it the next name.
func (s *stage) issue(of *nostr.Event) *nostr.Event {
	s.n++
	name := fmt.Sprint("issue-", s.n)
	return s.name(name, testkit.Mark(testkit.Someone(1), s.now(), nip34.KindIssue, name, nostr.Tag{"a", of.Address()}))
}

func (s *stage) comment(on *nostr.Event) *nostr.Event {
	s.n++
	name, id := fmt.Sprint("comment-", s.n), on.ID.String()
	return s.name(name, testkit.Mark(testkit.Someone(2), s.now(), nostr.KindComment, name, nostr.Tag{"E", id}, nostr.Tag{"e", id}))
}

// settled starts graspd and lets it settle with a repository of two issues and a comment.
func (s *stage) settled() (issue *nostr.Event) {
	issue = s.issue(s.proj)
	s.relay.Store(s.proj, issue, s.comment(issue), s.issue(s.proj))
	s.here.Start()
	wait(time.Hour)
	return issue
}

func TestFirstConnect(t *testing.T) {
	const title = "First connect: a relay holds a repository of ours with an issue and a comment on it, and somebody else's repository."
	onStage(t, "first-connect", title, nil, func(s *stage) {
		issue := s.issue(s.proj)
		foreign := s.name("foreign", testkit.Mark(testkit.Someone(2), s.now(), nip34.KindRepository, "", nostr.Tag{"d", "else"}, nostr.Tag{"relays", "wss://else.example.com"}))
		comment := s.comment(issue)
		s.relay.Store(s.proj, issue, comment, foreign)
		s.begin()
		s.here.Start()
		wait(time.Minute)
		s.here.WantStored(s.proj, issue, comment)
		live := s.comment(issue)
		s.say("carol comments")
		s.relay.Add(live)
		wait(time.Second)
		s.here.WantStored(live)
	})
}

func TestQuickReconnect(t *testing.T) {
	const title = "Quick reconnect: after three days the connection is lost for two minutes, in which an issue and a comment on an old one appear."
	onStage(t, "quick-reconnect", title, nil, func(s *stage) {
		old := s.settled()
		wait(72 * time.Hour)
		s.begin()
		s.say("the relay is gone")
		s.relay.RefuseDial.Store(true)
		s.relay.Drop()
		wait(2 * time.Minute)
		issue, comment := s.issue(s.proj), s.comment(old)
		s.relay.Store(issue, comment)
		s.relay.RefuseDial.Store(false)
		s.say("the relay is back")
		wait(4 * time.Minute)
		s.here.WantStored(issue, comment)
	})
}

func TestStaleReconnect(t *testing.T) {
	const title = "Stale reconnect: after three days the connection is lost for an hour, in which a comment on an old issue appears."
	onStage(t, "stale-reconnect", title, nil, func(s *stage) {
		old := s.settled()
		wait(72 * time.Hour)
		s.begin()
		s.say("the relay is gone")
		s.relay.RefuseDial.Store(true)
		s.relay.Drop()
		wait(time.Hour)
		comment := s.comment(old)
		s.relay.Store(comment)
		s.relay.RefuseDial.Store(false)
		s.say("the relay is back")
		wait(time.Hour)
		s.here.WantStored(comment)
	})
}

func TestMergeOnAdd(t *testing.T) {
	const title = "Merge on add: issues come one after the other, each in a subscription of its own, until there are more filters than\nthey are worth; a united subscription is opened before the small ones are closed. A comment comes in the middle of that."
	few := func(c *relaysync.Config) { c.Peer = peer.Config{MaxFilters: 12} }
	onStage(t, "merge-on-add", title, few, func(s *stage) {
		s.settled()
		s.begin()
		for range 3 {
			issue := s.issue(s.proj)
			s.say("%s appears", s.names[issue.ID.String()])
			s.relay.Add(issue)
			wait(600 * time.Millisecond)
			comment := s.comment(issue)
			s.say("%s appears", s.names[comment.ID.String()])
			s.relay.Add(comment)
			wait(24 * time.Second)
			s.here.WantStored(issue, comment)
		}
	})
}

func TestDailyResync(t *testing.T) {
	const title = "Daily resync: a comment was not shown live. Live subscriptions stay open, sets that are equal move nothing, and the comment comes."
	onStage(t, "daily-resync", title, nil, func(s *stage) {
		old := s.settled()
		missed := s.comment(old)
		s.relay.Store(missed)
		wait(21 * time.Hour)
		s.here.WantAbsent(missed)
		s.begin()
		wait(4 * time.Hour)
		s.here.WantStored(missed)
	})
}
