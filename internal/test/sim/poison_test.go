package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// announced is a repository of somebody that both relays of p are to hold.
func (p *pair) announced(who int, d string) *nostr.Event {
	return testkit.Mark(testkit.Someone(who), p.w.Unix()-90_000, nip34.KindRepository, "", nostr.Tag{"d", d},
		nostr.Tag{"relays", string(p.here.URL), string(p.relay.URL)})
}

// about is an issue with a comment.
func (p *pair) about(repo *nostr.Event, text string) []*nostr.Event {
	issue := testkit.Mark(testkit.Someone(1), p.w.Unix()-1000, nip34.KindIssue, text, nostr.Tag{"a", repo.Address()})
	return []*nostr.Event{issue, commentAt(p.w.Unix()-900, issue)}
}

// TestOneValueKeepsNothingElseAway: strangers announce repositories with values that the relay does not take in a filter.
// Whatever the relay says to that, all of the others' is here, stored and live, and the relay is asked few times for it.
func TestOneValueKeepsNothingElseAway(t *testing.T) {
	odd := []string{strings.Repeat("x", 200), "with a \x00", "\u00fc" + strings.Repeat("\u00fc", 120)}
	for _, c := range []struct {
		name  string
		mode  testkit.OddMode
		names []string
		bound time.Duration // for what is stored at the relay
	}{
		{"a NOTICE as strfry's", testkit.OddNotice, odd, time.Minute},
		{"a CLOSED that says why", testkit.OddClosed, odd, time.Minute},
		{"a CLOSED that does not", testkit.OddVague, odd, time.Minute},
		{"nothing", testkit.OddSilent, odd, time.Minute},
		{"a NOTICE, for a value like any other", testkit.OddNotice, []string{testkit.Unloved}, time.Minute},
		{"a CLOSED, for a value like any other", testkit.OddVague, []string{testkit.Unloved, "also " + testkit.Unloved}, 10 * time.Minute},
		{"nothing, for a value like any other", testkit.OddSilent, []string{testkit.Unloved, "also " + testkit.Unloved}, 15 * time.Minute},
	} {
		for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
			t.Run(fmt.Sprint(c.name, neg), func(t *testing.T) {
				inPair(t, func(t *testing.T, p *pair) {
					p.relay.Odd, p.relay.Neg = c.mode, neg
					var theirs, all, repos []*nostr.Event
					for i := range 12 {
						repo := p.announced(10+i, fmt.Sprint("repo ", i))
						repos = append(repos, repo)
						all = append(append(all, repo), p.about(repo, "an issue")...)
					}
					for i, d := range c.names {
						for who := range 3 {
							repo := p.announced(50+10*i+who, d)
							theirs = append(theirs, repo)
							p.relay.Store(p.about(repo, "never to be asked for")...)
						}
					}
					p.relay.Store(all...)
					p.relay.Store(theirs...)
					p.here.Start()
					wait(c.bound)
					p.here.WantStored(all...)
					p.here.WantStored(theirs...) // announcements are asked for by no value
					settle(t, p.here, 2*time.Hour)
					if s := state(t, p.here, p.relay.URL); s.Refused != len(theirs) || s.Confirmed.Repositories != len(repos) {
						t.Errorf("%+v", s)
					}
					before, n := state(t, p.here, p.relay.URL).Counters, asks(p.relay)
					var live []*nostr.Event
					for _, repo := range repos {
						live = append(live, p.about(repo, "live")[0])
					}
					p.relay.Add(live...)
					wait(2 * time.Second)
					p.here.WantStored(live...)
					late := p.announced(90, "one more "+c.names[0]) // it comes while all is live, and harms nobody
					p.here.Publish(late)
					wait(30 * time.Minute)
					live = p.about(repos[0], "live as before")[:1]
					p.relay.Add(live...)
					wait(2 * time.Second)
					p.here.WantStored(live...)
					if s := state(t, p.here, p.relay.URL); s.Counters.Catchup != before.Catchup || s.Refused != len(theirs)+1 {
						t.Errorf("%+v", s)
					}
					if more := asks(p.relay) - n; more > 150 {
						t.Errorf("asked %d times since", more)
					}
				})
			})
		}
	}
}
