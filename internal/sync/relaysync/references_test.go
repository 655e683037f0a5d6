package relaysync_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// threads is what layers 1 to 3 do not lead to, around the comments of a project.
type threads struct {
	reply     *nostr.Event // to a comment, naming nothing else
	onReply   *nostr.Event // to that in turn
	like      *nostr.Event // of a comment
	lateLike  *nostr.Event // of an announcement
	gone      *nostr.Event // a deletion that names a comment and nothing else
	elsewhere *nostr.Event // a deletion by the author of a comment of what is not here
	vanish    *nostr.Event // refused
}

func newThreads(p project) threads {
	now := time.Now().Unix()
	author, other := testkit.Key(2), testkit.Key(7)
	e := func(x *nostr.Event) nostr.Tag { return nostr.Tag{"e", x.ID.String()} }
	var x threads
	x.reply = testkit.Sign(other, now-50, nostr.KindNote, "a reply", e(p.comments[0]))
	x.onReply = testkit.Sign(other, now-40, nostr.KindNote, "and another", e(x.reply))
	x.like = testkit.Sign(other, now-45, nostr.KindReaction, "+", e(p.comments[1]))
	x.lateLike = testkit.Sign(other, now-44, nostr.KindReaction, "+", e(p.ann))
	x.gone = testkit.Sign(author, now-30, nostr.KindDeletion, "", e(p.comments[2]))
	x.elsewhere = testkit.Sign(author, now-29, nostr.KindDeletion, "", nostr.Tag{"e", strings.Repeat("ab", 32)})
	x.vanish = testkit.Sign(author, now-70_000, nostr.KindVanish, "", nostr.Tag{"relay", bootURL})
	return x
}

func (x threads) all() []*nostr.Event {
	return []*nostr.Event{x.reply, x.onReply, x.like, x.lateLike, x.gone, x.elsewhere}
}

func TestTheFullResyncBringsWhatOnlyCommentsLeadTo(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	for name, habits := range map[string]testkit.Habits{
		"negentropy":       {},
		"paging":           {Neg: testkit.NegNotice, PageCap: 20},
		"loose":            {Loose: true, PageCap: 50},
		"reconciles a few": {NegRecords: 5},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, bootURL)
				boot := w.net.Relay(bootURL)
				boot.Habits = habits
				p := newProject("proj", 30)
				x := newThreads(p)
				boot.Store(p.all()...)
				w.start()
				defer w.stop()
				w.settle()
				w.wantStored(p.all()...)
				wait(time.Hour) // a bootstrap relay is asked for such things soon, too
				boot.Store(x.all()...)
				wait(21 * time.Hour)
				w.wantAbsent(x.all()...)
				before, _ := w.status(bootURL)
				wait(4 * time.Hour)
				w.wantStored(x.all()...)
				w.wantAbsent(p.comments[2])
				s, _ := w.status(bootURL)
				if n := s.Counters.Daily - before.Counters.Daily; n != uint64(len(x.all())) || s.Phase != "live" {
					t.Errorf("%d came by the full resync, %s", n, s.Phase)
				}
			})
		})
	}
}

// What is named and not here comes by its id, and what is about it follows.
func TestTheFullResyncBringsWhatIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		now := time.Now().Unix()
		note := testkit.Sign(testkit.Key(8), now-500, nostr.KindNote, "quoted below")
		onNote := testkit.Sign(testkit.Key(9), now-400, nostr.KindNote, "about that", nostr.Tag{"e", note.ID.String()})
		quote := testkit.Sign(testkit.Key(2), now-300, nostr.KindComment, "see there", nostr.Tag{"E", p.issues[0].ID.String()},
			nostr.Tag{"q", note.ID.String()}, nostr.Tag{"q", strings.Repeat("0", 64)})
		stranger := testkit.Sign(testkit.Key(8), now-200, nostr.KindNote, "nothing to do with it")
		boot.Store(append(p.all(), note, onNote, quote, stranger)...)
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(quote)
		w.wantAbsent(note, onNote)
		wait(26 * time.Hour)
		w.wantStored(note, onNote)
		w.wantAbsent(stranger)
	})
}

// Equal sets move nothing, the day after; nor does what was refused.
func TestLayerFourMovesNothingTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("its world is large")
	}
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 40)
		x := newThreads(p)
		boot.Store(append(append(p.all(), x.all()...), x.vanish)...)
		w.start()
		defer w.stop()
		w.settle()
		before := boot.Sent()
		wait(26 * time.Hour)
		w.wantAbsent(x.vanish)
		if n := boot.Sent() - before; n != len(x.all())+1 {
			t.Errorf("%d events were sent for %d that are new and one that is refused", n, len(x.all()))
		}
		before = boot.Sent()
		asked := len(boot.Frames())
		wait(50 * time.Hour)
		if n := boot.Sent() - before; n != 0 {
			t.Errorf("%d events were sent again", n)
		}
		if n := len(boot.Frames()) - asked; n == 0 || n > 200 {
			t.Errorf("%d frames in two days of equal sets", n)
		}
	})
}

// frameLog notes what was asked of a relay, and when about the authors and
// comments of a project.
type frameLog struct {
	comments map[string]bool

	mu        sync.Mutex // guards all below
	frames    []string
	questions []time.Time
}

func newFrameLog(p project) *frameLog {
	l := &frameLog{comments: make(map[string]bool)}
	for _, c := range p.comments {
		l.comments[c.ID.String()] = true
	}
	return l
}

