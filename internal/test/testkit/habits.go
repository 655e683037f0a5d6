package testkit

import "github.com/graspd/graspd/internal/protocol/nostr"

// Habits are lasting traits of a relay, also of one that behaves well. With the zero value it answers everything, completely, newest first.
type Habits struct {
	PageCap int  // events per filter at most, whatever its limit
	Quarter bool // a filter that asks for more than PageCap gets a quarter of it
	Oldest  bool // oldest first, as some relays answer
	Moody   bool // now the newest, now the oldest, and in any order; but never a page out of the middle, which no client could use
	First   bool // what came first comes first, whatever its date
	Any     bool // a page has any of what matches
	Sifted  bool // a full page is filtered once more, and has up to five events less
	Inside  bool // since and until are exclusive
	Loose   bool // a tag filter also finds values under other tag names and, whatever the time, values that only begin like its own
	Honest  bool // the relay replaces and deletes as NIP-01 and NIP-09 say; else it keeps and offers everything

	Subs    Bound // REQs at once
	Filters Bound // filters in a REQ
	Values  Bound // values in a filter's list
	Zero    ZeroMode

	Neg        NegMode
	NegRecords int  // the relay refuses to reconcile more events
	NegNewest  int  // it reconciles only so many, the newest, without a word
	NegVaries  bool // each time it reconciles another number, from none to NegNewest
	Given      int  // it gives at most so many events to a filter with ids, without a word
	TooLarge   int  // so many of 100 events end the connection when they are to be sent
	Withheld   int  // so many of 100 events it shows in reconciliations and never delivers

	Auth  AuthMode
	Kinds KindsMode
	Odd   OddMode
}

// Bound is a limit that the relay enforces with words of its own.
type Bound struct {
	Most int // 0 is no limit
	How  Refusal
	Text string
}

func (b Bound) exceeded(n int) bool { return b.Most > 0 && n > b.Most }

// Refusal says how a relay refuses a REQ.
type Refusal int

// The ways to refuse.
const (
	ByClosed     Refusal = iota
	ByNotice             // NOTICE, without the subscription's id
	ByNoticeLate         // NOTICE after the stored events and EOSE, and then nothing live
	ByEOSE               // a NOTICE, then EOSE with nothing
)

// ZeroMode says how a relay treats a limit of 0.
type ZeroMode int

// The ways to treat a limit of 0.
const (
	ZeroFine    ZeroMode = iota
	ZeroMute             // no EOSE comes
	ZeroRefused          // CLOSED
)

// NegMode says how a fake relay treats NIP-77.
type NegMode int

// The ways to treat NEG-OPEN.
const (
	NegWorks NegMode = iota
	NegNotice
	NegClosed
	NegErr
	NegError // the misspelt label NEG-ERROR
	NegSilent
	NegDrop
	NegUnknown // a NOTICE to every NEG message, NEG-CLOSE too
	NegEndless // 25 s for each answer, and thousands of ids that it does not have
)

// Temper says how often, of 100 times, a relay does what a good one does not do.
type Temper struct {
	RefuseDial int // a connection is refused
	Busy       int // a connection is refused with HTTP 429
	Drop       int // the connection ends in the middle of an answer
	Break      int // CLOSED comes in the middle of an answer: slow down
	Silence    int // a request is not answered
	Closed     int // a request is refused by CLOSED, for one reason or another
	Notice     int // a NOTICE comes along with an answer
	LoseLive   int // an event is not shown live
	ForgetLive int // a live subscription is forgotten, without a word
	Double     int // an event, or an EOSE, comes twice
	Unknown    int // an EOSE or an event comes for a subscription that nobody opened
	LateEOSE   int // the EOSE comes after the CLOSE
	End        int // CLOSED without a reason follows the EOSE, where the client has not closed yet
	Forged     int // a copy with another content comes before the event
	Mismatch   int // an event comes that the filter does not match
	Junk       int // a frame that is no message
	Big        int // a frame of a megabyte
	NegLost    int // a reconciliation is lost
	Messages   int // not of 100: a connection ends after so many messages; 0 = it does not
}

// closedTexts has reasons that relays give. None of them is for good.
var closedTexts = []string{
	"rate-limited: slow down", "error: could not connect to the database", "ERROR: bad req: something", "", "blocked: not now",
	"rate-limited: there is a bug in the client, no one should be making so many requests",
}

var noticeTexts = []string{"welcome", "rate limited", "ERROR: too many concurrent REQs", "could not parse command", "have a nice day"}

// tooLarge reports whether an event ends the connection.
func (h Habits) tooLarge(id nostr.ID) bool { return int(id[30])%100 < h.TooLarge }

// withheld reports whether the relay shows an event but never delivers it.
func (h Habits) withheld(id nostr.ID) bool { return int(id[31])%100 < h.Withheld }
