package paging

import (
	"math"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// Forever is the end of all time. First is the last second that counts as the beginning of time: a span that begins there or
// before has no beginning.
const (
	Forever = math.MaxInt64
	First   = 1
)

// Span is a range of creation times in Unix seconds, both ends inclusive.
type Span struct{ Since, Until int64 }

// From returns the span of all events created at since or later.
func From(since int64) Span { return Span{since, Forever} }

// Narrow returns f narrowed to the span.
func (s Span) Narrow(f nostr.Filter) nostr.Filter {
	if s.Since > First {
		f.Since = &s.Since
	}
	if s.Until < Forever {
		f.Until = &s.Until
	}
	return f
}

// around returns the span with a second more at each end, for a relay that takes both ends for exclusive.
func (s Span) around() Span {
	if s.Since > First {
		s.Since--
	}
	if s.Until < Forever {
		s.Until++
	}
	return s
}

func (s Span) has(at int64) bool { return at >= s.Since && at <= s.Until }