func (l *frameLog) tap(_ int, up bool, frame []byte) {
	f := string(frame)
	if !up || !strings.HasPrefix(f, `["NEG-OPEN"`) && !strings.HasPrefix(f, `["REQ"`) {
		return
	}
	_, first, _ := strings.Cut(f, `"#e":["`)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, f)
	if strings.Contains(f, `"until":`) { // a probe, which is part of the question before it
		return
	}
	if strings.Contains(f, `"kinds":[0,5,62]`) || len(first) > 64 && l.comments[first[:64]] {
		l.questions = append(l.questions, time.Now())
	}
}

// asked returns when layer 4 asked something.
func (l *frameLog) asked() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.questions)
}

// names says whether anything was asked in which text stands.
func (l *frameLog) names(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.frames, func(f string) bool { return strings.Contains(f, text) })
}

func TestLayerFourIsSlowAndInNobodysWay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.MaxSubs, boot.MaxFilters = 4, 10
		boot.Info = &nip11.Document{Limitation: nip11.Limitation{MaxSubscriptions: 4}}
		p := newProject("proj", 900)
		log := newFrameLog(p)
		boot.Tap = log.tap
		x := newThreads(p)
		boot.Store(append(p.all(), x.all()...)...)
		w.start()
		defer w.stop()
		w.settle()
		for len(log.asked()) == 0 {
			wait(time.Second)
		}
		// In the midst of it all others are served as ever.
		issue := p.later("while layer 4 goes on")
		old := testkit.Comment(testkit.Key(4), time.Now().Unix()-70_000, issue, "and there is a comment")
		boot.Store(old)
		boot.Add(issue)
		wait(time.Second)
		w.wantStored(issue)
		wait(6 * time.Second)
		w.wantStored(old)
		wait(10 * time.Minute)
		w.wantStored(x.all()...)
		at := log.asked()
		if len(at) < 10 {
			t.Fatalf("%d questions", len(at))
		}
		for i := range at[1:] {
			if d := at[i+1].Sub(at[i]); d < 2*time.Second {
				t.Errorf("a question %v after another", d)
			}
		}
		if d := at[len(at)-1].Sub(at[0]); d < time.Duration(len(at))*2*time.Second || d > 5*time.Minute {
			t.Errorf("%d questions in %v", len(at), d)
		}
	})
}

// A relay is asked only about the repositories that name it.
func TestLayerFourKeepsToWhatTheRelayIsWantedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		one, other := w.net.Relay(bootURL), w.net.Relay(otherURL)
		logs := [2]*frameLog{{}, {}}
		one.Tap, other.Tap = logs[0].tap, logs[1].tap
		w.start()
		defer w.stop()
		now := time.Now().Unix()
		var mine [2][]string
		for i, r := range []*testkit.FakeRelay{one, other} {
			owner, author := testkit.Key(10+i), testkit.Key(20+i)
			at := testkit.RepositoryAddress(owner, fmt.Sprint("p", i))
			issue := testkit.Issue(author, now-1000, at, "an issue")
			comment := testkit.Comment(testkit.Key(30+i), now-900, issue, "a comment")
			r.Store(issue, comment)
			w.publish(testkit.Announcement(owner, now-2000, fmt.Sprint("p", i), ours, string(r.URL)))
			mine[i] = []string{comment.ID.String(), author.PubKey().String(), testkit.Key(30 + i).PubKey().String()}
		}
		wait(10 * time.Second)
		w.settle()
		wait(26 * time.Hour)
		for i := range logs {
			for k, id := range mine[i] {
				if !logs[i].names(id) {
					t.Errorf("relay %d is not asked about %d", i, k)
				}
				if logs[1-i].names(id) {
					t.Errorf("relay %d is asked about what is not its own", 1-i)
				}
			}
		}
	})
}

// A connection that is lost puts layer 4 off until the next one.
func TestLayerFourGoesOnWithTheNextConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		boot.Temper.Store(&testkit.Temper{LoseLive: 100})
		p := newProject("proj", 600)
		log := newFrameLog(p)
		boot.Tap = log.tap
		x := newThreads(p)
		boot.Store(append(p.all(), x.all()...)...)
		w.start()
		defer w.stop()
		w.settle()
		for drops := range 4 {
			for len(log.asked()) < 2*(drops+1) {
				wait(time.Second)
			}
			boot.Drop()
		}
		wait(time.Hour)
		w.wantStored(x.all()...)
		if s, _ := w.status(bootURL); s.Phase != "live" {
			t.Errorf("phase %s", s.Phase)
		}
		before := len(log.asked())
		wait(20 * time.Hour)
		if n := len(log.asked()) - before; n > 0 {
			t.Errorf("%d questions before the next full resync", n)
		}
	})
}

// Nothing but its author leads to a request to vanish. It is acted on as if it had been published here.
func TestTheFullResyncBringsRequestsToVanish(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, bootURL)
		boot := w.net.Relay(bootURL)
		p := newProject("proj", 3)
		leaver, now := testkit.Key(40), time.Now().Unix()
		theirs := testkit.Comment(leaver, now-600, p.issues[0], "I was here")
		request := testkit.Sign(leaver, now-300, nostr.KindVanish, "", nostr.Tag{"relay", ours})
		boot.Store(append(p.all(), theirs, request)...)
		w.start()
		defer w.stop()
		w.settle()
		w.wantStored(theirs)
		wait(26 * time.Hour)
		w.wantStored(request)
		w.wantAbsent(theirs)
		before := boot.Sent()
		wait(50 * time.Hour)
		w.wantAbsent(theirs)
		if n := boot.Sent() - before; n > 0 {
			t.Errorf("%d events were sent afterwards", n)
		}
	})
}
