package gitwire

import (
	"math"
	"strconv"
	"strings"
)

// Filter leaves objects out of a pack (git-rev-list(1), --filter). The zero Filter leaves out none.
type Filter struct {
	Kind  FilterKind
	Limit int64 // bytes, of FilterBlobLimit alone
}

// FilterKind says which objects a filter leaves out.
type FilterKind uint8

// The filters that are allowed; the others of git are costly to answer.
const (
	FilterNone      FilterKind = iota
	FilterBlobNone             // blob:none
	FilterBlobLimit            // blob:limit=<n>: no blobs of that size and above
	FilterTreeZero             // tree:0: no trees and no blobs
)

// String writes the filter as git reads it; "" for the zero Filter.
func (f Filter) String() string {
	switch f.Kind {
	case FilterBlobNone:
		return "blob:none"
	case FilterBlobLimit:
		return "blob:limit=" + strconv.FormatInt(f.Limit, 10)
	case FilterTreeZero:
		return "tree:0"
	}
	return ""
}

// parseFilter reads a filter in the forms that git takes, and refuses the others in git's words.
func parseFilter(spec string) (Filter, error) {
	if spec == "blob:none" {
		return Filter{Kind: FilterBlobNone}, nil
	}
	if size, ok := strings.CutPrefix(spec, "blob:limit="); ok {
		if n, ok := parseSize(size); ok {
			return Filter{Kind: FilterBlobLimit, Limit: n}, nil
		}
	}
	if depth, ok := strings.CutPrefix(spec, "tree:"); ok {
		n, ok := parseSize(depth)
		switch {
		case !ok:
			return Filter{}, refuse("expected 'tree:<depth>'")
		case n > 0:
			return Filter{}, refuse("tree filter allows max depth 0, but got %d", n)
		}
		return Filter{Kind: FilterTreeZero}, nil
	}
	for _, known := range []string{"sparse:oid=", "object:type=", "combine:"} {
		if strings.HasPrefix(spec, known) {
			return Filter{}, refuse("filter '%s' not supported", known[:len(known)-1])
		}
	}
	return Filter{}, refuse("invalid filter-spec %s", quote(spec))
}

// parseSize reads decimal digits and perhaps one of k, m and g, which are powers of 1024.
func parseSize(text string) (int64, bool) {
	unit := int64(1)
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'k', 'K':
			unit = 1 << 10
		case 'm', 'M':
			unit = 1 << 20
		case 'g', 'G':
			unit = 1 << 30
		}
	}
	if unit > 1 {
		text = text[:len(text)-1]
	}
	n, ok := parseDecimal(text, math.MaxInt64/unit)
	return n * unit, ok
}

// parseDecimal reads a number of digits alone, up to most.
func parseDecimal(text string, most int64) (int64, bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n <= most
}
