package relay

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/graspd/graspd/internal/events/store"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
)

const (
	mostSearch  = 256 // bytes of a search (NIP-50)
	searchSteps = 30  // steps of work for looking through one event
	bytesOfStep = 256 // of a searched text, for each of which there is a step more for each word
)

// terms returns the words and the "quoted phrases" of a search, as fold has them. It leaves out extensions, of the form key:value or
// key:"value", as NIP-50 asks for unknown ones.
func terms(search string) (out []string) {
	for rest := fold(search); rest != ""; {
		var word string
		switch {
		case beginsQuoted(rest):
			phrase, after, closed := cutQuoted(rest)
			if !closed { // a quote that nothing closes is none
				rest = phrase
				continue
			}
			word, rest = strings.TrimSpace(phrase), after
		default:
			word, rest, _ = strings.Cut(rest, " ")
			if key, value, ok := strings.Cut(word, ":"); ok && isKey(key) {
				if beginsQuoted(value) {
					_, rest, _ = cutQuoted(value + " " + rest)
					continue
				}
				if value != "" && value[0] != '/' && value[0] != ':' {
					continue
				}
			}
			word = strings.TrimRight(word, quotes)
		}
		if word != "" {
			out = append(out, word)
		}
		rest = strings.TrimSpace(rest)
	}
	return out
}

// quotes are the characters around a phrase.
const quotes = "\"\u201c\u201d\u201e"

func beginsQuoted(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && strings.ContainsRune(quotes, r)
}

// cutQuoted returns what stands between the quote at the beginning of s and the next one, and what follows; without another quote all after the
// first.
func cutQuoted(s string) (phrase, after string, closed bool) {
	_, n := utf8.DecodeRuneInString(s)
	s = s[n:]
	i := strings.IndexAny(s, quotes)
	if i < 0 {
		return s, "", false
	}
	_, n = utf8.DecodeRuneInString(s[i:])
	return s[:i], s[i+n:], true
}

// isKey reports whether a text may be the key of an extension.
func isKey(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '-' && r != '_' && (r < 'a' || r > 'z') })
}

// fold returns a text in the form in which texts are compared: lower case, composed letters (NFC), and one space for any white space.
func fold(s string) string {
	return strings.Join(strings.Fields(norm.NFC.String(strings.ToLower(s))), " ")
}

// finds reports whether a searched text, as fold has it, has every word of a search.
func finds(terms []string, text string) bool {
	for _, word := range terms {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return text != ""
}

// stepsOfSearch returns how many steps of work finds takes.
func stepsOfSearch(terms []string, text string) int { return len(terms) * len(text) / bytesOfStep }

// refuseSearch says why the relay refuses a search; "" when it does not.
func refuseSearch(search string) string {
	if len(search) > mostSearch {
		return fmt.Sprintf("invalid: search longer than %d bytes; shorten it", mostSearch)
	}
	return ""
}

// searching returns a filter; with a search, it asks only for kinds that are searched. A search without a word or a phrase is none.
func searching(f nostr.Filter) nostr.Filter {
	if len(terms(f.Search)) == 0 {
		f.Search = ""
		return f
	}
	kinds := []nostr.Kind{}
	for _, k := range nip34.Kinds(nip34.Searched) {
		if f.Kinds == nil || among(f.Kinds, k, func(a, b nostr.Kind) int { return int(a) - int(b) }) {
			kinds = append(kinds, k)
		}
	}
	f.Kinds = kinds
	return f
}

// stored calls yield with the stored events of a filter, newest first. With a search, it yields only events that the search finds, and bills
// searchSteps and more by its text for each event that it looks through. Errors of the store wrap errQuery; errors of yield come as they are.
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
		text := fold(nip34.SearchText(e))
		if err := bill(stepsOfSearch(words, text)); err != nil {
			return fmt.Errorf("%w: %w", errQuery, err)
		}
		if !finds(words, text) {
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
