package repopage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const perList = 30 // threads on one page of a list

// listing is a page of issues, patches or pull requests, the newest first.
type listing struct {
	Only    string // a status, "" for all
	States  []string
	Threads []thread
	Next    string // the query of the next page, "" for none
	Costly  bool   // Next begins where the work became too much for this page
}

// cursor is where a page of a list begins: behind an event.
type cursor struct {
	time int64
	id   nostr.ID
}

func (p cursor) String() string { return fmt.Sprintf("%d-%s", p.time, p.id) }

func parseCursor(s string) (p cursor, err error) {
	t, id, ok := strings.Cut(s, "-")
	if !ok {
		return p, errors.New("no place")
	}
	if p.time, err = strconv.ParseInt(t, 10, 64); err != nil {
		return p, err
	}
	p.id, err = nostr.ParseID(id)
	return p, err
}

// list returns one page of a section.
func (p *Pages) list(ctx context.Context, k *known, d string, what section, q url.Values) (*listing, error) {
	s, set, b := k.view, k.set, k.b
	l := &listing{States: []string{"open", what.done, "closed", "draft"}}
	for _, state := range l.States {
		if q.Get("status") == state {
			l.Only = state
		}
	}
	f := nostr.Filter{Kinds: []nostr.Kind{what.kind}, Tags: []nostr.TagFilter{{Name: 'a', Values: addresses(d, set.Members)}}}
	after, err := parseCursor(q.Get("after"))
	behind := err != nil // a query without a cursor begins at the beginning
	if !behind {
		f.Until = &after.time
	}
	call := p.people(s, b)
	last := cursor{}
	more := func() string {
		x := url.Values{"after": {last.String()}}
		if l.Only != "" {
			x.Set("status", l.Only)
		}
		return "?" + x.Encode()
	}
	m := s.Metered(func(steps int) error { b.visitor.Charge(steps); b.left -= steps; return nil })
	for pair, err := range m.Pairs(ctx, f, false) {
		if err != nil {
			return nil, err
		}
		if !behind { // events of the same second come in the order of their ids
			if pair.Time == after.time && pair.ID.Compare(after.id) <= 0 {
				continue
			}
			behind = true
		}
		if len(l.Threads) == perList {
			l.Next = more()
			return l, nil
		}
		if b.err() != nil {
			if last == (cursor{}) {
				return nil, errCostly
			}
			l.Next, l.Costly = more(), true
			return l, nil
		}
		last = cursor{pair.Time, pair.ID}
		_ = b.charge(stepsOfEvent)
		e, ok, err := s.Get(pair.ID)
		if err != nil {
			return nil, err
		}
		if !ok || !begins(e) {
			continue
		}
		t, err := p.thread(ctx, m, k.path, e, set, call)
		if err != nil {
			return nil, err
		}
		if l.Only == "" || t.Status == l.Only {
			t.Kind = "" // all are of one
			l.Threads = append(l.Threads, t)
		}
	}
	return l, nil
}

// thread makes a line of a list on a page of the repository at a path.
func (p *Pages) thread(ctx context.Context, s *store.View, path string, e *nostr.Event, set *grasp.Set, call *people) (thread, error) {
	k, err := statusOf(ctx, s, e, set)
	return thread{Kind: nip34.NameOf(e.Kind), Subject: subjectOf(e), Status: statusName(e.Kind, k), By: call.call(e.PubKey), Day: moment(e.CreatedAt)[:10], Path: path + "/" + sectionOf(e.Kind) + "/" + nip19.Note(e.ID)}, err
}
