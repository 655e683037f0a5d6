// Package reports keeps what people report (NIP-56) of what is here, until the operator has taken it away or dismissed the report: it
// reads reports off the feed, has the oldest leave beyond the bounds, and tells what is open. Read Desk.
package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/graspd/graspd/internal/ingest"
	"github.com/graspd/graspd/internal/moderate"
	"github.com/graspd/graspd/internal/nip19"
	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/store"
)

const (
	rowPrefix     = "report/"
	maxDismissed  = 2 * moderate.MaxReports // beyond that the oldest are forgotten
	atOnce        = 500                     // of the feed, or of what leaves in one turn of the writer
	mostNamed     = 5                       // of those who have reported something, in the journal
	lookEvery     = time.Minute             // for what is here still of what was reported
	lookSoon      = 5 * time.Second         // after something has come or gone
	afterTroubles = 10 * time.Second
)

// ErrNone says that nothing is open about a subject.
var ErrNone = errors.New("no report about it is open")

// Moderator is who decides, and writes the journal.
type Moderator interface {
	Bar(ctx context.Context, o moderate.Order) (moderate.Case, error)
	// Note writes an entry into the journal, and in the same turn of the writer does what goes with it.
	Note(ctx context.Context, e moderate.Entry, also func(*ingest.Turn) error) error
	// Bars reports whether nothing of a subject is taken.
	Bars(s moderate.Subject) bool
}

// Config says what a Desk works with. Every field is needed.
type Config struct {
	Store     *store.Store
	Door      *ingest.Door
	Moderator Moderator
	Now       func() time.Time
	Logger    *slog.Logger
}

// Desk is the reports of one relay. Any number of goroutines may use it.
type Desk struct {
	cfg Config

	dismissing sync.Mutex // held by who dismisses something
	next       store.Seq  // of the feed, up to which Run has read it

	mu        sync.Mutex // guards what follows; not held across I/O
	all       map[nostr.ID]moderate.Report
	dismissed map[nostr.ID]int64        // when, unix time
	lacks     map[moderate.Subject]bool // of what was reported, what is not here
	more      bool                      // some have come since it was last seen to that they are not too many
}

// Open reads the reports in a store.
func Open(ctx context.Context, c Config) (*Desk, error) {
	d := &Desk{cfg: c, all: map[nostr.ID]moderate.Report{}, dismissed: map[nostr.ID]int64{}, lacks: map[moderate.Subject]bool{}}
	v := c.Store.View()
	defer v.Close()
	d.next = v.Head()
	for row, err := range v.Query(ctx, nostr.Filter{Kinds: []nostr.Kind{nostr.KindReport}}) {
		if err != nil {
			return nil, fmt.Errorf("reports: %w", err)
		}
		e, err := nostr.ParseEvent(row.JSON)
		if err != nil {
			return nil, fmt.Errorf("report %s: %w", row.ID, err)
		}
		d.put(e)
	}
	err := v.EachRow(rowPrefix, "", func(name string, row []byte) (bool, error) {
		id, err := nostr.ParseID(strings.TrimPrefix(name, rowPrefix))
		if err == nil {
			d.dismissed[id], err = strconv.ParseInt(string(row), 10, 64)
		}
		return true, err
	})
	if err == nil {
		err = d.look(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("reports: %w", err)
	}
	return d, nil
}

// put takes a report over. The caller holds mu, or is Open.
func (d *Desk) put(e *nostr.Event) {
	if e.Kind != nostr.KindReport {
		return
	}
	r, ok := moderate.ReadReport(e)
	if !ok { // it names something here in another way, and counts for the bounds
		r = moderate.Report{ID: e.ID, By: e.PubKey, At: e.CreatedAt}
	}
	d.all[e.ID], d.more = r, true
}

// Run follows the feed until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	soon := false
	for ctx.Err() == nil {
		changed, moved, err := d.follow()
		if err == nil {
			err = d.tidy(ctx)
		}
		var over <-chan time.Time
		switch {
		case err != nil:
			if told(ctx, err) {
				d.cfg.Logger.Error("reports cannot be read", "error", err)
			}
			changed, over = nil, time.After(afterTroubles)
		case moved && !soon:
			soon = true
			look.Reset(lookSoon)
		}
		if err == nil && changed == nil {
			continue // there is more
		}
		select {
		case <-changed:
		case <-over:
		case <-look.C:
			if err := d.look(ctx); told(ctx, err) {
				d.cfg.Logger.Error("what was reported cannot be looked up", "error", err)
			}
			soon = false
			look.Reset(lookEvery)
		case <-ctx.Done():
		}
	}
	return nil
}

// told reports whether an error is one for the log.
func told(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, ingest.ErrStopped) && !errors.Is(err, store.ErrClosed)
}

