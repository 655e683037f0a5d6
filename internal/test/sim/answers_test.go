package sim_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/sync/relaysync"
	"github.com/graspd/graspd/internal/test/testkit"
)

// notes collects what the engine logs.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(b []byte) (int, error) { n.mu.Lock(); defer n.mu.Unlock(); return n.b.Write(b) }
func (n *notes) String() string              { n.mu.Lock(); defer n.mu.Unlock(); return n.b.String() }

func (p *pair) listen() *notes {
	n := &notes{}
	p.here.Options.Engine = func(c *relaysync.Config) { c.Logger = slog.New(slog.NewTextHandler(n, nil)) }
	return n
}

// TestPagesThatBringNothingOfOursAreReadOn: whether a page is full does not depend on what is accepted of it.
func TestPagesThatBringNothingOfOursAreReadOn(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		p.relay.Neg, p.relay.PageCap = testkit.NegNotice, 20
		x := p.project("proj", 2, p.relay.URL)
		p.relay.Store(x.all()...)
		for i := range 200 {
			p.relay.Store(testkit.Mark(testkit.Someone(500+i), x.ann.CreatedAt+1+int64(i), nip34.KindRepository, "",
				nostr.Tag{"d", "theirs"}, nostr.Tag{"relays", "wss://elsewhere.example.com"}))
		}
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		p.here.WantStored(x.all()...)
		if n := len(p.here.Served()); n != 5 {
			t.Errorf("%d events are served", n)
		}
	})
}

// TestASecondLargerThanAPage ends, with everything around it, and is told.
func TestASecondLargerThanAPage(t *testing.T) {
	inPair(t, func(t *testing.T, p *pair) {
		log := p.listen()
		p.relay.Neg, p.relay.PageCap = testkit.NegNotice, 50
		x := p.project("proj", 100, p.relay.URL)
		p.relay.Store(x.all()...)
		for i := range 120 {
			p.relay.Store(x.issueAt(x.issues[50].CreatedAt+1, fmt.Sprint("at once ", i)))
		}
		p.here.Start()
		settle(t, p.here, 10*time.Minute)
		p.here.WantStored(x.all()...)
		if n := asks(p.relay); n > 150 {
			t.Errorf("asked %d times", n)
		}
		if s := state(t, p.here, p.relay.URL); s.Phase != status.PhaseUnproven || s.Unproven != (status.Count{Repositories: 1}) || s.Confirmed.Repositories != 0 || s.Behind < 10*time.Second {
			t.Errorf("a second that no page holds is told as %+v", s)
		}
		if !strings.Contains(log.String(), "possible gap") {
			t.Errorf("nothing is said of the second that no page holds:\n%s", log)
		}
	})
}

// TestClosedIsAnAnswer: each request is refused once. It is asked again after a while, nothing waits for what does not come.
func TestClosedIsAnAnswer(t *testing.T) {
	for _, text := range []string{
		"", "error: could not connect to the database", "blocked: not now", "shutting down", "rate-limited: slow down", "invalid: too many tags",
		"unsupported: filter is too large", "ERROR: too many concurrent REQs",
	} {
		t.Run(text, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Neg = testkit.NegNotice
				x := p.project("proj", 10, p.relay.URL)
				p.relay.Store(x.all()...)
				refused := map[string]bool{}
				var first time.Time
				p.relay.Refuse = func(sub string, filters []nostr.Filter) string {
					k := filters[0].Key()
					if refused[k] && len(refused) == 1 && time.Since(first) > 67*time.Second {
						t.Errorf("asked again after %v", time.Since(first))
					}
					if refused[k] || *filters[0].Limit <= 1 {
						return ""
					}
					if refused[k] = true; len(refused) == 1 {
						first = time.Now()
					}
					return string(nostr.AppendClosed(nil, sub, text))
				}
				p.here.Start()
				settle(t, p.here, time.Hour)
				p.here.WantStored(x.all()...)
				if n := asks(p.relay); n > 150 || p.relay.Dials() != 1 {
					t.Errorf("asked %d times on %d connections", n, p.relay.Dials())
				}
			})
		})
	}
}

// TestEveryKindOfEOSE that does not come when it should.
func TestEveryKindOfEOSE(t *testing.T) {
	for name, temper := range map[string]testkit.Temper{
		"twice":                  {Double: 100},
		"for an unknown id":      {Unknown: 100},
		"after the CLOSE":        {LateEOSE: 100},
		"and CLOSED right after": {End: 100},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				p.relay.Neg, p.relay.PageCap = testkit.NegNotice, 20
				x := p.project("proj", 40, p.relay.URL)
				p.relay.Store(x.all()...)
				p.relay.Temper.Store(&temper)
				p.here.Start()
				if temper.LateEOSE > 0 { // it is silence, as far as the request goes
					wait(5 * time.Minute)
					p.relay.Temper.Store(nil)
				}
				took := settle(t, p.here, time.Hour)
				p.here.WantStored(x.all()...)
				if n := asks(p.relay); n > 150 || p.relay.Dials() != 1 || temper.LateEOSE == 0 && took > 40*time.Second {
					t.Errorf("asked %d times on %d connections within %v", n, p.relay.Dials(), took)
				}
			})
		})
	}
	t.Run("never", func(t *testing.T) {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = testkit.NegNotice
			x := p.project("proj", 5, p.relay.URL)
			p.relay.Store(x.all()...)
			p.relay.NoEOSE.Store(true)
			p.here.Start()
			p.here.Publish(x.ann)
			wait(10 * time.Minute)
			p.here.WantStored(x.all()...)
			live := x.issueAt(p.w.Unix(), "live")
			p.relay.Add(live)
			wait(time.Second)
			p.here.WantStored(live)
			if s := state(t, p.here, p.relay.URL); s.Confirmed.Repositories != 0 || p.relay.Dials() != 1 {
				t.Errorf("%d connections, %+v", p.relay.Dials(), s)
			}
			p.relay.NoEOSE.Store(false)
			settle(t, p.here, 2*time.Hour)
		})
	})
}

