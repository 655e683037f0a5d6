package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/policy"
)

// Most deletion requests on public relays name what was never here. One that has removed nothing is unused: it is served for
// UnusedServed from its created_at, so that other relays which have what it names hear of it, and then goes from the log. Its marks
// keep that away for UnusedGate more, and for as long it is remembered, so that no reconciliation fetches it again. Each time that a
// mark keeps something away it stands for twice UnusedGate from then on, and while half of that is left the request is served. One
// that has removed something stays for ever, as what it removed has paid for it.
const (
	UnusedServed = 30 * 24 * time.Hour
	UnusedGate   = 183 * 24 * time.Hour

	unusedServed = int64(UnusedServed / time.Second)
	unusedGate   = int64(UnusedGate / time.Second)
)

const daySeconds = 24 * 3600

// MaxUnused is how many unused deletion requests of one author are served, and how many are remembered for UnusedGate, unless Options
// say otherwise. Beyond that one is not served, and remembered for a week.
const MaxUnused = 1000

// deletionMark is what deletions leave for something that they name.
type deletionMark struct {
	time   int64        // created_at of the newest of them
	until  int64        // unix time from which on it has no force; 0 is for ever
	author nostr.PubKey // whose it is; only where it has an end
}

func (m deletionMark) over(now int64) bool { return m.until != 0 && m.until <= now }

// append is the value of a mark. The key of an id tells the author, that of an address does not.
func (m deletionMark) append(dst []byte, table byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.time))
	if m.until == 0 {
		return dst
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.until))
	if table == tableDeletedAddress {
		dst = append(dst, m.author[:]...)
	}
	return dst
}

func parseMark(key, v []byte) (m deletionMark, err error) {
	finite := 16
	var owner []byte
	switch {
	case len(key) == 1+32+32 && key[0] == tableDeletedID:
		owner = key[1+32:]
	case len(key) == 1+hashLen && key[0] == tableDeletedAddress:
		finite += 32
	default:
		return m, fmt.Errorf("mark of a deletion: %w", errCorrupt)
	}
	if len(v) != 8 && len(v) != finite {
		return m, fmt.Errorf("mark of a deletion: %w", errCorrupt)
	}
	m.time = int64(binary.BigEndian.Uint64(v))
	if len(v) == 8 {
		return m, nil
	}
	if m.until = int64(binary.BigEndian.Uint64(v[8:])); m.until <= 0 {
		return m, fmt.Errorf("mark of a deletion: %w", errCorrupt)
	}
	if owner == nil {
		owner = v[16:]
	}
	m.author = nostr.PubKey(owner)
	return m, nil
}

// markAt is a mark as it stands, also one that is over and still there.
func (r reader) markAt(key []byte) (m deletionMark, ok bool, err error) {
	v, ok, err := r.read(key)
	if err != nil || !ok {
		return m, false, err
	}
	m, err = parseMark(key, v)
	return m, err == nil, err
}

// agesAt is when a deletion request that is unused is served no more, whatever somebody wrote as its time.
func agesAt(createdAt, now int64) int64 { return min(createdAt, now+unusedServed) + unusedServed }

// gateUntil is the end of the marks that it leaves now.
func gateUntil(createdAt, now int64) int64 { return max(agesAt(createdAt, now), now) + unusedGate }