// follow reads a part of the feed, and reports whether anything moved that may have been reported. changed closes when there is more; nil
// is at once.
func (d *Desk) follow() (changed <-chan struct{}, moved bool, err error) {
	entries, changed, err := d.cfg.Store.Since(d.next, atOnce)
	if err != nil || len(entries) == 0 {
		return changed, false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range entries {
		d.next = x.Seq
		switch {
		case x.Event != nil:
			d.put(x.Event)
		case x.Waits == nil:
			delete(d.all, x.Removed)
		}
	}
	return nil, len(d.all) > 0, nil
}

// tidy has those leave that are too many.
func (d *Desk) tidy(ctx context.Context) error {
	d.mu.Lock()
	if !d.more {
		d.mu.Unlock()
		return nil
	}
	list := slices.Collect(maps.Values(d.all))
	d.mu.Unlock()
	ids := moderate.Surplus(list)
	gone := len(ids)
	for len(ids) > 0 {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		err := d.cfg.Door.Turn(ctx, func(t *ingest.Turn) error {
			for _, id := range some {
				if err := t.Remove(id, store.ReasonBarred); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.mu.Lock()
		for _, id := range some {
			delete(d.all, id)
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.more = len(d.all) != len(list)-gone
	return nil
}

// look finds out what of the reported is here.
func (d *Desk) look(ctx context.Context) error {
	d.mu.Lock()
	subjects := map[moderate.Subject]bool{}
	for id, r := range d.all {
		if _, done := d.dismissed[id]; !done && r.Subject.Sort != 0 {
			subjects[r.Subject] = true
		}
	}
	d.mu.Unlock()
	if len(subjects) == 0 {
		return nil
	}
	v := d.cfg.Store.View()
	defer v.Close()
	lacks := map[moderate.Subject]bool{}
	for s := range subjects {
		ok, err := here(ctx, v, s)
		if err != nil {
			return err
		}
		if !ok {
			lacks[s] = true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lacks = lacks
	return nil
}

func here(ctx context.Context, v *store.View, s moderate.Subject) (bool, error) {
	switch s.Sort {
	case moderate.Event:
		k, err := v.Known(s.ID)
		return k.State == store.Stored, err
	case moderate.Repository:
		ok, err := v.HasAddress(s.Address().String())
		if ok || err != nil {
			return ok, err
		}
		state := s.Address()
		state.Kind = nip34.KindState
		return v.HasAddress(state.String())
	}
	one := 1
	for _, err := range v.Pairs(ctx, nostr.Filter{Authors: []nostr.PubKey{s.PubKey}, Limit: &one}, false) {
		return err == nil, err
	}
	return false, nil
}

// list are the open reports.
func (d *Desk) list() []moderate.Report {
	d.mu.Lock()
	out := make([]moderate.Report, 0, len(d.all))
	for id, r := range d.all {
		if _, done := d.dismissed[id]; !done && r.Subject.Sort != 0 && !d.lacks[r.Subject] {
			out = append(out, r)
		}
	}
	d.mu.Unlock()
	return slices.DeleteFunc(out, func(r moderate.Report) bool { return d.cfg.Moderator.Bars(r.Subject) })
}

// Open is what is open, by what it is about, the newest first.
func (d *Desk) Open() []moderate.Reported { return moderate.Gather(d.list()) }

// about are the open reports about a subject, the newest first.
func (d *Desk) about(s moderate.Subject) []moderate.Report {
	list := slices.DeleteFunc(d.list(), func(r moderate.Report) bool { return r.Subject != s })
	slices.SortFunc(list, func(a, b moderate.Report) int { return moderate.Older(b, a) })
	return list
}

// Remove has the moderator take away what was reported. The journal says that it was a report, and whose.
func (d *Desk) Remove(ctx context.Context, s moderate.Subject, by, why string) (moderate.Case, error) {
	list := d.about(s)
	if len(list) == 0 {
		return moderate.Case{}, ErrNone
	}
	return d.cfg.Moderator.Bar(ctx, moderate.Order{Subject: s, By: by, Why: because(list, why)})
}

// Dismiss closes the reports about a subject that are open: they do not come back, others may come.
func (d *Desk) Dismiss(ctx context.Context, s moderate.Subject, by, why string) error {
	d.dismissing.Lock()
	defer d.dismissing.Unlock()
	list := d.about(s)
	if len(list) == 0 {
		return ErrNone
	}
	now := d.cfg.Now().Unix()
	forget := d.oldest(len(list))
	e := moderate.Entry{By: by, Did: moderate.Settled, Subject: s.String(), Why: because(list, why)}
	err := d.cfg.Moderator.Note(ctx, e, func(t *ingest.Turn) error {
		for _, r := range list {
			if err := t.SetRow(rowPrefix+r.ID.String(), strconv.AppendInt(nil, now, 10)); err != nil {
				return err
			}
		}
		for _, id := range forget {
			if err := t.SetRow(rowPrefix+id.String(), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("dismiss reports: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range forget {
		delete(d.dismissed, id)
	}
	for _, r := range list {
		d.dismissed[r.ID] = now
	}
	return nil
}

// oldest are the dismissals that are forgotten to have room for n more.
func (d *Desk) oldest(n int) []nostr.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	over := len(d.dismissed) + n - maxDismissed
	if over <= 0 {
		return nil
	}
	ids := make([]nostr.ID, 0, len(d.dismissed))
	for id := range d.dismissed {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b nostr.ID) int {
		if x := d.dismissed[a] - d.dismissed[b]; x != 0 {
			return int(x)
		}
		return a.Compare(b)
	})
	return ids[:min(over, len(ids))]
}

// because is the reason for the journal: the operator's own, and whose reports they were.
func because(list []moderate.Report, why string) string {
	var who []string
	for _, r := range list {
		if name := nip19.Npub(r.By); !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	more := ""
	if n := len(who) - mostNamed; n > 0 {
		who, more = who[:mostNamed], fmt.Sprintf(" and %d others", n)
	}
	x := moderate.Gather(list)[0]
	said := fmt.Sprintf("reported as %s by %s%s", strings.Join(x.Kinds, ", "), strings.Join(who, ", "), more)
	if why != "" {
		return why + "; " + said
	}
	if x.Last.Text != "" {
		return said + ": " + x.Last.Text
	}
	return said
}
