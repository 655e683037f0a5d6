// Package refusal reads what relays write when they turn a request down: the texts of CLOSED, NOTICE and NEG-ERR, which every
// relay words in its own way. It owns the words that known relays use and what each of them means. Read Of first.
package refusal

import (
	"slices"
	"strings"
)

// Kind is what a NOTICE, a CLOSED or a NEG-ERR of a remote relay means.
type Kind uint8

// The kinds of refusals.
const (
	None       Kind = iota // of a NOTICE only: it may mean anything
	Other                  // a request was turned down
	Rate                   // slow down
	TooMany                // too many subscriptions
	Full                   // what all subscriptions ask for is too much together
	TooBig                 // request too big
	Value                  // a value in it is not taken
	Auth                   // auth-required
	Restricted             // not allowed
)

// Excess is what is too much in a request that is too big.
type Excess uint8

// The kinds of excess.
const (
	NoExcess Excess = iota
	Filters         // in a REQ
	Values          // in a list
	Bytes           // in the message
	Things          // not said
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
	// reqTexts tell a NOTICE about a REQ from other news.
	reqTexts = []string{"bad req", "subscription rejected", "subscription error", "could not parse", "failed to parse"}
)

// Of reads the text of a CLOSED or a NEG-ERR. Texts that speak of
// subscriptions are told from plain rate limits first, as both are worded alike.
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

// Crowded says whether a request may be granted when others have ended, or later.
func (r Kind) Crowded() bool { return r == Rate || r == TooMany || r == Full }

// OfNotice reads the text of a NOTICE, which need not be about a request.
func OfNotice(text string) Kind {
	if c := Of(text); c != Other || containsAny(Normal(text), reqTexts) {
		return c
	}
	return None
}

// NegUnsupported says whether a NOTICE that follows a NEG-OPEN means that the
// relay does not speak NIP-77.
func NegUnsupported(text string) bool { return containsAny(Normal(text), negTexts) }

// NegTooBig says whether a NEG-ERR, which tells how many events one may be about or 0, asks for a smaller time range.
func NegTooBig(text string, most int64) bool {
	if Of(text).Crowded() {
		return false
	}
	return most > 0 || containsAny(Normal(text), negBigTexts)
}

// NegLost says whether a NEG-ERR means that the relay does not know the session (any more).
func NegLost(text string) bool {
	t := Normal(text)
	return strings.HasPrefix(t, "closed") || strings.Contains(t, "subscription not found")
}

// ExcessOf returns what a text says is too much in a request.
func ExcessOf(text string) Excess {
	t := Normal(text)
	for what, words := range bigTexts {
		if containsAny(t, words) {
			return Excess(what)
		}
	}
	return NoExcess
}

// Normal is a text as it is compared with words: in lower case, without what stands in front of every error.
func Normal(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "error: ")
}

func containsAny(t string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(t, w) })
}
