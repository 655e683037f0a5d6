package relay

import (
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

// refuseEvent says why an event is too large for this relay, as the text of its OK; "" when it is not too large.
func (l Limits) refuseEvent(e *nostr.Event) string {
	most, tags := l.EventBytes, len(e.Tags)
	if e.Kind == nip34.KindState {
		most, tags = stateEvent*most, 0 // the policy counts them
	}
	switch {
	case e.Size() > most:
		return fmt.Sprintf("invalid: event larger than %d bytes; shorten it", most)
	case utf8.RuneCountInString(e.Content) > l.contentLength():
		return fmt.Sprintf("invalid: content longer than %d characters; shorten it", l.contentLength())
	case tags > l.Tags:
		return fmt.Sprintf("invalid: event has more than %d tags; remove some", l.Tags)
	}
	return ""
}

// refuseSub says why the relay refuses a subscription id; "" when it does not.
func (l Limits) refuseSub(sub string) string {
	if utf8.RuneCountInString(sub) > l.SubIDLength {
		return fmt.Sprintf("invalid: subscription id longer than %d characters", l.SubIDLength)
	}
	return ""
}

// refuseFilters says why the relay refuses the filters of a REQ, as the text of its CLOSED; "" when it does not.
func (l Limits) refuseFilters(filters []nostr.Filter) string {
	if len(filters) > l.Filters {
		return fmt.Sprintf("invalid: too many filters in one REQ: %d, at most %d", len(filters), l.Filters)
	}
	for i := range filters {
		if reason := cmp.Or(refuseSearch(filters[i].Search), l.refuseFilter(&filters[i])); reason != "" {
			return reason
		}
	}
	return ""
}

func (l Limits) refuseFilter(f *nostr.Filter) string {
	for _, list := range []struct {
		name string
		n    int
	}{{"ids", len(f.IDs)}, {"authors", len(f.Authors)}, {"kinds", len(f.Kinds)}} {
		if list.n > l.Values {
			return l.tooMany(list.name, list.n)
		}
	}
	for _, t := range f.Tags {
		if len(t.Values) > l.Values {
			return l.tooMany("tag values of #"+string(t.Name), len(t.Values))
		}
	}
	return ""
}

func (l Limits) tooMany(what string, n int) string {
	return fmt.Sprintf("invalid: too many %s in a filter: %d, at most %d; split it", what, n, l.Values)
}

// onlyREQ refuses filters with a search, which only a REQ may have; "" for filters without one.
func onlyREQ(filters ...nostr.Filter) string {
	for i := range filters {
		if filters[i].Search != "" {
			return "unsupported: this relay searches (NIP-50) for a REQ alone; ask without it"
		}
	}
	return ""
}

// clamp returns a filter with the limit by which the relay answers it and, for a search, with the kinds that are searched.
func (l Limits) clamp(f nostr.Filter) nostr.Filter {
	limit := l.DefaultLimit
	if f.Limit != nil {
		limit = min(*f.Limit, l.Limit)
	}
	f.Limit = &limit
	return searching(f)
}
