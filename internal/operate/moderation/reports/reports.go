// Package reports keeps the reports (NIP-56) of people about what is here, until the operator deletes what they are about or dismisses
// them. It reads reports off the feed, removes the oldest beyond the bounds, and tells which are open. Read Desk.
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

	"github.com/graspd/graspd/internal/events/ingest"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	rowPrefix     = "report/"
	maxDismissed  = 2 * moderation.MaxReports // dismissals that are remembered; beyond that the oldest go
	atOnce        = 500                       // entries of the feed read at once, and reports removed in one turn of the writer
	mostNamed     = 5                         // people whom the journal names who have reported something
	lookEvery     = time.Minute               // how often Run looks which reported subjects are still here
	lookSoon      = 5 * time.Second           // how soon it looks after something has come or gone
	afterTroubles = 10 * time.Second
)

// ErrNone says that no report about a subject is open.
var ErrNone = errors.New("no report about it is open")

// Moderator decides, and writes the journal.
type Moderator interface {
	Bar(ctx context.Context, o moderation.Order) (moderation.Case, error)
	// Note writes an entry into the journal, and calls also in the same turn of the writer.
	Note(ctx context.Context, e moderation.Entry, also func(*ingest.Exclusive) error) error
	// Bars reports whether the relay takes nothing of a subject.
	Bars(s moderation.Subject) bool
	// Title returns what people call a subject.
	Title(s moderation.Subject) string
}

// Config says what a Desk works with. Every field is needed.
type Config struct {
	Store     *store.Store
	Door      *ingest.Door
	Moderator Moderator
	Now       func() time.Time
	Logger    *slog.Logger
}

// Desk has the reports of one relay. Any number of goroutines may use it.
type Desk struct {
	cfg Config

	dismissing sync.Mutex // held during a dismissal
	next       store.Seq  // up to where Run has read the feed

	mu        sync.Mutex // guards the fields below; not held across I/O
	all       map[nostr.ID]moderation.Report
	dismissed map[nostr.ID]int64          // when, unix time
	lacks     map[moderation.Subject]bool // reported subjects that are not here
	more      bool                        // some have come since tidy last looked
}

// Open reads the reports in a store.
func Open(ctx context.Context, c Config) (*Desk, error) {
	d := &Desk{cfg: c, all: map[nostr.ID]moderation.Report{}, dismissed: map[nostr.ID]int64{}, lacks: map[moderation.Subject]bool{}}
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

// put keeps a report in d, and ignores any other event. The caller holds mu, or is Open.
func (d *Desk) put(e *nostr.Event) {
	if e.Kind != nostr.KindReport {
		return
	}
	r, ok := moderation.ReadReport(e)
	if !ok { // without a subject it is never open, but counts for the bounds
		r = moderation.Report{ID: e.ID, By: e.PubKey, At: e.CreatedAt}
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

// follow reads a part of the feed, and reports whether anything moved that may have been reported. changed closes when there is more to
// read; it is nil where there may be more at once.
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
			if r, is := d.all[x.Event.ID]; is && r.Subject.Sort != 0 {
				d.cfg.Logger.Info("somebody has reported what is here: graspd reports shows it", "subject", r.Subject.String(), "from", r.By.String())
			}
		case x.Waits == nil:
			delete(d.all, x.Removed)
		}
	}
	return nil, len(d.all) > 0, nil
}

// tidy removes the reports beyond the bounds.
func (d *Desk) tidy(ctx context.Context) error {
	d.mu.Lock()
	if !d.more {
		d.mu.Unlock()
		return nil
	}
	list := slices.Collect(maps.Values(d.all))
	d.mu.Unlock()
	ids := moderation.Surplus(list)
	gone := len(ids)
	for len(ids) > 0 {
		some := ids[:min(atOnce, len(ids))]
		ids = ids[len(some):]
		err := d.cfg.Door.Exclusively(ctx, "", func(t *ingest.Exclusive) error {
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

// look finds out which reported subjects are here.
func (d *Desk) look(ctx context.Context) error {
	d.mu.Lock()
	subjects := map[moderation.Subject]bool{}
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
	lacks := map[moderation.Subject]bool{}
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

func here(ctx context.Context, v *store.View, s moderation.Subject) (bool, error) {
	switch s.Sort {
	case moderation.Event:
		k, err := v.Known(s.ID)
		return k.State == store.Stored, err
	case moderation.Repository:
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

// list returns the open reports.
func (d *Desk) list() []moderation.Report {
	d.mu.Lock()
	out := make([]moderation.Report, 0, len(d.all))
	for id, r := range d.all {
		if _, done := d.dismissed[id]; !done && r.Subject.Sort != 0 && !d.lacks[r.Subject] {
			out = append(out, r)
		}
	}
	d.mu.Unlock()
	return slices.DeleteFunc(out, func(r moderation.Report) bool { return d.cfg.Moderator.Bars(r.Subject) })
}

// Open sums up the open reports by their subjects, the newest first.
func (d *Desk) Open() []moderation.Reported { return moderation.Gather(d.list()) }

// about returns the open reports about a subject, the newest first.
func (d *Desk) about(s moderation.Subject) []moderation.Report {
	list := slices.DeleteFunc(d.list(), func(r moderation.Report) bool { return r.Subject != s })
	slices.SortFunc(list, func(a, b moderation.Report) int { return moderation.Older(b, a) })
	return list
}

// Remove has the moderator bar a reported subject. The journal says that somebody reported it, and who. It fails with ErrNone where no
// report about the subject is open.
func (d *Desk) Remove(ctx context.Context, s moderation.Subject, by, why string) (moderation.Case, error) {
	list := d.about(s)
	if len(list) == 0 {
		return moderation.Case{}, ErrNone
	}
	return d.cfg.Moderator.Bar(ctx, moderation.Order{Subject: s, By: by, Why: because(list, why)})
}

// Dismiss closes the open reports about a subject for good; new ones may come. It fails with ErrNone where no report is open.
func (d *Desk) Dismiss(ctx context.Context, s moderation.Subject, by, why string) error {
	d.dismissing.Lock()
	defer d.dismissing.Unlock()
	list := d.about(s)
	if len(list) == 0 {
		return ErrNone
	}
	now := d.cfg.Now().Unix()
	forget := d.oldest(len(list))
	e := moderation.Entry{By: by, Did: moderation.Settled, Subject: s.String(), Title: d.cfg.Moderator.Title(s), Why: because(list, why)}
	err := d.cfg.Moderator.Note(ctx, e, func(t *ingest.Exclusive) error {
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

// oldest returns the dismissals to forget, so that there is room for n more.
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

// because writes the reason for the journal: the operator's own, and who has reported what.
func because(list []moderation.Report, why string) string {
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
	x := moderation.Gather(list)[0]
	said := fmt.Sprintf("reported as %s by %s%s", strings.Join(x.Kinds, ", "), strings.Join(who, ", "), more)
	if why != "" {
		return why + "; " + said
	}
	if x.Last.Text != "" {
		return said + ": " + x.Last.Text
	}
	return said
}
