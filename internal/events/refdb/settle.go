package refdb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graspd/graspd/internal/events/refs"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Served notes an event that the open batch has made a served one.
func (l *Ledger) Served(t Turn, e *nostr.Event) error {
	switch e.Kind {
	case nip34.KindRepository:
		l.inBatch.touch(e.Tags.D()).author(e.PubKey)
	case nip34.KindState:
		if s, err := refs.ReadState(e); err == nil {
			x := l.inBatch.touch(s.D)
			x.states = append(x.states, s)
		}
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		p, err := l.events.pullRequest(t, e)
		if err != nil {
			return err
		}
		l.inBatch.touchTip(p)
		return l.came(t, e)
	}
	return nil
}

// noteGone notes an event that is served no more. gone has all events that the batch has removed. It reports true for a lone update: nothing
// here names the update's repository any more.
func (l *Ledger) noteGone(t Turn, e *nostr.Event, gone []*nostr.Event) (lone bool, err error) {
	switch e.Kind {
	case nip34.KindRepository:
		l.inBatch.touch(e.Tags.D()).owner(e.PubKey)
	case nip34.KindPullRequest, nip34.KindPullRequestUpdate:
		p, err := l.events.pullRequest(t, e)
		if err != nil {
			return false, err
		}
		for _, x := range gone { // the pull request that e updates may have gone with e
			if updated, err := refs.ReadPullRequest(x); err == nil && x.ID == p.Updates {
				p = p.Of(updated)
			}
		}
		for _, of := range p.Repositories {
			l.inBatch.touch(of.D).lose(of, e.ID)
		}
		return len(p.Repositories) == 0 && p.Updates != (nostr.ID{}), nil
	}
	return false, nil
}

// noteLone notes updates that have gone after the pull requests that named their repositories. Only the rows of repositories tell which
// have such an update.
func (l *Ledger) noteLone(t Turn, lone map[nostr.ID]bool) error {
	if len(lone) == 0 {
		return nil
	}
	return t.EachRow(Prefix, "", func(_ string, value []byte) (bool, error) {
		r, err := Parse(value)
		if err != nil {
			return true, nil // a damaged row must not hold up other events; graspd check reports it
		}
		for _, x := range r.Refs.PullRequests {
			if lone[x.ID] {
				l.inBatch.touch(r.Of.D).lose(r.Of, x.ID)
			}
		}
		return true, nil
	})
}

// lose notes that a pull request of a repository is served no more.
func (x *touched) lose(of nip34.Address, id nostr.ID) {
	if !slices.Contains(x.gone, id) {
		x.gone = append(x.gone, id)
	}
	if grasp.IsContributed(of) {
		x.contributed = append(x.contributed, of)
	} else {
		x.owner(of.PubKey)
	}
}

// Settle brings the refs of repositories in line with what the batch has done to events since the last call, and writes their rows. Call Settle last
// before the commit, after all that the batch adds or removes, and before a turn that begins in the middle of a batch.
func (l *Ledger) Settle(t Turn) error {
	gone := t.Gone()
	lone := map[nostr.ID]bool{}
	for _, e := range gone {
		alone, err := l.noteGone(t, e, gone)
		if err != nil {
			return fmt.Errorf("refs without event %s: %w", e.ID, err)
		}
		if alone {
			lone[e.ID] = true
		}
	}
	if err := l.noteLone(t, lone); err != nil {
		return fmt.Errorf("refs of updates without their pull requests: %w", err)
	}
	for _, d := range l.inBatch.order {
		if err := l.settleIdentifier(t, d, l.inBatch.touched[d]); err != nil {
			return fmt.Errorf("refs of %.40q: %w", d, err)
		}
	}
	l.inBatch.order, l.inBatch.touched = nil, map[string]*touched{}
	for _, d := range slices.Sorted(maps.Keys(l.inBatch.stirred)) {
		t.Tell(LacksPrefix + d)
	}
	return nil
}

func (l *Ledger) settleIdentifier(t Turn, d string, x *touched) error {
	if d == anonymous {
		return nil
	}
	for _, of := range contributedOf(d, x) {
		if err := l.projectContributed(t, of, x); err != nil {
			return err
		}
	}
	f, err := l.events.family(t, d)
	if err != nil {
		return err
	}
	served := map[nostr.PubKey]bool{}
	owners := x.owners
	for _, a := range f.served {
		served[a.Author] = true
		if !slices.Contains(x.owners, a.Author) {
			owners = append(owners, a.Author)
		}
	}
	for _, owner := range owners {
		if !x.concerns(f, owner) {
			continue
		}
		if err := l.project(t, f, owner, served[owner], x); err != nil {
			return err
		}
	}
	return nil
}

// project writes the row of one repository, if it has changed.
func (l *Ledger) project(t Turn, f *family, owner nostr.PubKey, served bool, x *touched) error {
	of := f.repository(owner)
	before, err := Read(t, of)
	if err != nil {
		return err
	}
	tips, err := l.data.await(t, of, before.Dir, x.tips)
	if err != nil {
		return err
	}
	if before.Refs.Generation == 0 && before.Dir.IsZero() && !slices.ContainsFunc(x.states, func(s refs.State) bool { return len(s.Refs) == 0 }) {
		if !served {
			return t.SetRow(awaitedName(of), nil)
		}
		return nil // no data has come for it yet
	}
	after := before
	if served {
		after.Gone = 0
		change, err := l.change(f, before, x, tips)
		if err != nil {
			return err
		}
		after.Refs = before.Refs.Next(of, change)
	} else {
		if before.Gone == 0 {
			after.Gone = t.Now.Unix()
		}
		after.Refs = before.Refs.Next(of, refs.Change{Gone: x.gone}) // else a later announcement would bring these refs back
	}
	moved := after.Refs.Generation != before.Refs.Generation
	if !moved && after.Gone == before.Gone {
		return nil
	}
	if moved {
		after.Moved, after.Peeled = t.Now.Unix(), l.inBatch.peeledOf(before, after.Refs)
	}
	return l.inBatch.write(t, after, moved)
}

// change returns what has come and gone for one repository. tips are the new pull requests that name it and whose tips it has.
func (l *Ledger) change(f *family, r Repository, x *touched, tips []refs.PullRequest) (refs.Change, error) {
	members := f.servedCouncils.Of(r.Of.PubKey)
	c := refs.Change{Members: members, PullRequests: tips, Gone: x.gone}
	states := slices.Clone(x.states)
	if x.renews(f.servedCouncils, r.Of.PubKey) {
		states = nil
		for _, pk := range members.Members {
			s, err := f.state(pk, false)
			if err != nil {
				return c, err
			}
			if s != nil {
				states = append(states, *s)
			}
		}
	}
	slices.SortFunc(states, newestFirst) // of those that are complete the newest rules: no older one is looked up
	for _, s := range states {
		if !members.Has(s.Author) || r.Refs.Ruled && members.Has(r.Refs.Author) && !s.Newer(r.Refs.Stamp) {
			continue
		}
		ok, err := l.data.completeIn(f.t, &s, r.Dir)
		if err != nil {
			return c, err
		}
		if ok {
			c.States = []refs.State{s}
			break
		}
	}
	return c, nil
}

func newestFirst(a, b refs.State) int {
	switch {
	case a.Newer(b.Stamp):
		return -1
	case b.Newer(a.Stamp):
		return 1
	}
	return 0
}
