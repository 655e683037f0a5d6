package plan

import "testing"

func TestClassify(t *testing.T) {
	tests := []struct {
		text   string
		closed refusal
		notice refusal
		neg    bool // a NOTICE after NEG-OPEN with it means that NIP-77 is not there
		big    bool // a NEG-ERR with it asks for a smaller range
	}{
		// strfry
		{"ERROR: bad req: arr too big", refusalTooBig, refusalTooBig, false, true},
		{"ERROR: bad req: too many tags in filter", refusalTooBig, refusalTooBig, false, true},
		{"ERROR: bad req: error parsing #a: filter item too large", refusalValue, refusalValue, false, false},
		{"ERROR: bad req: error parsing #a: total filter items too large", refusalTooBig, refusalTooBig, false, false},
		{"ERROR: bad req: unrecognised filter item: search", refusalOther, refusalOther, false, false},
		{"ERROR: bad req: filter validation failed: invalid number of filters: 11", refusalTooBig, refusalTooBig, true, false},
		{"ERROR: bad req: filter validation failed: too many kinds in filter: 9", refusalTooBig, refusalTooBig, false, true},
		{"ERROR: auth-required: requested filter requires authentication", refusalAuth, refusalAuth, false, false},
		{"ERROR: too many concurrent REQs", refusalTooMany, refusalTooMany, false, false},
		{"ERROR: too many concurrent NEG requests", refusalRate, refusalRate, false, false},
		{"ERROR: bad msg: negentropy disabled", refusalOther, refusalNone, true, false},
		{"ERROR: negentropy error: negentropy query missing elements", refusalOther, refusalNone, true, false},
		{"ERROR: bad msg: unparseable message", refusalOther, refusalNone, true, false},
		{"ERROR: bad msg: unknown cmd", refusalOther, refusalNone, true, false},
		{"blocked: too many query results", refusalOther, refusalNone, false, true},
		{"RESULTS_TOO_BIG", refusalOther, refusalNone, false, true},
		{"closed: unknown subscription handle", refusalOther, refusalNone, false, false},
		{"PROTOCOL-ERROR", refusalOther, refusalNone, false, false},
		// khatru, pyramid, haven, ngit-relay
		{"rate-limited: there is a bug in the client, no one should be making so many requests", refusalRate, refusalRate, false, false},
		{"blocked: too many things to filter for", refusalTooBig, refusalTooBig, false, true},
		{"blocked: can't handle empty filters", refusalOther, refusalNone, false, false},
		{"blocked: an author must be specified to get their kind:1 notes", refusalOther, refusalNone, false, false},
		{"auth-required: all requests must be authenticated", refusalAuth, refusalAuth, false, false},
		{"restricted: you must be whitelisted to query this relay", refusalRestricted, refusalRestricted, false, false},
		{"blocked: already 2000 subscriptions from this IP", refusalTooMany, refusalTooMany, false, false},
		{"blocked: there are subscriptions from this IP with a total filter cost of 7200", refusalFull, refusalFull, false, false},
		{"blocked: too many subscriptions: their filters fill the memory set aside for a connection, close one first", refusalFull, refusalFull, false, false},
		{"failed to parse envelope: unknown envelope label", refusalOther, refusalOther, true, false},
		{"invalid limit 0", refusalOther, refusalNone, true, false},
		{"too many ids", refusalTooBig, refusalTooBig, false, true},
		{"too many authors", refusalTooBig, refusalTooBig, false, true},
		{"too many kinds", refusalTooBig, refusalTooBig, false, true},
		{"too many tag values", refusalTooBig, refusalTooBig, false, true},
		// nostr-rs-relay
		{"Subscription error: Maximum concurrent subscription count reached", refusalTooMany, refusalTooMany, false, false},
		{"Subscription error: Subscription identifier max length exceeded", refusalOther, refusalOther, false, false},
		{"could not parse command", refusalOther, refusalOther, true, false},
		{"event exceeded max size", refusalTooBig, refusalTooBig, false, false},
		{"message too large (200000 > 131072)", refusalTooBig, refusalTooBig, false, false},
		// nostream
		{"Subscription rejected: Too many subscriptions: Number of subscriptions must be less than or equal to 10", refusalTooMany, refusalTooMany, false, false},
		{"Subscription rejected: Too many filters: Number of filters per susbscription must be less then or equal to 10", refusalTooBig, refusalTooBig, false, true},
		{"Subscription rejected: Limit too high: Filter limit must be less than or equal to 5000", refusalTooBig, refusalTooBig, false, false},
		{"Subscription rejected: Duplicate subscription l1: Ignoring", refusalOther, refusalOther, false, false},
		{"invalid: Invalid input", refusalTooBig, refusalTooBig, true, false},
		{"rate limited", refusalRate, refusalRate, false, false},
		// rust-nostr
		{"rate-limited: too many REQs", refusalTooMany, refusalTooMany, false, false},
		{"auth-required: you must auth", refusalAuth, refusalAuth, false, false},
		{"error: subscription not found", refusalOther, refusalNone, false, false},
		// mattn/nostr-relay
		{"unknown message type NEG-OPEN", refusalOther, refusalNone, true, false},
		{"REQ filters are not accepted", refusalTooBig, refusalTooBig, false, false},
		// others
		{"", refusalOther, refusalNone, false, false},
		{"  Error: Slow Down please ", refusalRate, refusalRate, false, false},
		{"you are being throttled", refusalRate, refusalRate, false, false},
		{"welcome", refusalOther, refusalNone, false, false},
	}
	for _, c := range tests {
		t.Run(c.text, func(t *testing.T) {
			if got := classify(c.text); got != c.closed {
				t.Errorf("CLOSED is %d, want %d", got, c.closed)
			}
			if got := classifyNotice(c.text); got != c.notice {
				t.Errorf("NOTICE is %d, want %d", got, c.notice)
			}
			if got := negUnsupported(c.text); got != c.neg {
				t.Errorf("NOTICE after NEG-OPEN: no NIP-77 is %v, want %v", got, c.neg)
			}
			if got := negTooBig(c.text, 0); got != c.big {
				t.Errorf("NEG-ERR too big is %v, want %v", got, c.big)
			}
		})
	}
}

func TestNegErrs(t *testing.T) {
	if !negTooBig("blocked: whatever", 1000) {
		t.Error("a maximum does not mean too big")
	}
	if negTooBig("rate-limited: slow down", 1000) || negTooBig("too many concurrent reqs", 0) {
		t.Error("a rate limit splits the range")
	}
	for text, lost := range map[string]bool{
		"CLOSED": true, "closed: timeout": true, "error: subscription not found": true, "blocked: no": false, "": false,
	} {
		if negLost(text) != lost {
			t.Errorf("%q: session lost is %v", text, !lost)
		}
	}
}
