package relay

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/policy"
)

// Limits are what one client may ask of the relay. A zero field takes the default that stands beside it. The information document tells
// those for which NIP-11 has a field.
type Limits struct {
	MessageBytes  int           // 256 KiB: one frame of a client
	EventBytes    int           // 128 KiB: one event, encoded as it is stored
	Tags          int           // 2,000: tags of one event
	SubIDLength   int           // 64: characters of a subscription id; more than 64 has no effect (NIP-01)
	Subscriptions int           // 64: open at once on one connection
	Filters       int           // 20: in one REQ
	Values        int           // 500: in one list of a filter
	Limit         int           // 500: a larger limit of a filter is taken as this
	DefaultLimit  int           // 500: where a filter has none
	ScanWork      int           // 10,000,000: steps of work of the stored part of one REQ, or of the set of one NEG-OPEN
	CountWork     int           // 500,000: steps of work of one COUNT, about half a second; a step is an index row that is read
	Idle          time.Duration // 30 min: without a message and with nothing open, until the connection is closed
	Reconcile     ReconcileLimits
}

// How many times as large as others a repository state (kind 30618) may be, and the message that brings it. NIP-11 has no field for this.
const (
	stateEvent   = policy.MaxStateBytes / policy.MaxEventBytes
	stateMessage = 16
)

// ReconcileLimits bound the reconciliations that this relay answers (NIP-77). A set costs about 42 bytes for each record.
type ReconcileLimits struct {
	PerConnection int // 8: open at once on one connection
	Records       int // 1,000,000: in one set; a filter that matches more is refused
	Total         int // 4,000,000: in all sets of all connections
}

func (l Limits) withDefaults() Limits {
	return Limits{
		MessageBytes:  cmp.Or(l.MessageBytes, 256<<10),
		EventBytes:    cmp.Or(l.EventBytes, policy.MaxEventBytes),
		Tags:          cmp.Or(l.Tags, policy.MaxEventTags),
		SubIDLength:   cmp.Or(l.SubIDLength, 64),
		Subscriptions: cmp.Or(l.Subscriptions, 64),
		Filters:       cmp.Or(l.Filters, 20),
		Values:        cmp.Or(l.Values, 500),
		Limit:         cmp.Or(l.Limit, 500),
		DefaultLimit:  min(cmp.Or(l.DefaultLimit, 500), cmp.Or(l.Limit, 500)),
		ScanWork:      cmp.Or(l.ScanWork, 10_000_000),
		CountWork:     cmp.Or(l.CountWork, 500_000),
		Idle:          cmp.Or(l.Idle, 30*time.Minute),
		Reconcile: ReconcileLimits{
			PerConnection: cmp.Or(l.Reconcile.PerConnection, 8),
			Records:       cmp.Or(l.Reconcile.Records, 1_000_000),
			Total:         cmp.Or(l.Reconcile.Total, 4_000_000),
		},
	}
}

// supportedNIPs are the NIPs that this package, the store and the policy keep together.
var supportedNIPs = []int{1, 9, 11, 13, 34, 40, 42, 45, 50, 56, 62, 70, 77}

// document completes d, in which the operator describes the relay and other packages name the NIPs that they keep, with the limits and
// the NIPs that are kept here.
func (l Limits) document(d nip11.Document) nip11.Document {
	all := append(slices.Clone(supportedNIPs), d.SupportedNIPs...)
	slices.Sort(all)
	d.SupportedNIPs = slices.Compact(all)
	d.Negentropy = 1
	d.Limitation = nip11.Limitation{
		MaxMessageLength:    l.MessageBytes,
		MaxSubscriptions:    l.Subscriptions,
		MaxFilters:          l.Filters,
		MaxLimit:            l.Limit,
		MaxSubIDLength:      l.SubIDLength,
		MaxEventTags:        l.Tags,
		MaxContentLength:    l.EventBytes, // no event of that size can hold more
		AuthRequired:        d.Limitation.AuthRequired,
		RestrictedWrites:    true,
		CreatedAtUpperLimit: int64(policy.MaxAhead.Seconds()),
		DefaultLimit:        l.DefaultLimit,
	}
	return d
}
