package ingest

import (
	"time"

	"github.com/graspd/graspd/internal/base/bucket"
	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Each announcement makes work for all others with its identifier. So one address may bring few announcements with one identifier:
// announcementBurst at once, and one more every announcementEvery. A newer version of an announcement that is here does not count. Announcements
// from relays do not count either, as clients brought them elsewhere.
const (
	announcementBurst = 64
	announcementEvery = 10 * time.Minute
	// ReportBurst is how many reports (NIP-56) one address may bring at once, and ReportEvery how long until it may bring one more.
	ReportBurst  = 60
	ReportEvery  = time.Minute
	accountsKept = 50_000 // pairs of an address and an identifier in each of two halves; when the young half is full, it replaces the old one
)

var (
	announcing = bucket.Rate{Tokens: 1, In: announcementEvery, Burst: announcementBurst}
	reporting  = bucket.Rate{Tokens: 1, In: ReportEvery, Burst: ReportBurst}
)

var verdictTooManyFromAddress = policy.Verdict{Outcome: policy.Discard, Reason: "rate-limited: your address has announced many repositories with this " +
	"identifier; publish this one later, or under another d tag"}

var verdictReports = policy.Verdict{Outcome: policy.Discard, Reason: "rate-limited: your address has sent many reports; send this one later"}

// perAddress counts how many announcements with one identifier, and how many reports, came from one address. The writer owns it.
type perAddress struct {
	hash       hasher
	young, old map[key]bucket.Bucket
}

func newPerAddress() *perAddress {
	return &perAddress{hash: newHasher(), young: make(map[key]bucket.Bucket)}
}

// take counts one more announcement with that d tag, or returns false where it is one too many.
func (c *perAddress) take(address, d string, now time.Time) bool {
	return c.takeOf(c.hash.key('c', address+"\x00"+d), announcing, now)
}

// report counts one more report, or returns false where it is one too many.
func (c *perAddress) report(address string, now time.Time) bool {
	return c.takeOf(c.hash.key('r', address), reporting, now)
}

func (c *perAddress) takeOf(k key, rate bucket.Rate, now time.Time) bool {
	had, ok := c.young[k]
	if !ok {
		had = c.old[k]
	}
	if !had.Take(now, rate) {
		return false
	}
	if !ok && len(c.young) >= accountsKept {
		c.young, c.old = make(map[key]bucket.Bucket), c.young
	}
	c.young[k] = had
	return true
}

// withinAccount returns v, the verdict that accepts e, or a verdict that refuses e because it is one announcement or report too many from that
// address. It counts nothing for the address "", which stands for relays and imports.
func (w *writer) withinAccount(e *nostr.Event, address string, v policy.Verdict) (policy.Verdict, error) {
	switch {
	case address == "":
		return v, nil
	case e.Kind == nostr.KindReport:
		if !w.perAddress.report(address, time.Now()) {
			return verdictReports, nil
		}
		return v, nil
	case e.Kind != nip34.KindRepository:
		return v, nil
	}
	replaces, err := w.open.batch.HasAddress(e.Address())
	if err != nil {
		return v, err
	}
	if !replaces && !w.perAddress.take(address, e.Tags.D(), time.Now()) {
		return verdictTooManyFromAddress, nil
	}
	return v, nil
}
