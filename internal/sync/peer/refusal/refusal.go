// Package refusal reads what relays write when they turn a request down: the texts of CLOSED, NOTICE and NEG-ERR, which every
// relay words in its own way. It knows the words that known relays use, and their meaning. As a NOTICE names no request, it also remembers
// what one may be about: CLOSEs that the relay may have thrown away (Closes), and a refusal that it repeats (Echo). Read Of first.
package refusal

import (
	"slices"
	"strings"
)

// Kind is what a NOTICE, a CLOSED or a NEG-ERR of a remote relay means.
type Kind uint8

// The kinds of refusals.
const (
	None       Kind = iota // for a NOTICE only: it may mean anything
	Other                  // a request was turned down for another reason
	Rate                   // slow down
	TooMany                // too many subscriptions
	Full                   // all subscriptions together ask for too much
	TooBig                 // request too big
	Value                  // the relay does not take a value in the request
	Auth                   // auth-required
	Restricted             // not allowed
)

// Excess says what makes a request too big.
type Excess uint8

// The kinds of excess.
const (
	NoExcess Excess = iota
	Filters         // too many in a REQ
	Values          // too many in a list
	Bytes           // too many in the message
	Things          // the relay does not say what
)

var (
	rateTexts = []string{"rate limit", "rate-limit", "too many concurrent", "too many reqs", "slow down", "throttl", "so many requests"}
	fullTexts = []string{"total filter cost", "filters fill the memory"}
	manyTexts = []string{"too many concurrent reqs", "maximum concurrent subscription count", "too many subscriptions",
		"too many reqs", "subscriptions from this ip"}
	valueTexts = []string{"filter item too large", "filter item too small", "null byte", "nul byte", "null character", `\u0000`, "invalid byte sequence",
		"control character", "invalid utf"}
	bigTexts = [...][]string{
		Filters: {"arr too big", "too many filters", "invalid number of filters", "req filters are not accepted"},
		Values:  {"too many ids", "too many authors", "too many kinds", "too many tag values", "total filter items too large"},
		Bytes:   {"message too large", "exceeded max size"},
		Things:  {"too many tags in filter", "too many things to filter for", "limit too high", "invalid input"},
	}
	negTexts = []string{"envelope", "neg-", "negentropy", "could not parse command", "unknown message type", "unknown cmd",
		"invalid", "bad msg", "unsupported", "disabled", "unrecognized"}
	negBigTexts = []string{"too many", "too big", "results_too_big"}
	// reqTexts are words of a NOTICE about a REQ.
	reqTexts = []string{"bad req", "subscription rejected", "subscription error", "could not parse", "failed to parse"}
)

// Of reads the text of a CLOSED or a NEG-ERR. It looks for too many subscriptions
// before rate limits, as relays word both alike.
func Of(text string) Kind {
	t := Normal(text)
	switch {
	case containsAny(t, fullTexts):
		return Full
	case containsAny(t, manyTexts):
		return TooMany
	case strings.HasPrefix(t, "rate-limited:"), containsAny(t, rateTexts):
		return Rate
	case containsAny(t, valueTexts):
		return Value
	case ExcessOf(text) != NoExcess:
		return TooBig
	case strings.HasPrefix(t, "auth-required"):
		return Auth
	case strings.HasPrefix(t, "restricted:"):
		return Restricted
	}
	return Other
}

// Crowded reports whether the relay may grant the request later, or when other requests have ended.
func (r Kind) Crowded() bool { return r == Rate || r == TooMany || r == Full }

// OfNotice reads the text of a NOTICE, which need not be about a request.
func OfNotice(text string) Kind {
	if c := Of(text); c != Other || containsAny(Normal(text), reqTexts) {
		return c
	}
	return None
}

// NegUnsupported reports whether a NOTICE after a NEG-OPEN means that the relay does
// not speak NIP-77.
func NegUnsupported(text string) bool { return containsAny(Normal(text), negTexts) }

// NegTooBig reports whether a NEG-ERR asks for a smaller time range. most is how many events the NEG-ERR allows, or 0.
func NegTooBig(text string, most int64) bool {
	if Of(text).Crowded() {
		return false
	}
	return most > 0 || containsAny(Normal(text), negBigTexts)
}

// NegLost reports whether a NEG-ERR means that the relay does not know the session (any more).
func NegLost(text string) bool {
	t := Normal(text)
	return strings.HasPrefix(t, "closed") || strings.Contains(t, "subscription not found")
}

// ExcessOf returns what makes the request too big, by the text of the refusal.
func ExcessOf(text string) Excess {
	t := Normal(text)
	for what, words := range bigTexts {
		if containsAny(t, words) {
			return Excess(what)
		}
	}
	return NoExcess
}

// Normal returns a text in the form in which this package compares it with words: in lower case, without "error: " in front.
func Normal(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "error: ")
}

func containsAny(t string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(t, w) })
}
