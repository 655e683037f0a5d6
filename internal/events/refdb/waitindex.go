package refdb

import (
	"fmt"
	"slices"
	"sync"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// waitIndex knows which events wait, by the identifiers of the repositories that they concern. The store ends waits in many ways of which the
// index does not hear, so an event in the index may wait no longer. When there are too many such events, the index reads all anew. The writer
// notes an event before it commits it, so the index knows whatever waits in a View. Any number of goroutines may use an index.
type waitIndex struct {
	store *store.Store

	mu    sync.Mutex
	by    map[string]map[nostr.ID]nostr.PubKey // the authors of states; nobody for other events; nil before the first use
	size  int
	fresh []*nostr.Event // events that wait since the open batch began, which no View has yet
	large []largeWait    // the large events in by, in the order in which they came
}

// largeWait is a waiting state that is larger than other events may be.
type largeWait struct {
	id     nostr.ID
	author nostr.PubKey
	size   int
}

// surplus is how many entries the index may have beyond twice the number of waiting events before it reads all anew.
const surplus = 1000

// load reads all waiting events, unless the index knows them. The caller holds mu.
func (b *waitIndex) load() error {
	if b.by != nil && b.size <= 2*b.store.Waits()+surplus {
		return nil
	}
	v := b.store.View()
	defer v.Close()
	b.by, b.size, b.large = map[string]map[nostr.ID]nostr.PubKey{}, 0, nil
	err := v.EachWait(func(w store.Waiting) error { b.add(w.Event); return nil })
	if err != nil {
		b.by = nil
		return fmt.Errorf("what waits for git data: %w", err)
	}
	for _, e := range b.fresh {
		b.add(e)
	}
	return nil
}

// add notes an event that waits. The caller holds mu.
func (b *waitIndex) add(e *nostr.Event) {
	size := b.size
	var by nostr.PubKey
	if e.Kind == nip34.KindState {
		by = e.PubKey
	}
	for _, d := range identifiers(e) {
		if b.by[d] == nil {
			b.by[d] = map[nostr.ID]nostr.PubKey{}
		}
		if _, there := b.by[d][e.ID]; !there {
			b.by[d][e.ID] = by
			b.size++
		}
	}
	if b.size > size && e.Size() > policy.MaxEventBytes {
		b.large = append(b.large, largeWait{e.ID, e.PubKey, e.Size()})
	}
}

// wait notes an event that waits from the open batch on.
func (b *waitIndex) wait(e *nostr.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh = append(b.fresh, e)
	if b.by != nil {
		b.add(e)
	}
}

// ended notes that the open batch has become durable or was dropped. Whoever asks finds out which.
func (b *waitIndex) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fresh = nil
}

// ids returns what may wait and concerns an identifier; of states only those by some people, unless that is nil.
func (b *waitIndex) ids(d string, by *grasp.Set) (out []nostr.ID, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.load(); err != nil {
		return nil, err
	}
	for id, author := range b.by[d] {
		if by == nil || author == (nostr.PubKey{}) || by.Has(author) {
			out = append(out, id)
		}
	}
	return out, nil
}

// of returns the waiting events that concern an identifier and have not expired, but for those that the snapshot leaves out, in no order; of states
// only those by some people, unless that is nil. Its errors are a Fault where they are over one event.
func (b *waitIndex) of(t snapshot, d string, by *grasp.Set) (out []*nostr.Event, err error) {
	ids, err := b.ids(d, by)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if t.leaves(id) {
			continue
		}
		w, err := t.Waiting(id)
		if err := t.faultOver(id, err); err != nil {
			return nil, err
		}
		if w.Event != nil && !expired(t, w.Event) {
			out = append(out, w.Event)
		}
	}
	return out, nil
}

// expired reports whether an event has expired (NIP-40). Its wait may go on for some minutes.
func expired(t snapshot, e *nostr.Event) bool {
	at, ok := e.Expiration()
	return ok && at <= t.now().Unix()
}

// largeWaits returns the large waiting events, in the order in which they came.
func (b *waitIndex) largeWaits(t Turn) ([]largeWait, error) {
	all, err := b.allLarge()
	if err != nil {
		return nil, err
	}
	waits := func(w largeWait) (bool, error) {
		k, err := t.Known(w.id)
		return k.State == store.InWaiting, err
	}
	seen, left := map[nostr.ID]bool{}, all[:0]
	for _, w := range all {
		ok, err := waits(w)
		if err != nil {
			return nil, err
		}
		if ok && !seen[w.id] {
			seen[w.id] = true
			left = append(left, w)
		}
	}
	return left, nil
}

func (b *waitIndex) allLarge() ([]largeWait, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.load()
	return slices.Clone(b.large), err
}

// anonymous takes the place of the identifiers for updates that name no repository: the pull requests that they update name one.
const anonymous = "\x00updates"

// identifiers returns the identifiers of the repositories that an event concerns, each once.
func identifiers(e *nostr.Event) []string {
	switch e.Kind {
	case nip34.KindRepository, nip34.KindState:
		return []string{e.Tags.D()}
	}
	var out []string
	seen := map[string]bool{}
	for _, a := range nip34.Repositories(e) {
		if !seen[a.D] {
			seen[a.D] = true
			out = append(out, a.D)
		}
	}
	if len(out) == 0 {
		out = append(out, anonymous)
	}
	return out
}