// marksNamed are the keys of the marks of what a deletion names, each once.
func marksNamed(del *nostr.Event) (keys [][]byte) {
	seen := map[string]bool{}
	for _, t := range del.Tags {
		var key []byte
		switch t.Name() {
		case "e":
			id, err := nostr.ParseID(t.Value())
			if err != nil {
				continue
			}
			key = deletedIDKey(id, del.PubKey)
		case "a":
			h, ok := ownAddress(del.PubKey, t.Value())
			if !ok {
				continue
			}
			key = keyHash(tableDeletedAddress, h)
		default:
			continue
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// keepMarks lets what a deletion names be kept away for ever.
func (b *Batch) keepMarks(del *nostr.Event) error {
	r := b.reader()
	for _, key := range marksNamed(del) {
		m, ok, err := r.markAt(key)
		if err != nil {
			return err
		}
		if !ok || m.until == 0 {
			continue
		}
		m.until = 0
		if err := b.set(key, m.append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}

// usedMarks lets the marks stand longer that have kept an event away just now.
func (b *Batch) usedMarks(e *nostr.Event) error {
	if !deletable(e.Kind) {
		return nil
	}
	keys := [][]byte{deletedIDKey(e.ID, e.PubKey)}
	if a := e.Address(); a != "" {
		keys = append(keys, keyHash(tableDeletedAddress, hashOf(a)))
	}
	r := b.reader()
	until := r.now + 2*unusedGate
	for _, key := range keys {
		m, ok, err := r.markAt(key)
		if err != nil {
			return err
		}
		if !ok || m.until == 0 || m.over(r.now) || until-m.until < daySeconds { // which spares a write for each copy
			continue
		}
		m.until = until
		if err := b.set(key, m.append(nil, key[0])); err != nil {
			return err
		}
	}
	return nil
}

// setUnused has a request, which is not looked at yet, be looked at at some time.
func (b *Batch) setUnused(id nostr.ID, author nostr.PubKey, due int64) error {
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	m.unused++
	b.marked[author] = m
	due = max(due, 0)
	b.ageFrom = min(b.ageFrom, due)
	if err := b.set(keyID(tableUnusedDue, id), binary.BigEndian.AppendUint64(nil, uint64(due))); err != nil {
		return err
	}
	return b.set(timedKey(tableUnused, due, id), author[:])
}

// dropUnused has a request not be looked at any more, if it is to be.
func (b *Batch) dropUnused(id nostr.ID, author nostr.PubKey) error {
	v, ok, err := get(b.w, keyID(tableUnusedDue, id))
	if err != nil || !ok {
		return err
	}
	if len(v) != 8 {
		return fmt.Errorf("unused deletion: %w", errCorrupt)
	}
	due := int64(binary.BigEndian.Uint64(v))
	m, err := b.marksOf(author)
	if err != nil {
		return err
	}
	m.unused = uint32(max(0, int64(m.unused)-1))
	b.marked[author] = m
	if err := b.delete(keyID(tableUnusedDue, id)); err != nil {
		return err
	}
	return b.delete(timedKey(tableUnused, due, id))
}

// limitUnused sees to it that a deletion that was added goes in time if it is unused, at once where it is too old or its author has
// many. What an unfinished one does is found out when it is done.
func (b *Batch) limitUnused(e *nostr.Event, seq Seq) error {
	now := b.reader().now
	_, unfinished, err := get(b.w, unfinishedKey(e.PubKey, seq))
	switch {
	case err != nil:
		return err
	case unfinished:
		return b.setUnused(e.ID, e.PubKey, max(agesAt(e.CreatedAt, now), now+daySeconds))
	case b.used:
		return b.keepMarks(e)
	}
	m, err := b.marksOf(e.PubKey)
	if err != nil {
		return err
	}
	due := agesAt(e.CreatedAt, now)
	if due <= now || int64(m.unused) >= b.s.opt.MaxUnused {
		return b.Remove(e.ID, ReasonUnused)
	}
	return b.setUnused(e.ID, e.PubKey, due)
}

// unusedRow is a request that is looked at when it is due.
type unusedRow struct {
	due    int64
	id     nostr.ID
	author nostr.PubKey
}

func parseUnused(key, v []byte) (u unusedRow, err error) {
	at, id, ok := parseTimedKey(key)
	if !ok || len(v) != len(u.author) {
		return u, fmt.Errorf("unused deletion: %w", errCorrupt)
	}
	return unusedRow{at, id, nostr.PubKey(v)}, nil
}

// AgeDue looks at up to max unused deletion requests whose time is over by now, the longest first, and removes those that nothing has
// been kept away by since. It says how many it has looked at, and when the next one is due: at once where there are more, the zero time
// where there are none.
func (b *Batch) AgeDue(now time.Time, max int) (next time.Time, n int, err error) {
	due, from, err := b.unusedDue(now.Unix(), max)
	if err != nil {
		return next, 0, fmt.Errorf("unused deletions: %w", err)
	}
	b.ageFrom = from
	if b.ops == 0 && len(due) == 0 { // it holds for the store, whatever becomes of the batch
		b.s.ageFrom = from
	}
	for _, u := range due {
		if err := b.age(u, now.Unix()); err != nil {
			return next, n, fmt.Errorf("unused deletion %s: %w", u.id, err)
		}
		n++
	}
	if b.ageFrom != math.MaxInt64 {
		next = time.Unix(b.ageFrom, 0)
	}
	return next, n, nil
}

func (b *Batch) unusedDue(until int64, max int) (due []unusedRow, next int64, err error) {
	it, err := b.w.NewIter(&pebble.IterOptions{LowerBound: timedKey(tableUnused, b.ageFrom, nostr.ID{}), UpperBound: []byte{tableUnused + 1}})
	if err != nil {
		return nil, b.ageFrom, err
	}
	defer closeAfter(it.Close, &err)
	for it.First(); it.Valid(); it.Next() {
		u, err := parseUnused(it.Key(), it.Value())
		if err != nil {
			return nil, b.ageFrom, err
		}
		if u.due > until || len(due) == max {
			return due, u.due, nil
		}
		due = append(due, u)
	}
	return due, math.MaxInt64, it.Error()
}

func (b *Batch) age(u unusedRow, now int64) error {
	b.ops++
	if err := b.dropUnused(u.id, u.author); err != nil {
		return err
	}
	r := b.reader()
	_, at, ok, err := r.lookup(u.id)
	if err == nil && !ok {
		err = errCorrupt
	}
	if err != nil {
		return err
	}
	if _, unfinished, err := get(b.w, unfinishedKey(u.author, at.seq)); err != nil {
		return err
	} else if unfinished {
		return b.setUnused(u.id, u.author, now+daySeconds)
	}
	e, err := r.event(at.seq)
	if err != nil {
		return err
	}
	used, until, err := b.force(e)
	switch {
	case err != nil:
		return err
	case used:
		return b.keepMarks(e)
	case until > now:
		return b.setUnused(u.id, u.author, until)
	}
	return b.remove(e, at, ReasonUnused)
}

// force is whether a deletion has removed something, and until when it is served for what it has kept away.
func (b *Batch) force(e *nostr.Event) (used bool, until int64, err error) {
	r := b.reader()
	for _, key := range marksNamed(e) {
		b.steps += seekCost
		m, ok, err := r.markAt(key)
		if err != nil {
			return false, 0, err
		}
		if !ok || m.time != e.CreatedAt {
			continue // a newer one has taken it over
		}
		used = used || m.until == 0
		until = max(until, m.until-unusedGate)
	}
	return used, until, nil
}

// UnusedQuietUntil returns a unix time before which neither AgeDue nor SweepMarks has anything to do. It reads nothing. Only the
// goroutine that begins batches may call it, while none is open.
func (s *Store) UnusedQuietUntil() int64 { return min(s.ageFrom, s.sweepFrom) }

// sweepEvery is between two looks at all marks.
const sweepEvery = daySeconds

// SweepMarks looks at the next max marks of deletions and takes those away that are over. It says whether there are more to be looked at;
// else it begins again a day later.
func (b *Batch) SweepMarks(now time.Time, max int) (more bool, err error) {
	if b.s.sweepFrom > now.Unix() {
		return false, nil
	}
	over, last, err := b.marksOver(now.Unix(), max)
	if err != nil {
		return false, fmt.Errorf("sweep marks of deletions: %w", err)
	}
	for _, x := range over {
		b.ops++
		if err := b.unmark(x.key, x.author); err != nil {
			return false, fmt.Errorf("sweep marks of deletions: %w", err)
		}
	}
	if b.s.swept = last; last != nil {
		return true, nil
	}
	b.s.sweepFrom = now.Unix() + sweepEvery
	return false, nil
}

type markOver struct {
	key    []byte
	author nostr.PubKey
}

// marksOver goes on from the mark that was looked at last, and gives where it has stopped: nil at the end.
func (b *Batch) marksOver(now int64, max int) (over []markOver, last []byte, err error) {
	it, err := b.w.NewIter(nil)
	if err != nil {
		return nil, nil, err
	}
	defer closeAfter(it.Close, &err)
	n := 0
	for _, table := range []byte{tableDeletedAddress, tableDeletedID} { // in the order of keys
		from := []byte{table}
		if b.s.swept != nil {
			if b.s.swept[0] > table {
				continue
			}
			if b.s.swept[0] == table {
				from = append(slices.Clone(b.s.swept), 0)
			}
		}
		for it.SeekGE(from); it.Valid() && it.Key()[0] == table; it.Next() {
			m, err := parseMark(it.Key(), it.Value())
			if err != nil {
				return nil, nil, err
			}
			if m.over(now) {
				over = append(over, markOver{bytes.Clone(it.Key()), m.author})
			}
			if n++; n == max {
				return over, bytes.Clone(it.Key()), nil
			}
		}
		if err := it.Error(); err != nil {
			return nil, nil, err
		}
	}
	return over, nil, nil
}

// agedAs is what an unused deletion is remembered as: where its author has too many that are remembered for long, as any other.
func (b *Batch) agedAs(author nostr.PubKey) (policy.Outcome, error) {
	m, err := b.marksOf(author)
	if err != nil || int64(m.aged) < b.s.opt.MaxUnused {
		return policy.Unused, err
	}
	return policy.Refuse, nil
}

// countAged counts a record of an unused deletion that comes or goes.
func (b *Batch) countAged(r record, n int) error {
	if r.why != policy.Unused {
		return nil
	}
	m, err := b.marksOf(r.author)
	if err != nil {
		return err
	}
	m.aged = uint32(max(0, int64(m.aged)+int64(n)))
	b.marked[r.author] = m
	return nil
}
