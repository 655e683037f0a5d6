package relayread_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/sync/relayread"
	"github.com/graspd/graspd/internal/test/testkit"
)

// shelf is a relay at the other end of a connection, which sends at most page events at once.
type shelf struct {
	events []*nostr.Event
	page   int
	limits int    // requests that are closed for their rate
	rate   string // with these words
	shut   *string
	flood  bool // it keeps to no limit and has no end
	sent   int  // events of the flood
	out    chan []byte
}

func (s *shelf) Read(ctx context.Context) ([]byte, error) {
	if s.flood && len(s.out) == 0 {
		s.sent++
		s.out <- nostr.AppendRelayEvent(nil, "read1", s.events[0].AppendJSON(nil))
	}
	select {
	case b := <-s.out:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *shelf) Write(_ context.Context, b []byte) error {
	m, err := nostr.ParseClient(b)
	if err != nil {
		return err
	}
	req, is := m.(nostr.Req)
	if !is || s.flood {
		return nil
	}
	n := 0
	for _, e := range s.events { // the newest first
		if req.Filters[0].Matches(e) && n < min(s.page, *req.Filters[0].Limit) {
			n++
			s.out <- nostr.AppendRelayEvent(nil, req.Sub, e.AppendJSON(nil))
			if s.limits > 0 {
				break // and then the refusal
			}
		}
	}
	switch {
	case s.limits > 0:
		s.limits--
		s.out <- nostr.AppendClosed(nil, req.Sub, s.rate)
	case s.shut != nil:
		s.out <- nostr.AppendClosed(nil, req.Sub, *s.shut)
	default:
		s.out <- []byte(`["NOTICE","hello"]`)
		s.out <- nostr.AppendEOSE(nil, req.Sub)
	}
	return nil
}

func newShelf(events ...*nostr.Event) *shelf {
	slices.SortStableFunc(events, func(a, b *nostr.Event) int { return int(b.CreatedAt - a.CreatedAt) })
	return &shelf{events: events, page: 30, rate: "rate-limited: slow down", out: make(chan []byte, 1000)}
}

// issues returns n issues that were written from a second on, so many in each.
func issues(n int, from int64, each int) (out []*nostr.Event) {
	for i := range n {
		out = append(out, testkit.Sign(testkit.Key(3), from+int64(i/each), nip34.KindIssue, strings.Repeat("x", i)))
	}
	return out
}

// read returns how many events a relay has of a filter.
func read(t *testing.T, r *relayread.Reader, f nostr.Filter) (int, error) {
	t.Helper()
	all := map[nostr.ID]bool{}
	err := r.Read(t.Context(), f, func(e *nostr.Event) error { all[e.ID] = true; return nil })
	return len(all), err
}

var ofIssues = nostr.Filter{Kinds: []nostr.Kind{nip34.KindIssue}}

// All of it is read, whatever fits into a page; and what a page cannot show is not taken for nothing.
func TestEverythingIsRead(t *testing.T) {
	r := relayread.New(newShelf(append(issues(200, 100, 3), testkit.Announcement(testkit.Key(1), 10, "tool", "wss://relay.example.org"))...))
	if n, err := read(t, r, ofIssues); n != 200 || err != nil || r.Unproven() {
		t.Errorf("%d events, %v, unproven %v", n, err, r.Unproven())
	}
	r = relayread.New(newShelf(append(issues(50, 100, 50), issues(60, 90, 6)...)...))
	if n, err := read(t, r, ofIssues); n < 80 || n >= 110 || err != nil || !r.Unproven() {
		t.Errorf("50 of one second, of which a page has 30: %d events in all, %v, unproven %v", n, err, r.Unproven())
	}
	if n, err := read(t, r, nostr.Filter{Kinds: []nostr.Kind{nip34.KindState}}); n != 0 || err != nil || !r.Unproven() {
		t.Errorf("unproven is forgotten: %d, %v", n, err)
	}
}

// A relay may ask for a pause in its own words, and refuse for good; one that says nothing is not waited for without end.
func TestRelaysThatDoNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(issues(100, 100, 1)...)
		s.limits = 3
		if got, err := read(t, relayread.New(s), ofIssues); err != nil || got != 100 {
			t.Error(got, err)
		}
		s.limits, s.rate = 3, "error: too many concurrent REQs"
		if got, err := read(t, relayread.New(s), ofIssues); err != nil || got != 100 {
			t.Error(got, err)
		}
		s.limits, s.rate = 100, "rate-limited: slow down"
		if _, err := read(t, relayread.New(s), ofIssues); err == nil || !strings.Contains(err.Error(), "rate-limited") {
			t.Error(err)
		}
		s.limits = 0
		begun := time.Now()
		for why, want := range map[string]string{"auth-required: who are you?": "auth-required", "": "without a reason"} {
			s.shut = &why
			if _, err := read(t, relayread.New(s), ofIssues); err == nil || !strings.Contains(err.Error(), want) || time.Since(begun) > 0 {
				t.Error(err)
			}
		}
		mute := newShelf()
		mute.out = make(chan []byte)
		if _, err := read(t, relayread.New(muted{mute}), ofIssues); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Minute {
			t.Error(err, time.Since(begun))
		}
	})
}

func TestAnAnswerWithoutAnEnd(t *testing.T) {
	s := newShelf(issues(1, 100, 1)...)
	s.flood = true
	if _, err := read(t, relayread.New(s), ofIssues); err == nil || !strings.Contains(err.Error(), "more than it was asked for") || s.sent > 20_000 {
		t.Error(s.sent, err)
	}
}

// muted takes every request and answers none.
type muted struct{ *shelf }

func (muted) Write(context.Context, []byte) error { return nil }
