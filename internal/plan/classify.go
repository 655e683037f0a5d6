package plan

import "strings"

// refusal is what a NOTICE, a CLOSED or a NEG-ERR of a remote relay means.
type refusal uint8

const (
	refusalNone       refusal = iota // of a NOTICE only: it may mean anything
	refusalOther                     // a request was turned down
	refusalRate                      // slow down
	refusalTooMany                   // too many subscriptions
	refusalFull                      // what all subscriptions ask for is too much together
	refusalTooBig                    // request too big
	refusalValue                     // a value in it is not taken
	refusalAuth                      // auth-required
	refusalRestricted                // not allowed
)

// tooMany is what is too much in a request that is too big.
type tooMany uint8

const (
	notTooMany     tooMany = iota
	tooManyFilters         // in a REQ
	tooManyValues          // in a list
	tooManyBytes           // in the message
	tooManyThings          // not said
)

var (
	rateTexts = []string{"rate limit", "rate-limit", "too many concurrent", "too many reqs", "slow down", "throttl", "so many requests"}
	fullTexts = []string{"total filter cost", "filters fill the memory"}
	manyTexts = []string{"too many concurrent reqs", "maximum concurrent subscription count", "too many subscriptions",
		"too many reqs", "subscriptions from this ip"}
	valueTexts = []string{"filter item too large", "filter item too small", "null byte", "nul byte", "null character", `\u0000`, "invalid byte sequence",
		"control character", "invalid utf"}
	bigTexts = [...][]string{
		tooManyFilters: {"arr too big", "too many filters", "invalid number of filters", "req filters are not accepted"},
		tooManyValues:  {"too many ids", "too many authors", "too many kinds", "too many tag values", "total filter items too large"},
		tooManyBytes:   {"message too large", "exceeded max size"},
		tooManyThings:  {"too many tags in filter", "too many things to filter for", "limit too high", "invalid input"},
	}
	negTexts = []string{"envelope", "neg-", "negentropy", "could not parse command", "unknown message type", "unknown cmd",
		"invalid", "bad msg", "unsupported", "disabled", "unrecognized"}
	negBigTexts = []string{"too many", "too big", "results_too_big"}
	// reqTexts tell a NOTICE about a REQ from other news.
	reqTexts = []string{"bad req", "subscription rejected", "subscription error", "could not parse", "failed to parse"}
)

// classify reads the text of a CLOSED or a NEG-ERR. Texts that speak of
// subscriptions are told from plain rate limits first, as both are worded alike.
func classify(text string) refusal {
	t := normalText(text)
	switch {
	case containsAny(t, fullTexts):
		return refusalFull
	case containsAny(t, manyTexts):
		return refusalTooMany
	case strings.HasPrefix(t, "rate-limited:"), containsAny(t, rateTexts):
		return refusalRate
	case containsAny(t, valueTexts):
		return refusalValue
	case sizeNamed(text) != notTooMany:
		return refusalTooBig
	case strings.HasPrefix(t, "auth-required"):
		return refusalAuth
	case strings.HasPrefix(t, "restricted:"):
		return refusalRestricted
	}
	return refusalOther
}

// crowded says whether a request may be granted when others have ended, or later.
func (r refusal) crowded() bool { return r == refusalRate || r == refusalTooMany || r == refusalFull }

// classifyNotice reads the text of a NOTICE, which need not be about a request.
func classifyNotice(text string) refusal {
	if c := classify(text); c != refusalOther || containsAny(normalText(text), reqTexts) {
		return c
	}
	return refusalNone
}

// negUnsupported says whether a NOTICE that follows a NEG-OPEN means that the
// relay does not speak NIP-77.
func negUnsupported(text string) bool { return containsAny(normalText(text), negTexts) }

// negTooBig says whether a NEG-ERR asks for a smaller time range.
func negTooBig(text string, most int64) bool {
	if classify(text).crowded() {
		return false
	}
	return most > 0 || containsAny(normalText(text), negBigTexts)
}

// negLost says whether a NEG-ERR means that the relay does not know the session (any more).
func negLost(text string) bool {
	t := normalText(text)
	return strings.HasPrefix(t, "closed") || strings.Contains(t, "subscription not found")
}

// sizeNamed returns what a text says is too much in a request.
func sizeNamed(text string) tooMany {
	t := normalText(text)
	for what, words := range bigTexts {
		if containsAny(t, words) {
			return tooMany(what)
		}
	}
	return notTooMany
}

func normalText(text string) string {
	return strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "error: ")
}

func containsAny(t string, words []string) bool {
	for _, w := range words {
		if strings.Contains(t, w) {
			return true
		}
	}
	return false
}