// TestEveryWayToRefuseNIP77, and to do it badly: the relay is read completely, and asked with measure.
func TestEveryWayToRefuseNIP77(t *testing.T) {
	for name, habits := range map[string]testkit.Habits{
		"by NOTICE":               {Neg: testkit.NegNotice},
		"by a NOTICE to each":     {Neg: testkit.NegUnknown},
		"by CLOSED":               {Neg: testkit.NegClosed},
		"by NEG-ERR":              {Neg: testkit.NegErr},
		"by NEG-ERROR":            {Neg: testkit.NegError},
		"by silence":              {Neg: testkit.NegSilent},
		"by dropping":             {Neg: testkit.NegDrop},
		"sets are capped":         {NegRecords: 25},
		"only the newest":         {NegNewest: 120},
		"some are never there":    {Withheld: 20},
		"capped and withholding":  {NegRecords: 25, Withheld: 20},
		"newest, and withholding": {NegNewest: 120, Withheld: 20},
	} {
		t.Run(name, func(t *testing.T) {
			inPair(t, func(t *testing.T, p *pair) {
				habits.PageCap = 100
				p.relay.Habits = habits
				x := p.project("proj", max(60, habits.NegNewest+30), p.relay.URL)
				p.relay.Store(x.all()...)
				p.here.Start()
				p.here.Publish(x.ann)
				settle(t, p.here, 20*time.Minute)
				shown := p.relay.Events()
				for i, issue := range x.issues {
					if slices.Contains(shown, issue) { // nobody can find a comment on what is nowhere
						p.here.WantStored(issue)
					}
					if slices.Contains(shown, issue) && slices.Contains(shown, x.comments[i]) {
						p.here.WantStored(x.comments[i])
					}
				}
				first := asks(p.relay)
				if first > 190 || // a small one after each reconciliation of a part
					p.relay.Dials() > 2 {
					t.Errorf("asked %d times on %d connections", first, p.relay.Dials())
				}
				wait(time.Hour) // until layer 4 has asked, once
				first = asks(p.relay)
				wait(19 * time.Hour)
				if n := asks(p.relay) - first; n != 0 {
					t.Errorf("asked %d times for what is not there", n)
				}
				live := x.issueAt(p.w.Unix(), "live")
				for live.ID[31]%100 < 20 { // is withheld
					live = x.issueAt(p.w.Unix(), live.Content+"!")
				}
				p.relay.Add(live)
				wait(time.Second)
				p.here.WantStored(live)
			})
		})
	}
}

// TestNothingIsConfirmedOnAFullDisk: what could not be kept is asked again when there is room.
func TestNothingIsConfirmedOnAFullDisk(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg = neg
			x := p.project("proj", 30, p.relay.URL)
			p.relay.Store(x.all()...)
			p.here.FillDisk(true)
			p.here.Start()
			wait(10 * time.Minute)
			if s := state(t, p.here, p.relay.URL); !s.Connected || s.Phase == "live" || s.Confirmed.Repositories+s.Confirmed.Roots > 0 {
				t.Errorf("nothing is stored, and %+v", s)
			}
			p.here.FillDisk(false)
			settle(t, p.here, 3*time.Hour)
			p.here.WantStored(x.all()...)
		})
	}
}

// TestABatchThatLostItsConnectionIsAskedAgain, wherever in a page or a reconciliation that happens.
func TestABatchThatLostItsConnectionIsAskedAgain(t *testing.T) {
	for _, neg := range []testkit.NegMode{testkit.NegWorks, testkit.NegNotice} {
		inPair(t, func(t *testing.T, p *pair) {
			p.relay.Neg, p.relay.PageCap = neg, 20
			x := p.project("proj", 60, p.relay.URL)
			p.relay.Store(x.all()...)
			p.relay.Temper.Store(&testkit.Temper{Drop: 7})
			p.here.Start()
			wait(2 * time.Hour)
			dials := p.relay.Dials()
			p.relay.Temper.Store(nil)
			settle(t, p.here, 3*time.Hour)
			p.here.WantStored(x.all()...)
			if dials < 4 || dials > 60 {
				t.Errorf("%d connections within two hours", dials)
			}
		})
	}
}
