package relay

import (
	"context"
	"fmt"
	"strings"

	"github.com/graspd/graspd/internal/nip34"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/store"
)

const (
	mostSearch  = 256 // bytes of a search (NIP-50)
	searchSteps = 30  // steps of work for looking through one event
)

// terms returns the words of a search, in lower case. It leaves out extensions of the form key:value, as NIP-50 asks for unknown ones.
func terms(search string) (out []string) {
	for _, word := range strings.Fields(strings.ToLower(search)) {
		if key, value, ok := strings.Cut(word, ":"); ok && key != "" && value != "" && !strings.HasPrefix(value, "//") {
			continue
		}
		out = append(out, word)
	}
	return out
}

// finds reports whether the searched text of an event has every word of a search.
func finds(terms []string, e *nostr.Event) bool {
	text := strings.ToLower(nip34.SearchText(e))
	for _, word := range terms {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return text != ""
}

// refuseSearch says why the relay refuses a search; "" when it does not.
func refuseSearch(search string) string {
	switch {
	case search == "":
		return ""
	case len(search) > mostSearch:
		return fmt.Sprintf("invalid: search longer than %d bytes; shorten it", mostSearch)
	case len(terms(search)) == 0:
		return "invalid: no word to search for; name one of a name, a description or a subject"
	}
	return ""
}

// searching returns a filter; with a search, it asks only for kinds that are searched.
func searching(f nostr.Filter) nostr.Filter {
	if f.Search == "" {
		return f
	}
	kinds := []nostr.Kind{}
	for _, k := range nip34.Searched {
		if f.Kinds == nil || among(f.Kinds, k, func(a, b nostr.Kind) int { return int(a) - int(b) }) {
			kinds = append(kinds, k)
		}
	}
	f.Kinds = kinds
	return f
}

// stored calls yield with the stored events of a filter, newest first. With a search, it yields only events that the search finds, and bills
// searchSteps for each event that it looks through. Errors of the store wrap errQuery; errors of yield come as they are.
func stored(ctx context.Context, v *store.View, bill store.Meter, f nostr.Filter, yield func(store.Row) error) error {
	if f.Search == "" {
		for row, err := range v.Query(ctx, f) {
			if err != nil {
				return fmt.Errorf("%w: %w", errQuery, err)
			}
			if err := yield(row); err != nil {
				return err
			}
		}
		return nil
	}
	left, words := *f.Limit, terms(f.Search)
	f.Limit = nil
	for row, err := range v.Query(ctx, f) {
		if err != nil {
			return fmt.Errorf("%w: %w", errQuery, err)
		}
		if err := bill(searchSteps); err != nil {
			return fmt.Errorf("%w: %w", errQuery, err)
		}
		e, err := row.Event()
		if err != nil {
			return fmt.Errorf("%w: %w", errQuery, err)
		}
		if !finds(words, e) {
			continue
		}
		if err := yield(row); err != nil {
			return err
		}
		if left--; left == 0 {
			return nil
		}
	}
	return nil
}
