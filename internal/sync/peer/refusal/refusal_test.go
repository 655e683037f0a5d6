package refusal

import "testing"

func TestClassify(t *testing.T) {
	tests := []struct {
		text   string
		closed Kind
		notice Kind
		neg    bool // a NOTICE after NEG-OPEN with it means that NIP-77 is not there
		big    bool // a NEG-ERR with it asks for a smaller range
	}{
		// strfry
		{"ERROR: bad req: arr too big", TooBig, TooBig, false, true},
		{"ERROR: bad req: too many tags in filter", TooBig, TooBig, false, true},
		{"ERROR: bad req: error parsing #a: filter item too large", Value, Value, false, false},
		{"ERROR: bad req: error parsing #a: total filter items too large", TooBig, TooBig, false, false},
		{"ERROR: bad req: unrecognised filter item: search", Other, Other, false, false},
		{"ERROR: bad req: filter validation failed: invalid number of filters: 11", TooBig, TooBig, true, false},
		{"ERROR: bad req: filter validation failed: too many kinds in filter: 9", TooBig, TooBig, false, true},
		{"ERROR: auth-required: requested filter requires authentication", Auth, Auth, false, false},
		{"ERROR: too many concurrent REQs", TooMany, TooMany, false, false},
		{"ERROR: too many concurrent NEG requests", Rate, Rate, false, false},
		{"ERROR: bad msg: negentropy disabled", Other, None, true, false},
		{"ERROR: negentropy error: negentropy query missing elements", Other, None, true, false},
		{"ERROR: bad msg: unparseable message", Other, None, true, false},
		{"ERROR: bad msg: unknown cmd", Other, None, true, false},
		{"blocked: too many query results", Other, None, false, true},
		{"RESULTS_TOO_BIG", Other, None, false, true},
		{"closed: unknown subscription handle", Other, None, false, false},
		{"PROTOCOL-ERROR", Other, None, false, false},
		// khatru, pyramid, haven, ngit-relay
		{"rate-limited: there is a bug in the client, no one should be making so many requests", Rate, Rate, false, false},
		{"blocked: too many things to filter for", TooBig, TooBig, false, true},
		{"blocked: can't handle empty filters", Other, None, false, false},
		{"blocked: an author must be specified to get their kind:1 notes", Other, None, false, false},
		{"auth-required: all requests must be authenticated", Auth, Auth, false, false},
		{"restricted: you must be whitelisted to query this relay", Restricted, Restricted, false, false},
		{"blocked: already 2000 subscriptions from this IP", TooMany, TooMany, false, false},
		{"blocked: there are subscriptions from this IP with a total filter cost of 7200", Full, Full, false, false},
		{"blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first", Full, Full, false, false},
		{"failed to parse envelope: unknown envelope label", Other, Other, true, false},
		{"invalid limit 0", Other, None, true, false},
		{"too many ids", TooBig, TooBig, false, true},
		{"too many authors", TooBig, TooBig, false, true},
		{"too many kinds", TooBig, TooBig, false, true},
		{"too many tag values", TooBig, TooBig, false, true},
		// nostr-rs-relay
		{"Subscription error: Maximum concurrent subscription count reached", TooMany, TooMany, false, false},
		{"Subscription error: Subscription identifier max length exceeded", Other, Other, false, false},
		{"could not parse command", Other, Other, true, false},
		{"event exceeded max size", TooBig, TooBig, false, false},
		{"message too large (200000 > 131072)", TooBig, TooBig, false, false},
		// nostream
		{"Subscription rejected: Too many subscriptions: Number of subscriptions must be less than or equal to 10", TooMany, TooMany, false, false},
		{"Subscription rejected: Too many filters: Number of filters per susbscription must be less then or equal to 10", TooBig, TooBig, false, true},
		{"Subscription rejected: Limit too high: Filter limit must be less than or equal to 5000", TooBig, TooBig, false, false},
		{"Subscription rejected: Duplicate subscription l1: Ignoring", Other, Other, false, false},
		{"invalid: Invalid input", TooBig, TooBig, true, false},
		{"rate limited", Rate, Rate, false, false},
		// rust-nostr
		{"rate-limited: too many REQs", TooMany, TooMany, false, false},
		{"auth-required: you must auth", Auth, Auth, false, false},
		{"error: subscription not found", Other, None, false, false},
		// mattn/nostr-relay
		{"unknown message type NEG-OPEN", Other, None, true, false},
		{"REQ filters are not accepted", TooBig, TooBig, false, false},
		// others
		{"", Other, None, false, false},
		{"  Error: Slow Down please ", Rate, Rate, false, false},
		{"you are being throttled", Rate, Rate, false, false},
		{"welcome", Other, None, false, false},
	}
	for _, c := range tests {
		t.Run(c.text, func(t *testing.T) {
			if got := Of(c.text); got != c.closed {
				t.Errorf("CLOSED is %d, want %d", got, c.closed)
			}
			if got := OfNotice(c.text); got != c.notice {
				t.Errorf("NOTICE is %d, want %d", got, c.notice)
			}
			if got := NegUnsupported(c.text); got != c.neg {
				t.Errorf("NOTICE after NEG-OPEN: no NIP-77 is %v, want %v", got, c.neg)
			}
			if got := NegTooBig(c.text, 0); got != c.big {
				t.Errorf("NEG-ERR too big is %v, want %v", got, c.big)
			}
		})
	}
}

func TestNegErrs(t *testing.T) {
	if !NegTooBig("blocked: whatever", 1000) {
		t.Error("a maximum does not mean too big")
	}
	if NegTooBig("rate-limited: slow down", 1000) || NegTooBig("too many concurrent reqs", 0) {
		t.Error("a rate limit splits the range")
	}
	for text, lost := range map[string]bool{
		"CLOSED": true, "closed: timeout": true, "error: subscription not found": true, "blocked: no": false, "": false,
	} {
		if NegLost(text) != lost {
			t.Errorf("%q: session lost is %v", text, !lost)
		}
	}
}
