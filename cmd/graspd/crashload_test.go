package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/base/publicnet"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayconn"
	"github.com/graspd/graspd/internal/test/testkit"
)

type event = nostr.Event

// book is what was offered to the relay, and what it said.
type book struct {
	mu        sync.Mutex
	offered   map[nostr.ID]*event
	sure      map[nostr.ID]bool // answered OK, or shown to a subscriber
	elsewhere []*event          // what the remote relay has
	heard     int
	said      map[string]int // answers by kind
}

func newBook() *book {
	return &book{offered: map[nostr.ID]*event{}, sure: map[nostr.ID]bool{}, said: map[string]int{}}
}

func (b *book) offer(e *event) { b.mu.Lock(); defer b.mu.Unlock(); b.offered[e.ID] = e }

func (b *book) fromSource(e *event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.offered[e.ID] = e
	b.elsewhere = append(b.elsewhere, e)
}

// certain are the events that must be there, unless something took them away.
func (b *book) certain() (events []*event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.sure {
		events = append(events, b.offered[id])
	}
	return events
}

// all are the events that anybody has published.
func (b *book) all() (events []*event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.offered {
		events = append(events, e)
	}
	return events
}

func (b *book) answer(e *event, ok nostr.OK) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ok.OK {
		b.sure[e.ID] = true
		b.said[fmt.Sprint("kind ", e.Kind)]++
		return
	}
	prefix, _, _ := strings.Cut(ok.Reason, ":")
	b.said["refused, "+prefix]++
}

func (b *book) counts() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d offered, %d certain, %d heard by a subscriber: %v", len(b.offered), len(b.sure), b.heard, b.said)
}

// link connects; the relay may be killed meanwhile.
func link(ctx context.Context, u grasp.RelayURL) *relayconn.Conn {
	c, err := relayconn.New(relayconn.Config{Net: publicnet.Config{AllowPrivate: true}}).Dial(ctx, u)
	if err != nil {
		return nil
	}
	return c
}

// listen subscribes to everything that is new: what is shown is durable.
func (b *book) listen(ctx context.Context, t *testing.T, u grasp.RelayURL) {
	c := link(ctx, u)
	if c == nil {
		return
	}
	defer c.Close("over")
	none := 0
	if c.Write(ctx, nostr.AppendReq(nil, "all", nostr.Filter{Limit: &none})) != nil {
		return
	}
	for {
		frame, err := c.Read(ctx)
		if err != nil {
			return
		}
		m, err := nostr.ParseRelay(frame)
		if err != nil {
			t.Errorf("%s: %v", frame, err)
			return
		}
		if e, ok := m.(nostr.RelayEvent); ok {
			b.mu.Lock()
			if b.heard++; b.offered[e.Event.ID] == nil {
				t.Errorf("%s was not published by anybody", e.Event.ID)
			} else {
				b.sure[e.Event.ID] = true
			}
			b.mu.Unlock()
		}
	}
}

// worker is one client with authors of its own. It goes on after every restart.
type worker struct {
	book    *book
	r       *rand.Rand
	root    *event
	at      string
	key     nostr.SecretKey
	n       int
	own     []*event // issues, comments and others that it may delete
	retries []*event // sent and not answered

	leaver    nostr.SecretKey // an author who is going to vanish
	leavers   int
	departing int // events that he has

	wikis int // addresses that were deleted
}

func newWorker(i int, seed uint64, ann *event, b *book) *worker {
	w := &worker{book: b, r: rand.New(rand.NewPCG(seed, uint64(100+i))), root: ann, key: testkit.Key(10 + i), leavers: 1000 * (i + 1)}
	w.at = fmt.Sprintf("30617:%s:proj", ann.PubKey)
	w.leaver = testkit.Key(w.leavers)
	return w
}

// inFlight is how many events it sends before it waits for an answer.
const inFlight = 8

// publish sends events until the relay is gone.
func (w *worker) publish(ctx context.Context, t *testing.T, u grasp.RelayURL) {
	c := link(ctx, u)
	if c == nil {
		return
	}
	defer c.Close("over")
	waiting := map[nostr.ID]*event{}
	defer func() {
		w.retries = w.retries[:0]
		for _, e := range waiting {
			w.retries = append(w.retries, e)
		}
	}()
	send := func(e *event) bool {
		waiting[e.ID] = e
		w.book.offer(e)
		return c.Write(ctx, nostr.AppendEventMsg(nil, e)) == nil
	}
	if !send(w.root) {
		return
	}
	for _, e := range w.retries {
		if !send(e) {
			return
		}
	}
	for {
		for len(waiting) < inFlight {
			if !send(w.next()) {
				return
			}
		}
		frame, err := c.Read(ctx)
		if err != nil {
			return
		}
		m, err := nostr.ParseRelay(frame)
		if err != nil {
			t.Errorf("%s: %v", frame, err)
			return
		}
		if ok, is := m.(nostr.OK); is {
			if e := waiting[ok.ID]; e != nil {
				w.book.answer(e, ok)
				delete(waiting, ok.ID)
			}
			if !ok.OK && strings.HasPrefix(ok.Reason, "error:") {
				t.Errorf("answered %q", ok.Reason)
			}
		}
	}
}

// Kinds of a replaceable and an addressable event without a meaning here.
const (
	kindList = nostr.Kind(11_111)
	kindWiki = nostr.Kind(30_818)
)

// next makes the next event.
func (w *worker) next() *event {
	w.n++
	now := time.Now().Unix()
	old := now - 1_000_000 + int64(w.n) // each version is newer than the one before
	text := fmt.Sprintf("number %d", w.n)
	a := nostr.Tag{"a", w.at}
	switch p := w.r.IntN(100); {
	case p < 30:
		return w.keep(testkit.Issue(w.key, now, w.at, text))
	case p < 45:
		return testkit.Sign(w.key, old, kindList, text, a)
	case p < 50:
		return testkit.Sign(w.key, old-w.r.Int64N(100), kindList, "older "+text, a)
	case p < 62:
		return w.keep(testkit.Sign(w.key, old, kindWiki, text, a, nostr.Tag{"d", w.wiki()}))
	case p < 72 && len(w.own) > 0:
		victim := w.own[w.r.IntN(len(w.own))]
		return testkit.Sign(w.key, now, nostr.KindDeletion, text, nostr.Tag{"e", victim.ID.String()})
	case p < 75:
		victim := w.wiki()
		w.wikis++
		return testkit.Sign(w.key, now, nostr.KindDeletion, text, nostr.Tag{"a", fmt.Sprintf("%d:%s:%s", kindWiki, w.key.PubKey(), victim)})
	case p < 82:
		return testkit.Sign(w.key, now, nip34.KindIssue, text, a, nostr.Tag{"expiration", fmt.Sprint(now + 1 + w.r.Int64N(3))})
	case p < 85:
		return w.keep(testkit.Issue(w.key, now, w.at, text+strings.Repeat(" and so on", 1000+w.r.IntN(9000))))
	case p < 97:
		w.departing++
		return testkit.Issue(w.leaver, now, w.at, text)
	case w.departing > 5:
		e := testkit.Sign(w.leaver, now, nostr.KindVanish, text, nostr.Tag{"relay", "ALL_RELAYS"})
		w.leavers++
		w.leaver, w.departing = testkit.Key(w.leavers), 0
		return e
	}
	return w.keep(testkit.Comment(w.key, now, w.root, text))
}

func (w *worker) wiki() string { return fmt.Sprintf("page %d:%d", w.r.IntN(3), w.wikis) }

func (w *worker) keep(e *event) *event { w.own = append(w.own, e); return e }
