package relay

import (
	"cmp"
	"slices"
	"time"

	"github.com/graspd/graspd/internal/events/policy"
	"github.com/graspd/graspd/internal/protocol/nip11"
)

// Limits bound what one client may ask of the relay. A field that is zero has the default beside it. The information document tells the
// limits for which NIP-11 has a field.
type Limits struct {
	MessageBytes  int           // 256 KiB: one frame of a client
	EventBytes    int           // 128 KiB: one event, encoded as the store has it
	Tags          int           // 2,000: tags of one event
	SubIDLength   int           // 64: characters of a subscription id; more than 64 has no effect (NIP-01)
	Subscriptions int           // 64: open at once on one connection
	Filters       int           // 20: in one REQ
	Values        int           // 500: in one list of a filter
	Limit         int           // 500: the largest limit of a filter; a larger one counts as this
	DefaultLimit  int           // 500: the limit of a filter without one
	ScanWork      int           // 10,000,000: steps of work for the stored part of one REQ, or for the set of one NEG-OPEN
	CountWork     int           // 500,000: steps of work for one COUNT, about half a second; a step is one index row read
	Idle          time.Duration // 30 min: how long a client may send no message and have nothing open until the relay closes the connection
	Reconcile     ReconcileLimits
}

// How many times as large as other events a repository state (kind 30618) may be, and as other messages its message. NIP-11 has no field
// for this.
const (
	stateEvent   = policy.MaxStateBytes / policy.MaxEventBytes
	stateMessage = 16
)

// ReconcileLimits bound the reconciliations that this relay answers (NIP-77). A set takes about 42 bytes for each record.
type ReconcileLimits struct {
	PerConnection int // 8: open at once on one connection
	Records       int // 1,000,000: in one set; the relay refuses a filter that matches more
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

// contentLength returns how many characters the content of an event may have. Of characters that take one byte each, an event may have so many:
// a thirty-second part of it is left for all else.
func (l Limits) contentLength() int { return l.EventBytes - l.EventBytes/32 }

// supportedNIPs are the NIPs that this package, the store and the policy together implement.
var supportedNIPs = []int{1, 9, 11, 13, 34, 40, 42, 45, 50, 56, 62, 70, 77}

// document adds the limits and supportedNIPs to d, in which the operator describes the relay and other packages name the NIPs that they
// implement.
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
		MaxContentLength:    l.contentLength(),
		AuthRequired:        d.Limitation.AuthRequired,
		RestrictedWrites:    true,
		CreatedAtUpperLimit: int64(policy.MaxAhead.Seconds()),
		DefaultLimit:        l.DefaultLimit,
	}
	return d
}
